//! What happens on the wire: clients that go away, stall, or send too much; pipelining, HTTP/2, curl.
//!
//! After each: one execution a key, never a wrong body, and no claim that is left anywhere in the store.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use futures_util::future::join_all;
use idempotent_runtime::admin::{Query, Standing};
use idempotent_runtime::http::IdempotencyLayer;
use idempotent_runtime::testing::Gate;
use idempotent_runtime::{Idempotency, OnBusy};
use servers::Program;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::support::{Answer, Ends, Runs, record, scoped, seen, serve, watched};

/// A machine that is busy takes long for everything.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server whose handler takes the whole body, waits at a gate, and answers with the body and its run.
struct Bed {
    idempotency: Idempotency,
    layer: IdempotencyLayer,
    address: SocketAddr,
    runs: Runs,
    gate: Gate,
    ends: watch::Receiver<Ends>,
}

/// How a client goes away.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    /// It says that it sends no more, and reads on.
    HalfCloses,
    Closes,
    /// The connection is reset, as where the client's process was killed.
    Resets,
}

impl Leaves {
    async fn from(self, mut stream: TcpStream) -> Option<TcpStream> {
        match self {
            Self::HalfCloses => {
                stream.shutdown().await.unwrap();
                return Some(stream);
            }
            Self::Closes => {}
            Self::Resets => stream.set_zero_linger().unwrap(),
        }
        None
    }
}

impl Bed {
    async fn start() -> Self {
        let (idempotency, runs, gate) = (Idempotency::memory(), Runs::default(), Gate::new("paying"));
        let layer = scoped(&idempotency).on_busy(OnBusy::Wait(PATIENCE)).build().unwrap();
        let (count, at) = (runs.clone(), gate.clone());
        let pay = move |body: String| async move {
            let run = count.run();
            at.pass().await;
            format!("{run}:{body}")
        };
        let (router, ends) = watched(Router::new().route("/payments", post(pay)).layer(layer.clone()));
        Self { idempotency, layer, address: serve(router).await, runs, gate, ends }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    /// Nothing is open any more: all records of the store are completed, those of these keys and no others, and so many
    /// runs have made them.
    async fn is_settled(&self, keys: &[&str], runs: u32) {
        self.idempotency.shutdown(PATIENCE).await.expect("no claim is left");
        let page = self.idempotency.list(&Query::new()).await.expect("the store can be asked");
        assert!(page.records.iter().all(|record| record.standing() == Standing::Completed), "{page:?}");
        for key in keys {
            assert!(record(&self.idempotency, &self.layer, key).await.is_some(), "{key}");
        }
        assert_eq!((page.records.len(), self.runs.count()), (keys.len(), runs), "{page:?}");
    }

    /// A whole request on a connection of its own gets this body.
    async fn answers(&self, key: &str, body: &str, expected: &str, replayed: bool) {
        let mut stream = self.connect().await;
        stream.write_all(&request(key, body)).await.unwrap();
        let answer = Read::new(stream).answer().await;
        assert_eq!((answer.status, &*answer.body, answer.is_replay()), (200, expected, replayed));
    }
}

fn head(key: &str, length: &str) -> Vec<u8> {
    format!(
        "POST /payments HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ada\r\nContent-Type: text/plain\r\n\
         Idempotency-Key: \"{key}\"\r\n{length}\r\n\r\n"
    )
    .into_bytes()
}

fn request(key: &str, body: &str) -> Vec<u8> {
    [&*head(key, &format!("Content-Length: {}", body.len())), body.as_bytes()].concat()
}

/// A connection, with what was read of it already.
struct Read {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Read {
    fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// The next response.
    async fn answer(&mut self) -> Answer {
        let head = loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let rest = self.buffer.split_off(end + 4);
                break String::from_utf8(std::mem::replace(&mut self.buffer, rest)).expect("a head is text");
            }
            self.more().await;
        };
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let mut headers = axum::http::HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
            headers.append(name, value.parse().expect("a value"));
        }
        let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
        while self.buffer.len() < length {
            self.more().await;
        }
        let rest = self.buffer.split_off(length);
        Answer::new(status, headers, std::mem::replace(&mut self.buffer, rest).into())
    }

    async fn more(&mut self) {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.buffer)).await.expect("in time").expect("a read");
        assert_ne!(read, 0, "the connection ended early: {}", self.buffer.escape_ascii());
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_its_body_is_whole_has_claimed_nothing() {
    for leaves in [Leaves::HalfCloses, Leaves::Closes, Leaves::Resets] {
        for part in ["", "half"] {
            let bed = Bed::start().await;
            bed.gate.open();
            let mut stream = bed.connect().await;
            stream.write_all(&[&*head("k", "Content-Length: 8"), part.as_bytes()].concat()).await.unwrap();
            if let Some(mut stream) = leaves.from(stream).await {
                // The server ends the connection once it has seen that nothing more will come.
                let mut rest = Vec::new();
                timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("in time").unwrap();
                assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", rest.escape_ascii());
            }
            seen(&bed.ends, |ends| ends.ended == 1).await;
            bed.is_settled(&[], 0).await;
            bed.answers("k", "12345678", "1:12345678", false).await;
            bed.is_settled(&["k"], 1).await;
        }
    }
}

