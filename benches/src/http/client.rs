//! A client that costs next to nothing: requests that are written already but for their key, and answers of which only
//! the length is read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::server::{BODY, Order};

/// Connections that stay open, and the keys of their requests.
pub(super) struct Client {
    connections: Vec<Connection>,
    next_key: Arc<AtomicU64>,
    /// After so many the first key comes again.
    among: u64,
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// Where in the request the key stands.
    key: usize,
    answer: Vec<u8>,
}

const DIGITS: usize = 16;

impl Client {
    pub(super) async fn connect(server: &SocketAddr, connections: usize, among: u64) -> anyhow::Result<Self> {
        let mut all = Vec::with_capacity(connections);
        for _ in 0..connections {
            all.push(Connection::open(server).await?);
        }
        Ok(Self { connections: all, next_key: Arc::default(), among })
    }

    /// Makes so many requests, one at a time on each connection; how long it took.
    pub(super) async fn requests(&mut self, requests: u64) -> anyhow::Result<Duration> {
        let left = Arc::new(AtomicU64::new(requests));
        let mut tasks = JoinSet::new();
        let started = Instant::now();
        for mut connection in self.connections.drain(..) {
            let (left, keys, among) = (Arc::clone(&left), Arc::clone(&self.next_key), self.among);
            tasks.spawn(async move {
                while left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    connection.request(keys.fetch_add(1, Ordering::Relaxed) % among).await?;
                }
                anyhow::Ok(connection)
            });
        }
        while let Some(ended) = tasks.join_next().await {
            self.connections.push(ended??);
        }
        Ok(started.elapsed())
    }
}

impl Connection {
    async fn open(server: &SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let head = "POST /payments HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer ada\r\n\
                    Content-Type: application/json\r\nIdempotency-Key: \"";
        let rest = format!("\"\r\nContent-Length: {BODY}\r\n\r\n");
        let text = serde_json::to_string(&Order::of_one_body()?)?;
        let request = [head, &"0".repeat(DIGITS), &rest, &text].concat().into_bytes();
        Ok(Self { stream, request, key: head.len(), answer: Vec::with_capacity(4096) })
    }

    async fn request(&mut self, key: u64) -> anyhow::Result<()> {
        let text = format!("{key:0DIGITS$}");
        self.request[self.key..self.key + DIGITS].copy_from_slice(text.as_bytes());
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the server has closed the connection");
            if self.answer.len() <= BODY {
                continue;
            }
            let head = self.answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").context("a head too long")?;
            if self.answer.len() == head + 4 + BODY {
                break;
            }
        }
        ensure!(self.answer.starts_with(b"HTTP/1.1 201"), "answered {}", self.answer.escape_ascii());
        Ok(())
    }
}
