//! The desk's side of the lines: a thread for each consumer.
//!
//! A line that ends says that its consumer has gone, which the operating system does also for a process that is killed:
//! its message comes again.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::{Ask, Desk, Done};

/// Opens the desk.
pub(crate) fn serve(desk: &Arc<Desk>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let desk = Arc::clone(desk);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let desk = Arc::clone(&desk);
            thread::spawn(move || {
                let mut held = None;
                // However it ends, the consumer has gone.
                _ = listen(&stream, &desk, &mut held);
                if let Some(message) = held {
                    desk.done(message, Done::Again { after_ms: 0 });
                }
            });
        }
    });
    Ok(address)
}

/// Answers a consumer until it has gone; `held` is the message that it has.
fn listen(stream: &TcpStream, desk: &Desk, held: &mut Option<u64>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut write = stream;
    for line in BufReader::new(stream).lines() {
        let told = match serde_json::from_str(&line?)? {
            Ask::Next(done) => {
                if let Some((message, done)) = held.take().zip(done) {
                    desk.done(message, done);
                }
                let told = desk.next();
                if let super::Tell::Message { message, .. } = told {
                    *held = Some(message);
                }
                told
            }
            Ask::Effect { key, run, fence } => desk.present(key, run, fence),
        };
        let mut answer = serde_json::to_vec(&told)?;
        answer.push(b'\n');
        write.write_all(&answer)?;
    }
    Ok(())
}
