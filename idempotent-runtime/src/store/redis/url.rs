//! Which servers a URL names.

use redis::{Client, ConnectionAddr, ConnectionInfo, RedisConnectionInfo};

use super::address::Address;
use crate::store::StoreError;

/// What a URL says: the servers, and the login and database that all of them share.
pub(super) struct Named {
    pub(super) deployment: Deployment,
    pub(super) login: RedisConnectionInfo,
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "without TLS there are no certificates"))]
    pub(super) trusts: Trusts,
}

/// How the servers belong together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deployment {
    /// One server.
    Server(Address),
    /// A primary that Sentinels know by name.
    Sentinel { sentinels: Vec<Address>, primary: String },
    /// A Cluster, and some of its nodes.
    Cluster { seeds: Vec<Address> },
}

#[cfg(feature = "tls")]
impl Deployment {
    pub(super) fn speaks_tls(&self) -> bool {
        let one = match self {
            Self::Server(address) => Some(address),
            Self::Sentinel { sentinels: several, .. } | Self::Cluster { seeds: several } => several.first(),
        };
        matches!(one, Some(Address::Tls { .. }))
    }
}

/// Which certificates a client trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trusts {
    Verified,
    /// Any: only a client of the user's own can say so.
    Anybody,
}

impl Named {
    /// Reads a URL. The error never repeats it, for it may hold a password.
    pub(super) fn read(url: &str) -> Result<Self, StoreError> {
        let Some((scheme, rest)) = url.split_once(':') else { return Err(no_scheme()) };
        match scheme {
            "redis" | "valkey" | "redis+unix" | "valkey+unix" | "unix" => Self::of(&info(url)?),
            "rediss" | "valkeys" => Self::of(&with_tls(info(&format!("redis:{}", without_fragment(rest)?))?)),
            "redis+sentinel" | "rediss+sentinel" => Self::sentinel(scheme, rest),
            "redis+cluster" | "rediss+cluster" => Self::cluster(scheme, rest),
            _ if scheme.is_empty() || !url[scheme.len()..].starts_with("://") => Err(no_scheme()),
            _ if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) => {
                Err(StoreError::refused(format!("a URL of scheme `{scheme}` names no Redis server; write {FORM}")))
            }
            _ => Err(no_scheme()),
        }
    }

    /// Takes the server of a client of the user's own.
    pub(super) fn client(client: &Client) -> Result<Self, StoreError> {
        Self::of(client.get_connection_info())
    }

    fn sentinel(scheme: &str, rest: &str) -> Result<Self, StoreError> {
        let several = Several::read(scheme, rest)?;
        let (primary, database) = several.path.split_once('/').unwrap_or((several.path, ""));
        if primary.is_empty() {
            return Err(StoreError::refused(format!(
                "the URL names no primary: write the name by which the Sentinels know it; {FORM}"
            )));
        }
        let (sentinels, login) = several.addresses("26379", database)?;
        let deployment = Deployment::Sentinel { sentinels, primary: primary.to_owned() };
        Ok(Self { deployment, login, trusts: Trusts::Verified })
    }

    fn cluster(scheme: &str, rest: &str) -> Result<Self, StoreError> {
        let several = Several::read(scheme, rest)?;
        if !matches!(several.path, "" | "0") {
            return Err(StoreError::refused(
                "a Cluster has no other database than 0: leave out what follows the hosts",
            ));
        }
        let (seeds, login) = several.addresses("6379", "")?;
        Ok(Self { deployment: Deployment::Cluster { seeds }, login, trusts: Trusts::Verified })
    }

    fn of(info: &ConnectionInfo) -> Result<Self, StoreError> {
        let trusts = match info.addr() {
            ConnectionAddr::TcpTls { insecure: true, .. } => Trusts::Anybody,
            _ => Trusts::Verified,
        };
        let deployment = Deployment::Server(Address::of(info.addr())?);
        Ok(Self { deployment, login: info.redis_settings().clone(), trusts })
    }
}

/// A URL of several servers, in its parts.
struct Several<'a> {
    tls: bool,
    /// `user:password@`, or nothing.
    login: &'a str,
    hosts: &'a str,
    /// What follows the first slash.
    path: &'a str,
}

impl<'a> Several<'a> {
    fn read(scheme: &str, rest: &'a str) -> Result<Self, StoreError> {
        let rest = without_fragment(rest)?.strip_prefix("//").ok_or_else(no_scheme)?;
        let (servers, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = servers.split_at(servers.rfind('@').map_or(0, |at| at + 1));
        Ok(Self { tls: scheme.starts_with("rediss"), login, hosts, path: path.trim_end_matches('/') })
    }

    /// Each server as the client reads it by itself.
    fn addresses(&self, port: &str, database: &str) -> Result<(Vec<Address>, RedisConnectionInfo), StoreError> {
        let mut addresses = Vec::new();
        let mut login = RedisConnectionInfo::default();
        for host in self.hosts.split(',') {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
            let port = if has_port { String::new() } else { format!(":{port}") };
            let info = info(&format!("redis://{}{host}{port}/{database}", self.login))?;
            let info = if self.tls { with_tls(info) } else { info };
            addresses.push(Address::of(info.addr())?);
            login = info.redis_settings().clone();
        }
        Ok((addresses, login))
    }
}

/// What the client makes of a URL of one server.
fn info(url: &str) -> Result<ConnectionInfo, StoreError> {
    let client = Client::open(url)
        .map_err(|error| StoreError::refused(format!("the URL cannot be read ({error}); write {FORM}")))?;
    Ok(client.get_connection_info().clone())
}

/// The same, with TLS: the client reads such URLs only where it was built with TLS of its own.
fn with_tls(info: ConnectionInfo) -> ConnectionInfo {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) => {
            let addr = ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None };
            info.set_addr(addr)
        }
        _ => info,
    }
}

