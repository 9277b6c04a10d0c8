//! A client as people use it: `reqwest`, with a pool of connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use reqwest::Client;
use tokio::task::JoinSet;

use super::server::{BODY, Order};

/// So many requests at a time, and the keys of their requests.
pub(super) struct User {
    client: Client,
    address: String,
    body: Arc<str>,
    at_once: usize,
    next_key: Arc<AtomicU64>,
    /// After so many the first key comes again.
    among: u64,
}

impl User {
    pub(super) fn of(server: &SocketAddr, at_once: usize, among: u64) -> anyhow::Result<Self> {
        let body = serde_json::to_string(&Order::of_one_body()?)?.into();
        let client = Client::builder().pool_max_idle_per_host(at_once).build()?;
        let address = format!("http://{server}/payments");
        Ok(Self { client, address, body, at_once, next_key: Arc::default(), among })
    }

    /// Makes so many requests; how long it took.
    pub(super) async fn requests(&mut self, requests: u64) -> anyhow::Result<Duration> {
        let left = Arc::new(AtomicU64::new(requests));
        let mut tasks = JoinSet::new();
        let started = Instant::now();
        for _ in 0..self.at_once {
            let (client, address, body) = (self.client.clone(), self.address.clone(), Arc::clone(&self.body));
            let (left, keys, among) = (Arc::clone(&left), Arc::clone(&self.next_key), self.among);
            tasks.spawn(async move {
                while left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    let key = keys.fetch_add(1, Ordering::Relaxed) % among;
                    let request = client.post(&address).header("authorization", "Bearer ada");
                    let request = request.header("content-type", "application/json");
                    let request = request.header("idempotency-key", format!("\"{key:016}\"")).body(body.to_string());
                    let response = request.send().await?;
                    ensure!(response.status() == 201, "answered {}", response.status());
                    ensure!(response.bytes().await?.len() == BODY, "answered another body");
                }
                Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(started.elapsed())
    }
}
