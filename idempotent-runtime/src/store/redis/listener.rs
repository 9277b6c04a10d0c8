//! The task that listens for the ends of runs at one server, for all who wait there.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::{Cmd, PushKind, Value};
use tokio::time::timeout;

use super::channel::Spread;
use super::connection::Connections;
use super::driver::Owner;
use super::error::{Failure, NoAnswer};
use super::handshake;
use super::waking::Wanted;
use super::wire::Wire;
use crate::store::StoreError;

/// How long the connection is kept when nobody waits any more.
const LINGER: Duration = Duration::from_secs(5);

/// The task. However it ends, also with its runtime, whoever still waits is woken.
pub(super) struct Listening {
    pub(super) at: Arc<Connections>,
    /// Which one it is.
    pub(super) task: u64,
}

impl Listening {
    pub(super) async fn until_nobody_waits(self, spread: Spread) {
        if let Err(error) = self.listen(spread).await {
            self.at.waking.fail(&self.at.place, &error);
        }
    }

    /// Subscribes and unsubscribes, until nobody waits or the connection is lost.
    async fn listen(&self, spread: Spread) -> Result<(), StoreError> {
        let (waking, within) = (&self.at.waking, self.at.how.timeouts.connect);
        let heard = Heard { at: Arc::downgrade(&self.at), task: self.task };
        let connection = timeout(within, handshake::listen(&self.at, heard)).await;
        let connection = connection.unwrap_or_else(|_| Err(StoreError::unavailable(NoAnswer { within })))?;
        let wire = &connection.0;
        let mut subscribed = HashSet::new();
        loop {
            let Some(touched) = waking.touched() else { return Ok(()) };
            let mut asked = Vec::new();
            for wanted in touched {
                match wanted {
                    Wanted::Yes(channel) if subscribed.insert(Arc::clone(&channel)) => {
                        asked.push((wire.send(&command(spread.subscribe(), &channel)), channel));
                    }
                    Wanted::Yes(channel) => waking.subscribed(&channel),
                    Wanted::No(channel) if subscribed.remove(&channel) => {
                        wire.tell(&command(spread.unsubscribe(), &channel));
                    }
                    Wanted::No(_) => {}
                }
            }
            for (answer, channel) in asked {
                answer.await.map_err(refused)?;
                waking.subscribed(&channel);
            }
            if waking.is_watched() {
                waking.changed().await;
            } else if timeout(LINGER, waking.changed()).await.is_err() && waking.end_idle() {
                return Ok(());
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.at.waking.end(self.task);
    }
}

fn command(name: &str, channel: &str) -> Cmd {
    let mut command = Cmd::new();
    command.arg(name).arg(channel);
    command
}

fn refused(failure: Failure) -> StoreError {
    match failure {
        // Those who look at the record learn where it is now.
        Failure::Moved(_) | Failure::Ask(_) => StoreError::unavailable("the key's slot has moved"),
        failure => failure.into_error(),
    }
}

/// What the server says on the task's connection.
struct Heard {
    at: Weak<Connections>,
    task: u64,
}

impl Owner for Heard {
    fn heard(&self, kind: &PushKind, data: &[Value]) {
        let Some(at) = self.at.upgrade() else { return };
        let Some(Value::BulkString(channel)) = data.first() else { return };
        let Ok(channel) = std::str::from_utf8(channel) else { return };
        match kind {
            PushKind::Message | PushKind::SMessage => at.waking.ended(channel),
            PushKind::Unsubscribe | PushKind::SUnsubscribe => at.waking.unsubscribed(channel),
            _ => {}
        }
    }

    fn ended(&self, _: &Arc<Wire>) {
        if let Some(at) = self.at.upgrade() {
            at.waking.lose_task(self.task);
        }
    }
}
