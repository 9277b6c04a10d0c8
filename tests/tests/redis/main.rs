//! Guarded calls on a real Redis: workers that die, stand still or meet each other, and a server in trouble.

mod keeper;
mod outage;
mod processes;
mod worker;

use std::time::{Duration, Instant};

/// Polls until `done`, for ten seconds at the most.
async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !done().await {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
