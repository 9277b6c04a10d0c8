//! As much of the Redis protocol as it takes to give a server a command.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::Error;

/// For a connection, and for each answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What a server answered; a refusal is an [`Error::Refused`] instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// A value, or a status such as `OK`.
    Bytes(Vec<u8>),
    /// A number.
    Integer(i64),
    /// No value.
    Nil,
    /// A list of answers.
    List(Vec<Reply>),
}

impl Reply {
    /// The text of a value or a status; nothing for other answers and for what is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// A number, whether it was sent as one or as text.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            other => other.text()?.parse().ok(),
        }
    }

    /// The answers in a list; empty for other answers.
    pub fn list(&self) -> &[Reply] {
        match self {
            Self::List(replies) => replies,
            _ => &[],
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Nil => f.write_str("(nil)"),
            Self::List(replies) => f.debug_list().entries(replies).finish(),
        }
    }
}

/// A connection to a server.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(port: u16, password: Option<&str>) -> Result<Self, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)
            .and_then(|stream| {
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                stream.set_nodelay(true)?;
                Ok(stream)
            })
            .map_err(Error::while_doing("connect to a Redis server"))?;
        let mut connection = Self(BufReader::new(stream));
        if let Some(password) = password {
            connection.call(&["AUTH", password])?;
        }
        Ok(connection)
    }

    pub(crate) fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Reply, Error> {
        self.0
            .get_mut()
            .write_all(&encode(arguments))
            .map_err(Error::while_doing("send a command to a Redis server"))?;
        self.reply().map_err(Error::while_doing("read the answer of a Redis server"))?.map_err(Error::Refused)
    }

    /// An answer, or the server's refusal.
    fn reply(&mut self) -> io::Result<Result<Reply, String>> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| not_redis(&line))?;
        Ok(Ok(match kind {
            "-" => return Ok(Err(rest.to_owned())),
            "+" => Reply::Bytes(rest.as_bytes().to_vec()),
            ":" => Reply::Integer(rest.parse().map_err(|_| not_redis(&line))?),
            "$" => match length(rest)? {
                None => Reply::Nil,
                Some(length) => Reply::Bytes(self.bytes(length)?),
            },
            "*" => match length(rest)? {
                None => Reply::Nil,
                Some(length) => {
                    let mut replies = Vec::new();
                    for _ in 0..length {
                        match self.reply()? {
                            Ok(reply) => replies.push(reply),
                            refused => return Ok(refused),
                        }
                    }
                    Reply::List(replies)
                }
            },
            _ => return Err(not_redis(&line)),
        }))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| not_redis(&line))
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

fn encode<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut command = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments.iter().map(AsRef::as_ref) {
        command.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        command.extend_from_slice(argument);
        command.extend_from_slice(b"\r\n");
    }
    command
}

fn length(text: &str) -> io::Result<Option<usize>> {
    if text == "-1" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| not_redis(text))
}

fn not_redis(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected answer {line:?}"))
}
