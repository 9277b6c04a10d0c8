//! A real server whose clock seems to show another time.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How the answer to `TIME` begins: seconds of ten digits.
const SHOWN: &[u8] = b"*2\r\n$10\r\n";
const DIGITS: usize = 10;

pub(crate) struct AnotherClock {
    /// Where the server seems to be.
    pub(crate) address: SocketAddr,
    ahead: Arc<AtomicU64>,
}

impl AnotherClock {
    pub(crate) fn set_ahead(&self, by: Duration) {
        self.ahead.store(by.as_secs(), Ordering::Relaxed);
    }
}

/// A way to the server on this port on which the answers to `TIME` are changed.
pub(crate) fn another_clock(server: u16) -> AnotherClock {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let ahead = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&ahead);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a connection");
            let server = TcpStream::connect(("127.0.0.1", server)).expect("the server listens");
            let (questions, answers) = ((clone(&client), clone(&server)), (server, client));
            let ahead = Arc::clone(&shared);
            thread::spawn(move || carry(questions.0, questions.1, |_| {}));
            thread::spawn(move || carry(answers.0, answers.1, |answer| advance(answer, ahead.load(Ordering::Relaxed))));
        }
    });
    AnotherClock { address, ahead }
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a second handle")
}

fn carry(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut [u8])) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        change(&mut bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Both);
}

fn advance(answer: &mut [u8], by: u64) {
    let Some(at) = answer.windows(SHOWN.len()).position(|bytes| bytes == SHOWN).map(|at| at + SHOWN.len()) else {
        return;
    };
    let Some(shown) = answer.get_mut(at..at + DIGITS) else { return };
    let seconds: u64 = std::str::from_utf8(shown).expect("digits").parse().expect("a number");
    shown.copy_from_slice((seconds + by).to_string().as_bytes());
}
