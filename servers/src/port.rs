//! Free loopback ports.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that operating systems give to outgoing connections, so that a server that is
/// restarted finds its port free; and low enough for the bus of a Redis Cluster, 10,000 above.
const RANGE: std::ops::Range<u16> = 10_000..22_000;

/// Tries to find a free port, before something else must be wrong.
const TRIES: usize = 100;

/// A port on which nobody listens now. Somebody may before it is used: then try again.
pub(crate) fn free() -> io::Result<u16> {
    listen().and_then(|listener| Ok(listener.local_addr()?.port()))
}

/// A listener on a free port.
pub(crate) fn listen() -> io::Result<TcpListener> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, any())) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn any() -> u16 {
    let random = RandomState::new().build_hasher().finish();
    let span = u64::from(RANGE.end - RANGE.start);
    RANGE.start + u16::try_from(random % span).expect("the span of a range of u16 fits one")
}
