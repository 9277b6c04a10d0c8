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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Keeps each write apart.
    #[derive(Clone, Debug, Default)]
    struct Writes(Arc<Mutex<Vec<Vec<u8>>>>);

    impl AsyncWrite for Writes {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().expect("nobody panics here").push(bytes.to_vec());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// As the client does: takes commands while there are any, and writes them when there is none.
    async fn drive(commands: &mut tokio::sync::mpsc::Receiver<u8>, stream: &mut Gathering<Writes>) {
        let mut gathered = Vec::new();
        std::future::poll_fn(|cx| {
            while let Poll::Ready(Some(command)) = commands.poll_recv(cx) {
                gathered.push(command);
            }
            if gathered.is_empty() {
                return Poll::Pending;
            }
            Pin::new(&mut *stream).poll_write(cx, &gathered).map(drop)
        })
        .await;
    }

    #[tokio::test]
    async fn the_commands_of_all_runnable_tasks_leave_in_one_write() {
        let writes = Writes::default();
        let mut stream = Gathering::new(writes.clone(), Arc::default());
        let (send, mut commands) = tokio::sync::mpsc::channel(100);
        for round in 0..2 {
            // Each task sends only when it is polled, and the driver is polled before most of them.
            send.send(100).await.expect("the driver lives");
            let callers: Vec<_> = (0..50)
                .map(|_| {
                    tokio::spawn({
                        let send = send.clone();
                        async move { send.send(round).await.expect("the driver lives") }
                    })
                })
                .collect();
            drive(&mut commands, &mut stream).await;
            for caller in callers {
                caller.await.expect("a caller does not panic");
            }
        }
        let lengths: Vec<_> = writes.0.lock().expect("nobody panics here").iter().map(Vec::len).collect();
        assert_eq!(lengths, [51, 51]);
    }

    #[tokio::test]
    async fn a_write_owes_an_answer_until_something_is_read() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let pulse = Arc::new(Pulse::default());
        let mut stream = Gathering::new(ours, Arc::clone(&pulse));
        assert!(!pulse.owed());
        stream.write_all(b"a question").await.expect("there is room");
        assert!(pulse.owed());
        theirs.write_all(b"an answer").await.expect("there is room");
        tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 64]).await.expect("there is an answer");
        assert!(!pulse.owed());
        assert_eq!(pulse.reads(), 1);
        let waiting = pulse.wait();
        assert!(pulse.owed());
        drop(waiting);
        assert!(!pulse.owed());
    }
}
