//! The task of one connection: it drives the client, and gives the connection up when the server stays silent.
//!
//! A timer per command would cost more than the command. So there is one per connection, which runs only while an
//! answer is owed, in quarters of the time-out: four quarters without anything read, and the connection is dead. All
//! callers learn it at once, and the next one connects anew.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::connection::Connections;
use super::stream::Pulse;

const TICKS: u32 = 4;

/// Drives a connection until it ends, then takes it off the table.
pub(super) struct Driver {
    client: Pin<Box<dyn Future<Output = ()> + Send>>,
    tick: Duration,
    timer: Pin<Box<Sleep>>,
    /// Reads seen, and ticks gone by since without another; `None` while nothing is owed.
    silence: Option<(u64, u32)>,
    entry: Entry,
}

/// The connection's place in the table. However the driver ends, also with its runtime, the connection is forgotten.
struct Entry {
    table: Weak<Connections>,
    pulse: Arc<Pulse>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.pulse.end();
        if let Some(table) = self.table.upgrade() {
            table.forget(&self.pulse);
        }
    }
}

impl Driver {
    pub(super) fn new(
        client: impl Future<Output = ()> + Send + 'static,
        response_timeout: Duration,
        table: Weak<Connections>,
        pulse: Arc<Pulse>,
    ) -> Self {
        let tick = response_timeout / TICKS;
        Self {
            client: Box::pin(client),
            tick,
            timer: Box::pin(tokio::time::sleep(tick)),
            silence: None,
            entry: Entry { table, pulse },
        }
    }

    fn start_timer(&mut self) {
        self.timer.as_mut().reset(Instant::now() + self.tick);
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        // First of all: after a pause of the whole runtime the answers are here, although the time is up.
        if this.client.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        loop {
            let reads = this.entry.pulse.reads();
            let Some((seen, ticks)) = this.silence else {
                if !this.entry.pulse.owed() {
                    return Poll::Pending;
                }
                this.silence = Some((reads, 0));
                this.start_timer();
                continue;
            };
            if this.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if !this.entry.pulse.owed() {
                this.silence = None;
                return Poll::Pending;
            }
            let ticks = if reads == seen { ticks + 1 } else { 0 };
            if ticks == TICKS {
                this.entry.pulse.stall();
                return Poll::Ready(());
            }
            this.silence = Some((reads, ticks));
            this.start_timer();
        }
    }
}
