//! A server that everybody else reaches through a proxy.

use crate::{Error, Proxy, Redis, RedisBuilder, port, redis};

/// How servers of a deployment are reached: by each other, and by the clients that are told where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Directly,
    ThroughProxies,
}

/// A server, and what stands in front of it.
pub(crate) struct Fronted {
    pub(crate) server: Redis,
    pub(crate) proxy: Option<Proxy>,
}

impl Reached {
    /// Starts a server. One behind a proxy announces the proxy's port with the setting `announce`.
    pub(crate) fn start(self, settings: &RedisBuilder, announce: &str) -> Result<Fronted, Error> {
        if self == Self::Directly {
            return Ok(Fronted { server: settings.clone().start()?, proxy: None });
        }
        let mut tries = 1..redis::TRIES;
        loop {
            let port = port::free().map_err(Error::while_doing("find a free port"))?;
            let proxy = Proxy::start(port)?;
            let announced = proxy.port().to_string();
            match settings.clone().port(port).args([announce, &announced]).start() {
                Ok(server) => return Ok(Fronted { server, proxy: Some(proxy) }),
                Err(error) if redis::is_port_taken(&error) && tries.next().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The ports that servers are known by: those of the proxies, where there are any.
pub(crate) fn announced(servers: &[Redis], proxies: &[Proxy]) -> impl Iterator<Item = u16> {
    servers.iter().enumerate().map(|(at, server)| proxies.get(at).map_or(server.port(), Proxy::port))
}
