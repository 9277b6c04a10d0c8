//! A PostgreSQL of one's own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use servers::{Error, Postgres, needed};

#[test]
fn a_server_starts_answers_is_killed_comes_back_and_leaves_nothing() {
    let Some(postgres) = needed(Postgres::builder().set("log_statement=all").start()) else { return };
    assert_eq!(postgres.url(), format!("postgres://postgres@127.0.0.1:{}/postgres", postgres.port()));
    assert!(greets(&postgres));

    postgres.kill().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", postgres.port())).is_err());
    assert!(matches!(postgres.kill(), Err(Error::NotRunning)));

    postgres.restart().unwrap();
    assert!(greets(&postgres));
    // Running, too.
    postgres.restart().unwrap();
    assert!(greets(&postgres));

    let folder = postgres.folder().to_path_buf();
    drop(postgres);
    assert!(!folder.exists());
}

/// Whether the server answers the question for TLS, with no.
fn greets(postgres: &Postgres) -> bool {
    let mut client = TcpStream::connect(("127.0.0.1", postgres.port())).unwrap();
    client.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).is_ok() && answer == *b"N"
}
