//! What the proxy's threads share: the fault in force, and the connections that stand.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Fault;
use crate::Error;

#[derive(Debug)]
pub(super) struct State {
    /// The proxy's own address.
    pub(super) address: SocketAddr,
    /// Where connections lead.
    pub(super) server: SocketAddr,
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    phase: Phase,
    fault: Fault,
    listening: Listening,
    lose: LostAnswers,
    answers_lost: usize,
    connections: Vec<Weak<Connection>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Ended,
}

/// What the listener's thread has come to.
#[derive(Debug)]
enum Listening {
    Yes,
    No,
    Failed(ErrorKind),
}

/// Answers that are still to be lost.
#[derive(Debug, Default)]
pub(super) struct LostAnswers {
    pub(super) left: usize,
    pub(super) containing: Vec<u8>,
}

/// The two halves of one connection through the proxy.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    /// Bytes have been lost: there is a hole in its stream.
    holed: AtomicBool,
    /// The next answer is to be lost, and the connection with it.
    mute: AtomicBool,
    cut: AtomicBool,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Request,
    Answer,
}

/// What becomes of bytes that have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    PassAfter(Duration),
    Lose,
    /// These bytes and all that follow are lost, and the connection with them.
    LoseConnection,
}

impl State {
    pub(super) fn new(address: SocketAddr, server: SocketAddr) -> Self {
        let inner = Inner {
            phase: Phase::Running,
            fault: Fault::None,
            listening: Listening::Yes,
            lose: LostAnswers::default(),
            answers_lost: 0,
            connections: Vec::new(),
        };
        Self { address, server, inner: Mutex::new(inner), changed: Condvar::new() }
    }

    pub(super) fn set(&self, fault: Fault) -> Result<(), Error> {
        let mut inner = self.lock();
        if inner.fault == Fault::Drop && fault != Fault::Drop {
            for connection in inner.standing() {
                if connection.holed.load(Ordering::Relaxed) {
                    connection.cut();
                }
            }
        }
        inner.fault = fault;
        self.changed.notify_all();

        // The listener sits in `accept`, where only a connection wakes it.
        if fault == Fault::Refuse && matches!(inner.listening, Listening::Yes) {
            self.wake_listener();
        }
        let settled = self.changed.wait_while(inner, |inner| inner.is_listener_behind());
        match settled.unwrap_or_else(PoisonError::into_inner).listening {
            Listening::Failed(kind) => Err(Error::while_doing("listen on the proxy's port again")(kind.into())),
            _ => Ok(()),
        }
    }

    pub(super) fn cut(&self) -> usize {
        let standing = self.lock().standing();
        for connection in &standing {
            connection.cut();
        }
        self.changed.notify_all();
        standing.len()
    }

    pub(super) fn lose(&self, lose: LostAnswers) {
        self.lock().lose = lose;
    }

    pub(super) fn answers_lost(&self) -> usize {
        self.lock().answers_lost
    }

    pub(super) fn connections(&self) -> usize {
        self.lock().standing().len()
    }

    pub(super) fn end(&self) {
        self.lock().phase = Phase::Ended;
        self.cut();
        self.wake_listener();
    }

    // For the listener's thread.

    pub(super) fn has_ended(&self) -> bool {
        self.lock().phase == Phase::Ended
    }

    pub(super) fn refuses(&self) -> bool {
        self.lock().fault == Fault::Refuse
    }

    /// Says that nobody listens, and waits until somebody should again (or never).
    pub(super) fn wait_while_refusing(&self) {
        let mut inner = self.lock();
        inner.listening = Listening::No;
        self.changed.notify_all();
        let refuses = |inner: &mut Inner| inner.fault == Fault::Refuse && inner.phase == Phase::Running;
        drop(self.changed.wait_while(inner, refuses));
    }

    /// Says whether the port is open again.
    pub(super) fn listens_again(&self, outcome: Result<(), io::Error>) {
        self.lock().listening = outcome.map_or_else(|error| Listening::Failed(error.kind()), |()| Listening::Yes);
        self.changed.notify_all();
    }

    /// Takes a new connection in; not if the proxy has ended meanwhile.
    pub(super) fn enter(&self, connection: &Arc<Connection>) -> bool {
        let mut inner = self.lock();
        if inner.phase == Phase::Ended {
            return false;
        }
        inner.connections.retain(|connection| connection.strong_count() > 0);
        inner.connections.push(Arc::downgrade(connection));
        true
    }

    // For the threads that pump bytes.

    /// Judges bytes that have been read; waits while the network is down.
    pub(super) fn fate(&self, connection: &Connection, way: Way, bytes: &[u8]) -> Fate {
        let held =
            |inner: &mut Inner| inner.fault == Fault::Hold && inner.phase == Phase::Running && !connection.is_cut();
        let mut inner = self.changed.wait_while(self.lock(), held).unwrap_or_else(PoisonError::into_inner);

        if way == Way::Answer && connection.mute.load(Ordering::Relaxed) {
            inner.answers_lost += 1;
            return Fate::LoseConnection;
        }
        if inner.fault == Fault::Drop {
            connection.holed.store(true, Ordering::Relaxed);
            return Fate::Lose;
        }
        if way == Way::Request && inner.lose.takes(bytes) {
            connection.mute.store(true, Ordering::Relaxed);
        }
        match (inner.fault, way) {
            (Fault::DelayRequests(delay), Way::Request) | (Fault::DelayAnswers(delay), Way::Answer) => {
                Fate::PassAfter(delay)
            }
            _ => Fate::Pass,
        }
    }

    fn wake_listener(&self) {
        _ = TcpStream::connect(self.address);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn standing(&self) -> Vec<Arc<Connection>> {
        let alive = self.connections.iter().filter_map(Weak::upgrade);
        alive.filter(|connection| !connection.is_cut()).collect()
    }

    /// Whether the listener has yet to do what the fault asks for.
    fn is_listener_behind(&self) -> bool {
        let refuse = self.fault == Fault::Refuse;
        match self.listening {
            Listening::Yes => refuse,
            Listening::No => !refuse,
            Listening::Failed(_) => false,
        }
    }
}

impl LostAnswers {
    fn takes(&mut self, request: &[u8]) -> bool {
        let wanted = &self.containing;
        let takes = self.left > 0 && (wanted.is_empty() || request.windows(wanted.len()).any(|part| part == wanted));
        self.left -= usize::from(takes);
        takes
    }
}

impl Connection {
    pub(super) fn new(client: TcpStream, server: TcpStream) -> io::Result<Self> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let no = || AtomicBool::new(false);
        Ok(Self { client, server, holed: no(), mute: no(), cut: no() })
    }

    /// Closes both halves; the threads that read from them come to an end.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
        // Fails only where the other side was faster.
        _ = self.client.shutdown(Shutdown::Both);
        _ = self.server.shutdown(Shutdown::Both);
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }
}
