//! The driver against a server of the test's own, on the other end of a pipe.

use std::io;
use std::sync::Mutex;

use redis::Cmd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::task::JoinSet;

use super::super::error::Failure;
use super::*;

const TIMEOUT: Duration = Duration::from_secs(2);

/// A stream that notes how many commands leave in each write.
struct Noted {
    stream: DuplexStream,
    writes: Arc<Mutex<Vec<usize>>>,
}

impl AsyncWrite for Noted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writes.lock().expect("nobody panics here").push(bytes.split(|&byte| byte == b'*').count() - 1);
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Noted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

/// A driven connection, its server's end, and the commands in each write.
fn connection() -> (Arc<Wire>, DuplexStream, Arc<Mutex<Vec<usize>>>) {
    let (stream, server) = duplex(1 << 20);
    let (wire, writes) = (Arc::new(Wire::default()), Arc::default());
    let noted = Noted { stream, writes: Arc::clone(&writes) };
    tokio::spawn(Driver::new(noted, Arc::clone(&wire), TIMEOUT, Weak::new()));
    (wire, server, writes)
}

fn question() -> Cmd {
    redis::cmd("PING")
}

/// The length of one question on the wire.
const QUESTION: usize = "*1\r\n$4\r\nPING\r\n".len();

async fn questions(server: &mut DuplexStream, count: usize) {
    server.read_exact(&mut vec![0; count * QUESTION]).await.expect("the questions come");
}

async fn answers(server: &mut DuplexStream, answers: &str) {
    server.write_all(answers.as_bytes()).await.expect("the connection is open");
}

