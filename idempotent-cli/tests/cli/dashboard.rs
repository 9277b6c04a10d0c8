//! The page that the program serves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::support::{Place, command, idempotent, on_every_store};

/// The program, serving.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut command = command(["dashboard", "--listen", "127.0.0.1:0"].iter().chain(options));
        command.env("IDEMPOTENT_URL", &place.url).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("it was asked for"));
        out.read_line(&mut line).expect("it says where it listens");
        let address = line.trim().trim_start_matches("listening on http://").trim_end_matches('/').to_owned();
        Self { child, address }
    }

    /// The whole answer to a request.
    fn get(&self, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn the_page_shows_what_is_in_the_store(place: &Place) {
    place.fill();
    let serving = Serving::start(place, &[]);
    let now = serving.get("/", &serving.address);
    assert!(now.starts_with("HTTP/1.1 200") && now.contains("order:consume:stuck"), "{}: {now}", place.name);
    assert!(now.contains("order:consume:live") && !now.contains("order:consume:done"), "{}: {now}", place.name);
    let record = serving.get("/record?key=order:init:7%5Binit_token%5D", &serving.address);
    assert!(record.contains("hidden") && !record.contains("receipt"), "{}: {record}", place.name);
    let counts = serving.get("/counts?prefix=order", &serving.address);
    assert!(counts.contains("order:consume") && !counts.contains("orders:consume"), "{}: {counts}", place.name);
    // Read-only, and for this machine alone.
    let decide = serving.get("/decide?what=release&key=order:consume:stuck", &serving.address);
    assert!(decide.starts_with("HTTP/1.1 404"), "{decide}");
    assert!(serving.get("/", "evil.example:80").starts_with("HTTP/1.1 403"));
    drop(serving);

    let serving = Serving::start(place, &["--write", "--show-results"]);
    let decide = serving.get("/decide?what=release&key=order:consume:stuck", "localhost");
    assert!(decide.starts_with("HTTP/1.1 200") && decide.contains("form_token"), "{decide}");
    let record = serving.get("/record?key=order:consume:done", "localhost");
    assert!(record.contains("receipt"), "{record}");
}

on_every_store!(the_page_shows_what_is_in_the_store);

#[test]
fn a_port_that_is_taken_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = idempotent(["dashboard", "--url", "memory:", "--listen", &address]);
    assert!(refused.code != 0 && refused.err.contains("in use"), "{refused:?}");
}
