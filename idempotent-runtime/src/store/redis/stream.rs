//! The stream under the client: it gathers commands into one write, and notes whether the server answers.
//!
//! With TCP_NODELAY on, the client writes every command by itself as soon as its task is polled: at 50 calls in
//! flight that is one system call each. With it off, a small command can wait for an acknowledgement on a real
//! network. So NODELAY is on, and the first write after a pause lets every other runnable task go first: each adds its
//! command, and all leave in one write.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Signs of life of one connection, told by its stream and its callers, judged by its driver.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// How often something was read.
    reads: AtomicU64,
    /// Something was written and nothing read since.
    unanswered: AtomicBool,
    /// How many callers wait for an answer.
    waiting: AtomicUsize,
    /// The server was silent for too long.
    stalled: AtomicBool,
    /// Nobody drives the connection any more.
    ended: AtomicBool,
}

impl Pulse {
    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Relaxed)
    }

    /// Whether the server owes an answer. A caller that has gone away does not wait any more, but what it wrote is
    /// still unanswered.
    pub(super) fn owed(&self) -> bool {
        self.waiting.load(Relaxed) > 0 || self.unanswered.load(Relaxed)
    }

    pub(super) fn stall(&self) {
        self.stalled.store(true, Release);
    }

    pub(super) fn stalled(&self) -> bool {
        self.stalled.load(Acquire)
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Release);
    }

    pub(super) fn ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    /// Counts a caller as waiting, until the guard is dropped.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Relaxed);
        Waiting(self)
    }
}

/// A caller that waits for an answer.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Pulse);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

/// A stream that gathers what is written.
#[derive(Debug)]
pub(super) struct Gathering<S> {
    stream: S,
    pulse: Arc<Pulse>,
    /// The other tasks had their turn since the last write.
    gathered: bool,
}

impl<S> Gathering<S> {
    pub(super) fn new(stream: S, pulse: Arc<Pulse>) -> Self {
        Self { stream, pulse, gathered: false }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathering<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.gathered {
            self.gathered = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.gathered = false;
        self.pulse.unanswered.store(true, Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathering<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        if into.filled().len() > before {
            self.pulse.unanswered.store(false, Relaxed);
            self.pulse.reads.fetch_add(1, Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}