// On a socket alone: no client sends such a body by itself.
#[tokio::test]
async fn point_20_a_body_that_does_not_arrive_whole_is_a_problem_too() {
    let bed = Bed::start().await;
    bed.gate.open();
    let mut stream = bed.connect().await;
    stream.write_all(&[&*head("hidden", "Transfer-Encoding: chunked"), b"no size\r\n"].concat()).await.unwrap();
    let answer = Read::new(stream).answer().await;
    assert_eq!((answer.status, &*answer.problem()), (400, "body-unreadable"));
    assert!(!format!("{answer:?}").contains("hidden"), "{answer:?}");
    bed.is_settled(&[], 0).await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_finds_it_later() {
    for leaves in [Leaves::Closes, Leaves::Resets] {
        let bed = Bed::start().await;
        let mut stream = bed.connect().await;
        stream.write_all(&request("k", "pay")).await.unwrap();
        bed.gate.reached().await;
        leaves.from(stream).await;
        // The server has seen it before the handler may go on.
        seen(&bed.ends, |ends| ends.dropped == 1).await;
        bed.gate.open();
        bed.is_settled(&["k"], 1).await;
        bed.answers("k", "pay", "1:pay", true).await;
        bed.is_settled(&["k"], 1).await;
    }
}

#[tokio::test]
async fn a_slow_body_holds_no_claim() {
    let bed = Bed::start().await;
    bed.gate.open();
    let mut slow = bed.connect().await;
    slow.write_all(&head("k", "Content-Length: 3")).await.unwrap();
    slow.write_all(b"p").await.unwrap();
    // A quick one with the same key overtakes it.
    bed.answers("k", "pay", "1:pay", false).await;
    slow.write_all(b"a").await.unwrap();
    slow.write_all(b"y").await.unwrap();
    let answer = Read::new(slow).answer().await;
    assert_eq!((&*answer.body, answer.is_replay()), ("1:pay", true));
    bed.is_settled(&["k"], 1).await;
}

#[tokio::test]
async fn a_body_of_10_mb_is_refused_before_it_is_sent_and_while_it_is() {
    const SIZE: usize = 10 * 1024 * 1024;
    let bed = Bed::start().await;
    bed.gate.open();
    // Announced: refused at once, without a byte of it.
    let mut stream = bed.connect().await;
    stream.write_all(&head("k", &format!("Content-Length: {SIZE}"))).await.unwrap();
    let answer = Read::new(stream).answer().await;
    assert_eq!((answer.status, &*answer.problem()), (413, "body-too-large"));

    // In chunks: refused once it is over the limit. The server may close before all is sent.
    let stream = bed.connect().await;
    let (read, mut write) = stream.into_split();
    let sending = tokio::spawn(async move {
        write.write_all(&head("k", "Transfer-Encoding: chunked")).await?;
        let chunk = [&b"10000\r\n"[..], &vec![b'x'; 0x10000], b"\r\n"].concat();
        for _ in 0..SIZE / 0x10000 {
            write.write_all(&chunk).await?;
        }
        write.write_all(b"0\r\n\r\n").await.map(|()| write)
    });
    let mut read = read;
    let mut start = [0; 12];
    timeout(PATIENCE, read.read_exact(&mut start)).await.expect("in time").expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 413");
    drop(read);
    drop(sending);
    bed.is_settled(&[], 0).await;
    bed.answers("k", "pay", "1:pay", false).await;
    bed.is_settled(&["k"], 1).await;
}

#[tokio::test]
async fn pipelined_duplicates_on_one_connection_run_once() {
    let bed = Bed::start().await;
    bed.gate.open();
    let mut stream = bed.connect().await;
    let all =
        [request("k", "pay"), request("k", "pay"), request("l", "pay"), request("k", "other"), request("k", "pay")];
    stream.write_all(&all.concat()).await.unwrap();
    let mut read = Read::new(stream);
    for (status, body, replayed) in
        [(200, "1:pay", false), (200, "1:pay", true), (200, "2:pay", false), (422, "", false), (200, "1:pay", true)]
    {
        let answer = read.answer().await;
        assert_eq!((answer.status, answer.is_replay()), (status, replayed));
        assert!(body.is_empty() || answer.body == body, "{answer:?}");
    }
    bed.is_settled(&["k", "l"], 2).await;
}

#[tokio::test]
async fn what_is_no_key_is_refused_on_the_wire_too() {
    let bed = Bed::start().await;
    bed.gate.open();
    let mut read = Read::new(bed.connect().await);
    for fields in [
        &b"Idempotency-Key: \"\xc3\xa9\""[..],
        b"Idempotency-Key: \"a\", \"b\"",
        b"Idempotency-Key: \"a\"\r\nIDEMPOTENCY-KEY: \"a\"",
        b"Idempotency-Key:",
        b"Idempotency-Key: \"a",
    ] {
        let head = b"POST /payments HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ada\r\nContent-Length: 0\r\n";
        read.stream.write_all(&[&head[..], fields, b"\r\n\r\n"].concat()).await.unwrap();
        let answer = read.answer().await;
        assert_eq!((answer.status, &*answer.problem()), (400, "key-invalid"), "{}", fields.escape_ascii());
    }
    bed.is_settled(&[], 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_on_one_http_2_connection_run_once_and_a_reset_stream_cancels_nothing() {
    let bed = Bed::start().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let send = |key: &str| {
        let request = client.post(format!("http://{}/payments", bed.address)).header("authorization", "Bearer ada");
        request.header("idempotency-key", format!("\"{key}\"")).body("pay").send()
    };
    // The client loses its patience half way, which resets the stream.
    let waiting = tokio::spawn(send("reset"));
    bed.gate.reached().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    seen(&bed.ends, |ends| ends.dropped == 1).await;
    let again = tokio::spawn(send("reset"));
    bed.gate.open();
    let answer = Answer::of_reqwest(again.await.unwrap().unwrap()).await;
    assert_eq!((&*answer.body, answer.is_replay(), bed.runs.count()), ("1:pay", true, 1));

    let answers = join_all((0..50).map(|_| async { Answer::of_reqwest(send("k").await.unwrap()).await })).await;
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == "2:pay"), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1);
    bed.is_settled(&["k", "reset"], 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_sees_what_the_others_see() {
    let Some(curl) = servers::needed(Program::Curl.find()) else { return };
    let bed = Bed::start().await;
    bed.gate.open();
    let url = format!("http://{}/payments", bed.address);
    let send = |key: &[&str], body: &str| {
        let mut command = Command::new(&curl);
        command.args([
            "-s",
            "-i",
            "-H",
            "Authorization: Bearer ada",
            "-H",
            "Content-Type: text/plain",
            "-d",
            body,
            &url,
        ]);
        for key in key {
            command.args(["-H", &format!("Idempotency-Key: {key}")]);
        }
        let output = tokio::task::block_in_place(|| command.output()).expect("curl runs");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("text").to_ascii_lowercase()
    };
    let first = send(&["\"k\""], "pay");
    assert!(first.starts_with("http/1.1 200") && first.ends_with("1:pay") && !first.contains("idempotent-replayed"));
    let retry = send(&["\"k\""], "pay");
    assert!(retry.contains("idempotent-replayed: true\r\n") && retry.ends_with("1:pay"), "{retry}");
    for (keys, body, status) in
        [(&["\"k\""][..], "other", 422), (&["\"k"], "pay", 400), (&["\"k\"", "\"l\""], "pay", 400)]
    {
        let answer = send(keys, body);
        assert!(answer.starts_with(&format!("http/1.1 {status} ")), "{keys:?}: {answer}");
        assert!(answer.contains("content-type: application/problem+json\r\n"), "{answer}");
    }
    bed.is_settled(&["k"], 1).await;
}
