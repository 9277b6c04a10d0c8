//! A Redis of one's own: its life, and each way in which a test disturbs it.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use servers::{Error, Redis, RedisBinary, needed};

#[test]
fn every_binary_is_the_version_that_it_is_called() {
    let called = [(RedisBinary::Redis8_2, "redis_version:8.2."), (RedisBinary::Valkey9_1, "valkey_version:9.1.")];
    for (binary, version) in called {
        let Some(redis) = needed(Redis::start(binary)) else {
            continue;
        };
        let info = redis.cli(&["INFO", "server"]).unwrap().to_string();
        assert!(info.contains(version), "no {version} in {info}");
    }
}

#[test]
fn each_server_is_another_and_holds_nothing() {
    let Some(one) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    let Some(two) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    assert_ne!(one.port(), two.port());

    one.cli(&["SET", "key", "value"]).unwrap();
    assert_eq!(one.cli(&["GET", "key"]).unwrap().text(), Some("value"));
    assert_eq!(two.cli(&["GET", "key"]).unwrap().text(), None);
}

#[test]
fn a_refusal_is_an_error_with_the_servers_words() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    let refused = redis.cli(&["INCR"]).unwrap_err();
    assert!(matches!(&refused, Error::Refused(words) if words.contains("wrong number of arguments")));
}

#[test]
fn answers_of_every_kind_are_read() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    redis.cli(&["RPUSH", "list", "a", "", "three\r\nlines\r\n"]).unwrap();
    let list = redis.cli(&["LRANGE", "list", "0", "-1"]).unwrap();
    let texts: Vec<_> = list.list().iter().map(|reply| reply.text().unwrap()).collect();
    assert_eq!(texts, ["a", "", "three\r\nlines\r\n"]);
    assert_eq!(redis.cli(&["LLEN", "list"]).unwrap().integer(), Some(3));
    assert_eq!(redis.cli(&["GET", "nothing"]).unwrap().to_string(), "(nil)");
}

#[test]
fn a_password_is_asked_for_and_stands_in_the_url() {
    let builder = Redis::builder(RedisBinary::System).password("p@ss/word");
    let Some(redis) = needed(builder.start()) else {
        return;
    };
    assert!(redis.url().starts_with("redis://:p%40ss%2Fword@127.0.0.1:"), "{}", redis.url());
    assert_eq!(redis.cli(&["PING"]).unwrap().text(), Some("PONG"));
    let wrong = redis.cli(&["AUTH", "wrong"]).unwrap_err();
    assert!(wrong.to_string().contains("WRONGPASS"), "{wrong}");
}

#[test]
fn arguments_reach_the_server() {
    let builder = Redis::builder(RedisBinary::System).arg("--maxmemory").arg("12mb");
    let Some(redis) = needed(builder.start()) else {
        return;
    };
    let answer = redis.cli(&["CONFIG", "GET", "maxmemory"]).unwrap();
    assert_eq!(answer.list()[1].integer(), Some(12 * 1024 * 1024));
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let builder = Redis::builder(RedisBinary::System).arg("--no-such-option").arg("1");
    let error = match builder.start() {
        Err(error) if error.is_missing() => {
            needed::<()>(Err(error));
            return;
        }
        other => other.unwrap_err(),
    };
    assert!(matches!(&error, Error::NotReady { log, .. } if log.contains("no-such-option")), "{error}");
}

#[test]
fn a_port_that_is_asked_for_and_taken_is_an_error() {
    let Some(first) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    let second = Redis::builder(RedisBinary::System).port(first.port()).start();
    assert!(matches!(second, Err(Error::NotReady { .. })));
}

#[test]
fn a_stopped_server_answers_when_it_goes_on() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    redis.stop().unwrap();
    redis.stop().unwrap();
    assert!(state_of(redis.pid().unwrap()).is_none_or(|state| state == 'T'));

    std::thread::scope(|scope| {
        let asked = Instant::now();
        let answer = scope.spawn(|| redis.cli(&["PING"]));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!answer.is_finished());
        redis.cont().unwrap();
        assert_eq!(answer.join().unwrap().unwrap().text(), Some("PONG"));
        assert!(asked.elapsed() >= Duration::from_millis(200));
    });
}

#[test]
fn a_killed_server_refuses_and_comes_back_empty() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    redis.cli(&["SET", "key", "value"]).unwrap();
    let pid = redis.pid().unwrap();

    redis.kill().unwrap();
    assert!(!exists(pid));
    assert!(matches!(redis.cli(&["PING"]), Err(Error::Io { .. })));
    assert!(matches!(redis.kill(), Err(Error::NotRunning)));
    assert!(matches!(redis.stop(), Err(Error::NotRunning)));

    redis.restart().unwrap();
    assert_eq!(redis.cli(&["GET", "key"]).unwrap().text(), None);
}

#[test]
fn a_persistent_server_comes_back_with_its_data_until_it_is_emptied() {
    let builder = Redis::builder(RedisBinary::System).persistent();
    let Some(redis) = needed(builder.start()) else {
        return;
    };
    redis.cli(&["SET", "key", "value"]).unwrap();

    redis.restart().unwrap();
    // It answers while it still reads its file.
    let deadline = Instant::now() + Duration::from_secs(10);
    let reply = loop {
        match redis.cli(&["GET", "key"]) {
            Err(Error::Refused(why)) if why.starts_with("LOADING") && Instant::now() < deadline => {}
            reply => break reply.unwrap(),
        }
    };
    assert_eq!(reply.text(), Some("value"));

    redis.restart_empty().unwrap();
    assert_eq!(redis.cli(&["GET", "key"]).unwrap().text(), None);
}

#[test]
fn a_stopped_server_can_be_killed_and_dropped() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    let (pid, folder) = (redis.pid().unwrap(), redis.folder().to_path_buf());
    redis.stop().unwrap();
    drop(redis);
    assert!(!exists(pid));
    assert!(!folder.exists());
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let started = std::thread::spawn(|| Redis::start(RedisBinary::System)).join().unwrap();
    let Some(redis) = needed(started) else { return };
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(redis.cli(&["PING"]).unwrap().text(), Some("PONG"));
}

#[test]
fn a_server_can_be_pinned_to_a_core() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else {
        return;
    };
    let core = first_allowed_core();
    match redis.pin_to(core) {
        Ok(()) => {
            let status = std::fs::read_to_string(format!("/proc/{}/status", redis.pid().unwrap()));
            assert!(status.unwrap().contains(&format!("Cpus_allowed_list:\t{core}\n")));
        }
        Err(error) => assert!(error.is_missing(), "{error}"),
    }
}

#[test]
fn many_servers_start_at_once() {
    let ports: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| Redis::start(RedisBinary::System))).collect();
        starts.into_iter().filter_map(|start| needed(start.join().unwrap())).collect()
    });
    for redis in ports {
        TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
    }
}

/// A container may have been given some cores only.
fn first_allowed_core() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.unwrap_or("0").trim().split([',', '-']).next();
    first.and_then(|core| core.parse().ok()).unwrap_or(0)
}

fn exists(pid: u32) -> bool {
    rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid.cast_signed()).unwrap()).is_ok()
}

/// The state letter of a process, on Linux.
fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}
