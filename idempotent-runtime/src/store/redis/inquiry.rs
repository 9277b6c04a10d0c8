//! A question to whichever of several servers answers first.
//!
//! Sentinels and the nodes of a Cluster all know where the others are, and any of them may be dead or silent. So all are
//! asked at once, each on a connection of its own that is closed afterwards: it happens once for each change.

use std::sync::{Arc, Weak};

use redis::{Cmd, Value};
use tokio::task::JoinSet;

use super::address::{Address, How};
use super::error::{Failure, NoAnswer};
use super::handshake;
use crate::store::{StoreError, StoreErrorKind};

/// Asks all of `servers`; the first answer that `read` understands counts.
///
/// # Errors
///
/// The last refusal, or else the last trouble.
pub(super) async fn first<T>(
    servers: &[Address],
    how: &Arc<How>,
    question: &Cmd,
    read: impl Fn(&Address, &Value) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut asked = JoinSet::new();
    for server in servers {
        let (server, how, question) = (server.clone(), Arc::clone(how), question.clone());
        asked.spawn(async move {
            let within = how.timeouts.connect;
            let answer = tokio::time::timeout(within, ask(&server, &how, &question)).await;
            (server, answer.unwrap_or_else(|_| Err(StoreError::unavailable(NoAnswer { within }))))
        });
    }
    let mut failed = StoreError::unavailable("no server is known that could be asked");
    while let Some(asked) = asked.join_next().await {
        let Ok((server, answer)) = asked else { continue };
        match answer.and_then(|answer| read(&server, &answer)) {
            Ok(understood) => return Ok(understood),
            // A refusal says more than a server that is gone.
            Err(error) if failed.kind() == StoreErrorKind::Unavailable => failed = error,
            Err(_) => {}
        }
    }
    Err(failed)
}

async fn ask(server: &Address, how: &How, question: &Cmd) -> Result<Value, StoreError> {
    let connection = server.open(how, Weak::new()).await?;
    handshake::login(&connection.0, &how.login).await?;
    connection.0.send(question).await.map_err(Failure::into_error)
}
