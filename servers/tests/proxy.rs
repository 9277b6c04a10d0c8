//! Each fault of the proxy, in front of a real server.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use servers::{Fault, Proxy, Redis, RedisBinary, needed};

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn without_a_fault_everything_passes() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    assert_eq!(proxy.url(&redis.url()), format!("redis://127.0.0.1:{}/", proxy.port()));

    let mut client = connect(&proxy).unwrap();
    assert_eq!(ask(&mut client, "SET key value").unwrap(), "+OK\r\n");
    assert_eq!(ask(&mut client, "GET key").unwrap(), "$5\r\nvalue\r\n");
    assert_eq!(proxy.connections(), 1);
}

#[test]
fn a_large_value_passes_whole() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let value = "x".repeat(3_000_000);
    redis.cli(&["SET", "key", &value]).unwrap();
    let mut client = connect(&proxy).unwrap();
    client.write_all(b"GET key\r\nQUIT\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, format!("$3000000\r\n{value}\r\n+OK\r\n"));
}

#[test]
fn a_delayed_request_takes_effect_later() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let mut client = connect(&proxy).unwrap();
    proxy.set(Fault::DelayRequests(SHORT)).unwrap();
    let sent = Instant::now();
    client.write_all(b"SET key value\r\n").unwrap();
    assert_eq!(redis.cli(&["GET", "key"]).unwrap().text(), None);
    assert_eq!(answer(&mut client).unwrap(), "+OK\r\n");
    assert!(sent.elapsed() >= SHORT);
}

#[test]
fn a_delayed_answer_comes_after_the_effect() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let mut client = connect(&proxy).unwrap();
    proxy.set(Fault::DelayAnswers(Duration::from_secs(1))).unwrap();
    let sent = Instant::now();
    client.write_all(b"SET key value\r\n").unwrap();
    wait_until(|| redis.cli(&["GET", "key"]).unwrap().text() == Some("value"));
    assert!(sent.elapsed() < Duration::from_secs(1));
    assert_eq!(answer(&mut client).unwrap(), "+OK\r\n");
    assert!(sent.elapsed() >= Duration::from_secs(1));
}

#[test]
fn what_is_held_arrives_when_the_network_is_back() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let mut old = connect(&proxy).unwrap();
    proxy.set(Fault::Hold).unwrap();
    let mut new = connect(&proxy).unwrap();
    for client in [&mut old, &mut new] {
        client.write_all(b"INCR key\r\n").unwrap();
        assert!(is_silent(client));
    }
    assert_eq!(redis.cli(&["GET", "key"]).unwrap().text(), None);

    proxy.set(Fault::None).unwrap();
    let answers = [answer(&mut old).unwrap(), answer(&mut new).unwrap()];
    assert!(answers.contains(&":1\r\n".to_owned()) && answers.contains(&":2\r\n".to_owned()));
}

#[test]
fn what_is_dropped_is_lost_and_the_connection_with_it() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let mut client = connect(&proxy).unwrap();
    let mut idle = connect(&proxy).unwrap();
    assert_eq!(ask(&mut idle, "PING").unwrap(), "+PONG\r\n");

    proxy.set(Fault::Drop).unwrap();
    client.write_all(b"SET key value\r\n").unwrap();
    assert!(is_silent(&mut client));

    proxy.set(Fault::None).unwrap();
    assert!(is_closed(&mut client));
    assert_eq!(redis.cli(&["GET", "key"]).unwrap().text(), None);
    assert_eq!(ask(&mut idle, "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn a_lost_answer_leaves_its_effect() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    proxy.lose_answers(2);
    for run in 1..=2 {
        let mut client = connect(&proxy).unwrap();
        client.write_all(b"INCR key\r\n").unwrap();
        assert!(is_closed(&mut client));
        assert_eq!(redis.cli(&["GET", "key"]).unwrap().integer(), Some(run));
        assert_eq!(proxy.answers_lost(), usize::try_from(run).unwrap());
    }
    let mut client = connect(&proxy).unwrap();
    assert_eq!(ask(&mut client, "INCR key").unwrap(), ":3\r\n");
}

#[test]
fn only_the_answers_that_are_meant_are_lost() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    proxy.lose_answers_to(1, "SET order");
    let mut client = connect(&proxy).unwrap();
    assert_eq!(ask(&mut client, "SET other 1").unwrap(), "+OK\r\n");
    client.write_all(b"SET order 1\r\n").unwrap();
    assert!(is_closed(&mut client));
    assert_eq!(redis.cli(&["GET", "order"]).unwrap().integer(), Some(1));
}