fn without_fragment(rest: &str) -> Result<&str, StoreError> {
    if rest.contains('#') {
        return Err(StoreError::refused(
            "`#insecure` would trust any server; give the builder root_certificates, or connect_with a client that says \
             so",
        ));
    }
    Ok(rest)
}

fn no_scheme() -> StoreError {
    StoreError::refused(format!("the URL has no scheme; write {FORM}"))
}

const FORM: &str = "redis://[user[:password]@]host[:port][/database], or rediss:// for TLS, or \
                    redis+unix:///path[?db=database][&user=user][&pass=password], or \
                    redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/primary[/database], or \
                    redis+cluster://[user[:password]@]host[:port][,host[:port]…]";

#[cfg(test)]
mod tests {
    use super::*;

    fn one(url: &str) -> (Address, RedisConnectionInfo) {
        let Named { deployment, login, .. } = Named::read(url).expect("a good URL");
        let Deployment::Server(address) = deployment else { panic!("one server") };
        (address, login)
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn the_whole_form_is_read() {
        let (address, login) = one("redis://shop:s%40cret@cache.example:6380/3");
        assert_eq!(address, tcp("cache.example", 6380));
        assert_eq!((login.username(), login.password(), login.db()), (Some("shop"), Some("s@cret"), 3));
    }

    #[test]
    fn short_forms_have_the_usual_defaults() {
        for url in ["redis://127.0.0.1/", "valkey://127.0.0.1"] {
            let (address, login) = one(url);
            assert_eq!(address, tcp("127.0.0.1", 6379));
            assert_eq!(login.db(), 0);
        }
    }

    #[test]
    fn sentinels_share_a_login_and_name_a_primary() {
        let Named { deployment, login, .. } =
            Named::read("redis+sentinel://shop:s%40cret@one:1,[::1],three/orders/3").expect("a good URL");
        let sentinels = vec![tcp("one", 1), tcp("::1", 26379), tcp("three", 26379)];
        assert_eq!(deployment, Deployment::Sentinel { sentinels, primary: "orders".into() });
        assert_eq!((login.username(), login.password(), login.db()), (Some("shop"), Some("s@cret"), 3));
        let error = Named::read("redis+sentinel://:secret@one/").err().expect("refused").to_string();
        assert!(error.contains("names no primary") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn the_nodes_of_a_cluster_share_a_login_and_have_one_database() {
        let Named { deployment, login, .. } =
            Named::read("redis+cluster://shop:s%40cret@one:1,two/").expect("a good URL");
        assert_eq!(deployment, Deployment::Cluster { seeds: vec![tcp("one", 1), tcp("two", 6379)] });
        assert_eq!((login.username(), login.password()), (Some("shop"), Some("s@cret")));
        let error = Named::read("redis+cluster://:secret@one/1").err().expect("refused").to_string();
        assert!(error.contains("no other database") && !error.contains("secret"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn unix_sockets_are_read_as_the_client_spells_them() {
        for scheme in ["redis+unix", "unix"] {
            let (address, login) = one(&format!("{scheme}:///run/redis.sock?db=3&user=shop&pass=s%40cret"));
            assert_eq!(address, Address::Unix("/run/redis.sock".into()));
            assert_eq!((login.username(), login.password(), login.db()), (Some("shop"), Some("s@cret"), 3));
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn tls_is_read_and_never_without_a_check() {
        let (address, login) = one("rediss://shop:s%40cret@cache.example/3");
        assert_eq!(address, Address::Tls { host: "cache.example".into(), port: 6379 });
        assert_eq!((login.username(), login.password(), login.db()), (Some("shop"), Some("s@cret"), 3));
        let error = Named::read("rediss://:secret@host/#insecure").err().expect("refused").to_string();
        assert!(error.contains("`#insecure`") && !error.contains("secret@"), "{error}");
        let address = ConnectionAddr::TcpTls { host: "host".into(), port: 1, insecure: true, tls_params: None };
        let info = info("redis://host").expect("a good URL").set_addr(address);
        assert_eq!(Named::of(&info).expect("the user's own word").trusts, Trusts::Anybody);
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_names_its_feature() {
        let error = Named::read("rediss://:secret@host/").err().expect("refused").to_string();
        assert!(error.contains("feature `tls`"), "{error}");
    }

    #[test]
    fn other_urls_are_refused_without_their_password() {
        for (url, says) in [
            ("http://:secret@host/", "scheme `http`"),
            ("host:secret", "no scheme"),
            ("se cret://host", "no scheme"),
            ("secret", "no scheme"),
            ("redis://:secret@host:port/", "cannot be read"),
            ("redis://:secret@host/first", "cannot be read"),
        ] {
            let error = Named::read(url).err().expect(url).to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