fn unavailable(answer: Result<Value, Failure>) -> String {
    match answer {
        Err(Failure::Store { error, reconnect: true }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_commands_of_all_runnable_tasks_leave_in_one_write() {
    let (wire, mut server, writes) = connection();
    for _ in 0..2 {
        let mut callers = JoinSet::new();
        for _ in 0..50 {
            let wire = Arc::clone(&wire);
            callers.spawn(async move { wire.send(&question()).await });
        }
        questions(&mut server, 50).await;
        answers(&mut server, &":1\r\n".repeat(50)).await;
        for answer in callers.join_all().await {
            assert_eq!(answer.expect("an answer"), Value::Int(1));
        }
    }
    assert_eq!(*writes.lock().expect("nobody panics here"), [50, 50]);
}

#[tokio::test]
async fn answers_are_handed_out_in_parts_and_each_part_sends_before_the_next() {
    let (wire, mut server, writes) = connection();
    let mut callers = JoinSet::new();
    for _ in 0..60 {
        let wire = Arc::clone(&wire);
        callers.spawn(async move {
            wire.send(&question()).await?;
            wire.send(&question()).await
        });
    }
    questions(&mut server, 60).await;
    answers(&mut server, &":1\r\n".repeat(60)).await;
    questions(&mut server, 60).await;
    assert_eq!(*writes.lock().expect("nobody panics here"), [60, 20, 20, 20]);
    answers(&mut server, &":2\r\n".repeat(60)).await;
    for answer in callers.join_all().await {
        assert_eq!(answer.expect("an answer"), Value::Int(2));
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_its_answer_to_nobody() {
    let (wire, mut server, _) = connection();
    let gone = wire.send(&question());
    let mut stays = std::pin::pin!(wire.send(&question()));
    tokio::select! {
        biased;
        _ = &mut stays => panic!("there is no answer yet"),
        () = questions(&mut server, 2) => {}
    }
    drop(gone);
    answers(&mut server, ":1\r\n:2\r\n").await;
    assert_eq!(stays.await.expect("an answer"), Value::Int(2));
}

#[tokio::test]
async fn an_answer_of_any_length_comes_in_any_pieces() {
    let (wire, mut server, _) = connection();
    let long = "x".repeat(5 * READ);
    let text = format!("${}\r\n{long}\r\n:7\r\n", long.len());
    let pieces = async {
        questions(&mut server, 2).await;
        for piece in text.as_bytes().chunks(1000) {
            server.write_all(piece).await.expect("the connection is open");
            tokio::task::yield_now().await;
        }
    };
    let command = question();
    let (first, second, ()) = tokio::join!(wire.send(&command), wire.send(&command), pieces);
    assert_eq!(first.expect("an answer"), Value::BulkString(long.into_bytes()));
    assert_eq!(second.expect("an answer"), Value::Int(7));
}

#[tokio::test]
async fn what_the_server_says_unasked_answers_nobody() {
    let (wire, mut server, _) = connection();
    let command = question();
    let told = async {
        questions(&mut server, 1).await;
        answers(&mut server, ">2\r\n+invalidate\r\n*0\r\n:1\r\n").await;
    };
    let (answer, ()) = tokio::join!(wire.send(&command), told);
    assert_eq!(answer.expect("an answer"), Value::Int(1));
    answers(&mut server, ":2\r\n").await;
    assert_eq!(server.read(&mut [0]).await.expect("the end"), 0, "an answer to nothing ends the connection");
    assert!(wire.has_ended());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_is_given_up_and_an_idle_one_is_not() {
    let (wire, mut server, _) = connection();
    tokio::time::sleep(10 * TIMEOUT).await;
    assert!(!wire.has_ended());
    let command = question();
    let answer = async {
        tokio::time::sleep(TIMEOUT / TICKS * (TICKS - 1)).await;
        answers(&mut server, ":1\r\n").await;
    };
    let (late, ()) = tokio::join!(wire.send(&command), answer);
    assert_eq!(late.expect("just in time"), Value::Int(1));

    let asked = Instant::now();
    let never = unavailable(wire.send(&command).await);
    assert!(never.contains("no answer within 2s"), "{never}");
    assert!(asked.elapsed() <= TIMEOUT + TIMEOUT / TICKS, "{:?}", asked.elapsed());
    assert_eq!(unavailable(wire.send(&command).await), never, "whoever comes later is told the same");
}

#[tokio::test]
async fn a_closed_connection_is_told_to_all_who_wait() {
    let (wire, mut server, _) = connection();
    let command = question();
    let close = async {
        questions(&mut server, 2).await;
        drop(server);
    };
    let (first, second, ()) = tokio::join!(wire.send(&command), wire.send(&command), close);
    for answer in [first, second] {
        assert!(unavailable(answer).contains("the server closed the connection"));
    }
}

#[tokio::test]
async fn a_command_larger_than_the_pipe_arrives_whole() {
    let (stream, mut server) = duplex(64);
    let wire = Arc::new(Wire::default());
    tokio::spawn(Driver::new(stream, Arc::clone(&wire), TIMEOUT, Weak::new()));
    let mut command = question();
    command.arg("x".repeat(10_000));
    let length = command.get_packed_command().len();
    let read = async {
        let mut bytes = vec![0; length];
        server.read_exact(&mut bytes).await.expect("all of it comes");
        answers(&mut server, ":1\r\n").await;
        bytes
    };
    let (answer, bytes) = tokio::join!(wire.send(&command), read);
    assert_eq!(answer.expect("an answer"), Value::Int(1));
    assert_eq!(bytes, command.get_packed_command());
}

/// A stream that keeps what is written until it is flushed, and is slow to flush: as TLS does when the network is full.
struct Keeping {
    stream: DuplexStream,
    kept: Vec<u8>,
    asked: bool,
}

impl AsyncWrite for Keeping {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.kept.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, kept, asked } = &mut *self;
        if !std::mem::replace(asked, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while !kept.is_empty() {
            let Poll::Ready(written) = Pin::new(&mut *stream).poll_write(cx, kept) else { return Poll::Pending };
            kept.drain(..written?);
        }
        *asked = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Keeping {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_stream_keeps_is_flushed_until_it_has_left() {
    let (stream, mut server) = duplex(8);
    let wire = Arc::new(Wire::default());
    let keeping = Keeping { stream, kept: Vec::new(), asked: false };
    tokio::spawn(Driver::new(keeping, Arc::clone(&wire), TIMEOUT, Weak::new()));
    for _ in 0..2 {
        let command = question();
        let answered = async {
            questions(&mut server, 1).await;
            answers(&mut server, ":1\r\n").await;
        };
        let (answer, ()) = tokio::join!(wire.send(&command), answered);
        assert_eq!(answer.expect("it has left"), Value::Int(1));
    }
}