#[test]
fn a_cut_closes_every_connection_and_new_ones_pass() {
    let Some((_redis, proxy)) = start() else {
        return;
    };
    let mut clients = [connect(&proxy).unwrap(), connect(&proxy).unwrap()];
    for client in &mut clients {
        ask(client, "PING").unwrap();
    }
    assert_eq!(proxy.cut(), 2);
    assert_eq!(proxy.connections(), 0);
    assert!(clients.iter_mut().all(is_closed));
    assert_eq!(ask(&mut connect(&proxy).unwrap(), "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn refused_clients_are_refused_until_they_are_not() {
    let Some((_redis, proxy)) = start() else {
        return;
    };
    let mut before = connect(&proxy).unwrap();
    ask(&mut before, "PING").unwrap();
    for _ in 0..3 {
        proxy.set(Fault::Refuse).unwrap();
        proxy.set(Fault::Refuse).unwrap();
        let refused = connect(&proxy).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(ask(&mut before, "PING").unwrap(), "+PONG\r\n");

        proxy.set(Fault::None).unwrap();
        assert_eq!(ask(&mut connect(&proxy).unwrap(), "PING").unwrap(), "+PONG\r\n");
    }
}

#[test]
fn a_server_that_is_killed_closes_the_clients() {
    let Some((redis, proxy)) = start() else {
        return;
    };
    let mut client = connect(&proxy).unwrap();
    ask(&mut client, "PING").unwrap();
    redis.kill().unwrap();
    assert!(is_closed(&mut client));
    assert!(is_closed(&mut connect(&proxy).unwrap()));

    redis.restart().unwrap();
    assert_eq!(ask(&mut connect(&proxy).unwrap(), "PING").unwrap(), "+PONG\r\n");
}

#[test]
fn a_proxy_that_is_dropped_leaves_nothing() {
    for fault in [Fault::None, Fault::Hold, Fault::Drop, Fault::Refuse] {
        let Some((_redis, proxy)) = start() else {
            return;
        };
        let port = proxy.port();
        let mut client = connect(&proxy).unwrap();
        ask(&mut client, "PING").unwrap();
        proxy.set(fault).unwrap();
        drop(proxy);
        assert!(is_closed(&mut client), "{fault:?}");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{fault:?}");
    }
}

fn start() -> Option<(Redis, Proxy)> {
    let redis = needed(Redis::start(RedisBinary::System))?;
    let proxy = Proxy::start(redis.port()).unwrap();
    Some((redis, proxy))
}

fn connect(proxy: &Proxy) -> io::Result<TcpStream> {
    let client = TcpStream::connect(("127.0.0.1", proxy.port()))?;
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(client)
}

/// Sends a command as a person types it.
fn ask(client: &mut TcpStream, command: &str) -> io::Result<String> {
    client.write_all(format!("{command}\r\n").as_bytes())?;
    answer(client)
}

fn answer(client: &mut TcpStream) -> io::Result<String> {
    let mut buffer = [0; 1024];
    let length = client.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Whether nothing arrives for a while.
fn is_silent(client: &mut TcpStream) -> bool {
    let patience = client.read_timeout().unwrap();
    client.set_read_timeout(Some(SHORT)).unwrap();
    let silent = client
        .peek(&mut [0])
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    client.set_read_timeout(patience).unwrap();
    silent
}

/// Whether the connection is closed, without another byte.
fn is_closed(client: &mut TcpStream) -> bool {
    match client.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "not within ten seconds");
        thread::sleep(Duration::from_millis(5));
    }
}
