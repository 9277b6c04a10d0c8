//! The task of one connection: it writes what callers gathered, hands out what the server answered, and gives the
//! connection up when the server stays silent.
//!
//! **Writing.** With TCP_NODELAY on, a command written as soon as it is there costs a system call of its own: at 50
//! calls in flight the calls would be most of the work. With it off, a small command can wait for an acknowledgement
//! on a real network. So NODELAY is on, and the driver lets every other runnable task go before it writes: each adds
//! its command, and all leave together. This costs one turn of the scheduler and no time on a clock.
//!
//! **Reading.** Where many wait, answers are handed out in parts, and what the callers of one part send next leaves
//! before the next part is handed out. Handed out all at once, all callers would send at the same moment, and client
//! and server would take turns: each would stand still while the other works.
//!
//! **Silence.** A timer per command would cost more than the command. So there is one per connection, which runs only
//! while an answer is owed, in quarters of the time-out: four quarters without anything read, and the connection is
//! dead. All callers learn it at once, and the next one connects anew.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use redis::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::connection::Connections;
use super::error::{Ended, NoAnswer};
use super::reading;
use super::wire::Wire;

const TICKS: u32 = 4;

/// Answers are handed out in so many parts...
const PARTS: usize = 3;

/// ... of at least this many.
const PART: usize = 8;

/// The read buffer; it grows for an answer that is longer.
const READ: usize = 16 * 1024;

/// A write buffer that has grown beyond this is given back.
const KEPT: usize = 256 * 1024;

/// Drives a connection until it ends, then takes it off the table.
pub(super) struct Driver<S> {
    stream: S,
    wire: Arc<Wire>,
    outgoing: Outgoing,
    incoming: Incoming,
    silence: Silence,
    table: Weak<Connections>,
}

/// Commands on their way.
#[derive(Default)]
struct Outgoing {
    commands: Vec<u8>,
    written: usize,
    /// All other tasks had their turn since the last write.
    gathered: bool,
    /// What the stream has taken may still be in a buffer of its own, as it is with TLS.
    unflushed: bool,
}

/// Answers on their way.
struct Incoming {
    read: Vec<u8>,
    /// What is in `read` and was not understood yet.
    start: usize,
    end: usize,
    answers: Vec<Value>,
    wakers: Vec<Waker>,
}

/// How long nothing was heard.
struct Silence {
    timeout: Duration,
    timer: Pin<Box<Sleep>>,
    /// Ticks gone by without a word; `None` while nothing is owed.
    ticks: Option<u32>,
    heard: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Driver<S> {
    pub(super) fn new(stream: S, wire: Arc<Wire>, response_timeout: Duration, table: Weak<Connections>) -> Self {
        let incoming = Incoming { read: vec![0; READ], start: 0, end: 0, answers: Vec::new(), wakers: Vec::new() };
        let timer = Box::pin(tokio::time::sleep(response_timeout));
        let silence = Silence { timeout: response_timeout, timer, ticks: None, heard: false };
        Self { stream, wire, outgoing: Outgoing::default(), incoming, silence, table }
    }

    /// One turn. `Ready` when the connection has ended.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        if let Err(why) = self.write(cx) {
            return Poll::Ready(why);
        }
        let handed_out = match self.read(cx) {
            Ok(handed_out) => handed_out,
            Err(why) => return Poll::Ready(why),
        };
        // The next turn comes after those of all tasks that are runnable now. A write that waits for the network is
        // woken by it.
        let blocked = !self.outgoing.commands.is_empty();
        self.outgoing.gathered = handed_out || !blocked && !self.wire.sleep(cx.waker());
        if self.outgoing.gathered {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.silence.poll(cx, &self.wire)
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), Ended> {
        let Outgoing { commands, written, gathered, unflushed } = &mut self.outgoing;
        loop {
            if commands.is_empty() && *gathered {
                self.wire.take_unsent(commands);
            }
            if *unflushed {
                match Pin::new(&mut self.stream).poll_flush(cx) {
                    // The stream wakes the driver when it can take more.
                    Poll::Pending => {}
                    Poll::Ready(Ok(())) => *unflushed = false,
                    Poll::Ready(Err(error)) => return Err(error.into()),
                }
            }
            if commands.is_empty() {
                return Ok(());
            }
            match Pin::new(&mut self.stream).poll_write(cx, &commands[*written..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(Ended::Closed),
                Poll::Ready(Ok(more)) => *written += more,
                Poll::Ready(Err(error)) => return Err(error.into()),
            }
            if *written == commands.len() {
                *written = 0;
                commands.clear();
                commands.shrink_to(KEPT);
                *unflushed = true;
            }
        }
    }

    /// Hands out one part of the answers that are there. Whether there were any.
    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, Ended> {
        let incoming = &mut self.incoming;
        let part = self.wire.owed().div_ceil(PARTS).max(PART);
        loop {
            incoming.understand(part)?;
            if incoming.answers.len() == part {
                break;
            }
            let mut room = ReadBuf::new(incoming.room());
            match Pin::new(&mut self.stream).poll_read(cx, &mut room) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) if room.filled().is_empty() => return Err(Ended::Closed),
                Poll::Ready(Ok(())) => incoming.end += room.filled().len(),
                Poll::Ready(Err(error)) => return Err(error.into()),
            }
            self.silence.heard = true;
        }
        if incoming.answers.is_empty() {
            return Ok(false);
        }
        self.wire.answer(&mut incoming.answers, &mut incoming.wakers)?;
        Ok(true)
    }
}

impl Incoming {
    /// Takes answers out of what was read, until there are `part`.
    fn understand(&mut self, part: usize) -> Result<(), Ended> {
        while self.answers.len() < part {
            let Some((answer, length)) = reading::answer(&self.read[self.start..self.end])? else { break };
            self.start += length;
            // What the server says unasked answers nobody.
            if !matches!(answer, Value::Push { .. }) {
                self.answers.push(answer);
            }
        }
        Ok(())
    }

    /// Room to read into.
    fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.read.len() {
            if self.start == 0 {
                self.read.resize(2 * self.end, 0);
            }
            self.read.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.read[self.end..]
    }
}

impl Silence {
    fn poll(&mut self, cx: &mut Context<'_>, wire: &Wire) -> Poll<Ended> {
        loop {
            let Some(ticks) = self.ticks else {
                if wire.owed() > 0 {
                    self.tick(0);
                    continue;
                }
                return Poll::Pending;
            };
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if wire.owed() == 0 {
                self.ticks = None;
                return Poll::Pending;
            }
            let ticks = if self.heard { 0 } else { ticks + 1 };
            if ticks == TICKS {
                return Poll::Ready(Ended::Silent(NoAnswer { within: self.timeout }));
            }
            self.tick(ticks);
        }
    }

    fn tick(&mut self, ticks: u32) {
        self.ticks = Some(ticks);
        self.heard = false;
        self.timer.as_mut().reset(Instant::now() + self.timeout / TICKS);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Driver<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.wire.has_ended() {
            return Poll::Ready(());
        }
        self.turn(cx).map(|why| self.wire.end(why))
    }
}

/// However the driver ends, also with its runtime, all who wait learn it, and the connection is forgotten.
impl<S> Drop for Driver<S> {
    fn drop(&mut self) {
        self.wire.end(Ended::RuntimeGone);
        if let Some(table) = self.table.upgrade() {
            table.forget(&self.wire);
        }
    }
}

#[cfg(test)]
mod tests;
