//! A TCP proxy in front of a server, whose faults are switched on and off by a test.

mod listener;
mod pump;
mod state;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use self::state::{LostAnswers, State};
use crate::{Error, port};

/// What a [`Proxy`] does to the traffic, from now until another is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: all passes at once.
    #[default]
    None,
    /// What clients send arrives later: the effect of a request may come after its time-out.
    ///
    /// By at least this much; by up to twice as much for what is sent in the meantime.
    DelayRequests(Duration),
    /// What the server answers arrives later: the effect of a request comes at once.
    DelayAnswers(Duration),
    /// Nothing passes either way, and it all arrives when the fault ends: a network that is down
    /// for a while.
    Hold,
    /// What is sent is lost, either way. A connection that has lost something is cut when the
    /// fault ends, as there is a hole in its stream.
    Drop,
    /// New connections are refused. Those that stand go on: [`Proxy::cut`] them.
    Refuse,
}

/// A TCP proxy on a port of its own in front of a server on this machine.
///
/// ```
/// use servers::{Fault, Proxy, Redis, RedisBinary};
///
/// # fn main() -> Result<(), servers::Error> {
/// # let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return Ok(()) };
/// let proxy = Proxy::start(redis.port())?;
/// let url = proxy.url(&redis.url()); // for the client under test
///
/// proxy.lose_answers(1); // the next request is carried out, and its answer lost
/// proxy.set(Fault::Hold)?; // a network that is down …
/// proxy.set(Fault::None)?; // … and comes back
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    state: Arc<State>,
    listener: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in front of the server on this port.
    ///
    /// The server need not run: a connection is then closed as soon as it is opened.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where there is no free port.
    pub fn start(server: u16) -> Result<Self, Error> {
        let listening = port::listen().map_err(Error::while_doing("listen on a free port"))?;
        let address = listening.local_addr().map_err(Error::while_doing("read a port"))?;
        let state = Arc::new(State::new(address, SocketAddr::from((Ipv4Addr::LOCALHOST, server))));
        let listener = listener::spawn(Arc::clone(&state), listening).map_err(Error::while_doing("start a thread"))?;
        Ok(Self { state, listener: Some(listener) })
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.state.address.port()
    }

    /// The server's URL with the proxy's port in place of its own.
    pub fn url(&self, server_url: &str) -> String {
        let server = format!(":{}", self.state.server.port());
        server_url.replacen(&server, &format!(":{}", self.port()), 1)
    }

    /// Sets what happens to the traffic from now on. In force when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the end of [`Fault::Refuse`] finds the port taken by another.
    pub fn set(&self, fault: Fault) -> Result<(), Error> {
        self.state.set(fault)
    }

    /// Closes all connections at once, and says how many there were.
    pub fn cut(&self) -> usize {
        self.state.cut()
    }

    /// The next requests, this many, are carried out by the server; but when the answer comes,
    /// the connection is closed instead.
    ///
    /// A request is what one read from the client gives: with pipelining, many commands at once.
    /// An answer to an earlier request that comes meanwhile is lost too.
    pub fn lose_answers(&self, requests: usize) {
        self.lose_answers_to(requests, "");
    }

    /// As [`lose_answers`](Self::lose_answers), but only for requests that contain these bytes: a
    /// command's name, or a key.
    pub fn lose_answers_to(&self, requests: usize, containing: impl AsRef<[u8]>) {
        let containing = containing.as_ref().to_vec();
        self.state.lose(LostAnswers { left: requests, containing });
    }

    /// How many answers have been lost as [`lose_answers`](Self::lose_answers) says.
    pub fn answers_lost(&self) -> usize {
        self.state.answers_lost()
    }

    /// How many connections there are now.
    pub fn connections(&self) -> usize {
        self.state.connections()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.end();
        if let Some(listener) = self.listener.take() {
            _ = listener.join();
        }
    }
}
