//! A browser goes with its driver.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use servers::{Browser, needed};

const PATIENCE: Duration = Duration::from_secs(30);

/// Opens a session, which nobody closes.
fn open(browser: &Browser) {
    let body = format!(r#"{{"capabilities":{{"alwaysMatch":{}}}}}"#, browser.capabilities());
    let address = browser.url().strip_prefix("http://").expect("plain HTTP").to_owned();
    let mut connection = TcpStream::connect(&address).expect("a driver that listens");
    connection.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let head = format!("POST /session HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n", body.len());
    connection.write_all(format!("{head}{body}").as_bytes()).expect("the request is sent");
    let mut answer = Vec::new();
    let mut some = [0; 4096];
    while !String::from_utf8_lossy(&answer).contains("\"sessionId\"") {
        let read = connection.read(&mut some).expect("an answer");
        assert_ne!(read, 0, "no session: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&some[..read]);
    }
}

/// The processes whose command line has this in it.
fn with(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(text)).collect()
}

#[test]
fn a_browser_whose_session_is_open_ends_with_its_driver() {
    let Some(browser) = needed(Browser::start()) else { return };
    open(&browser);
    let asked = browser.capabilities();
    let (_, profile) = asked.split_once("--user-data-dir=").expect("a profile of its own");
    let profile = profile.split('"').next().expect("its folder").to_owned();
    assert!(!with(&profile).is_empty(), "the browser runs");

    drop(browser);
    let deadline = Instant::now() + PATIENCE;
    while !with(&profile).is_empty() {
        assert!(Instant::now() < deadline, "still there: {:?}", with(&profile));
        thread::sleep(Duration::from_millis(10));
    }
}
