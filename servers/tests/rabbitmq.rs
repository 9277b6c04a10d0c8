//! A RabbitMQ of one's own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use servers::{Error, RabbitMq, needed};

#[test]
fn a_broker_starts_answers_is_killed_comes_back_and_leaves_nothing() {
    let Some(rabbit) = needed(RabbitMq::start()) else {
        return;
    };
    assert_eq!(rabbit.url(), format!("amqp://guest:guest@127.0.0.1:{}/%2f", rabbit.port()));
    assert!(greets(&rabbit));

    rabbit.stop().unwrap();
    assert!(!greets(&rabbit));
    rabbit.cont().unwrap();
    assert!(greets(&rabbit));

    rabbit.kill().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", rabbit.port())).is_err());
    assert!(matches!(rabbit.kill(), Err(Error::NotRunning)));

    rabbit.restart().unwrap();
    assert!(greets(&rabbit));

    let folder = rabbit.folder().to_path_buf();
    let broker_and_epmd = 2;
    assert!(cfg!(not(target_os = "linux")) || processes_in(&folder) >= broker_and_epmd);
    drop(rabbit);
    assert_eq!(processes_in(&folder), 0);
    assert!(!folder.exists());
}

/// Whether the broker answers the greeting of AMQP.
fn greets(rabbit: &RabbitMq) -> bool {
    let mut client = TcpStream::connect(("127.0.0.1", rabbit.port())).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    client.write_all(b"AMQP\x00\x00\x09\x01").unwrap();
    client.read_exact(&mut [0; 8]).is_ok()
}

/// How many processes run in a folder, or did before it was removed; on Linux.
fn processes_in(folder: &Path) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    processes
        .filter_map(|process| fs::read_link(process.ok()?.path().join("cwd")).ok())
        .filter(|cwd| cwd.to_string_lossy().starts_with(&*folder.to_string_lossy()))
        .count()
}
