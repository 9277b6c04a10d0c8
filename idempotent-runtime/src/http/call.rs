//! One guarded request: from the service's response to what is recorded, and from a record to a response.

use std::sync::Arc;
use std::time::Duration;

use ::http::Response;
use erased_serde::Serialize;
use serde::Deserialize as _;

use super::body::Body;
use super::stored::{Recording, StoredResponse};
use crate::error::Error;
use crate::guard::Guard;
use crate::read::Reader;
use crate::reply::{ErrorOps, Plain, ValueOps, in_part};
use crate::run::Wired;

/// What a run of the service, or a record, comes to.
pub(super) type Reply<B, E> = Result<Served<B>, Unserved<B, E>>;

/// A request that is done: its record is completed.
pub(super) struct Served<B> {
    pub(super) response: Response<Body<B>>,
    pub(super) origin: Origin,
}

/// Where the response of a request comes from.
pub(super) enum Origin {
    /// From the service. What is recorded of it, and for how long where it says so itself.
    Service(Option<Recording>, Option<Duration>),
    /// From the record.
    Record,
}

/// A request that is not done.
pub(super) enum Unserved<B, E> {
    /// The service has answered so that nothing is stored.
    Response(Box<Response<Body<B>>>, Claim),
    /// The service has failed.
    Service(E, Claim),
    /// The guard has refused, or cannot answer.
    NotRun(Error),
}

/// What becomes of the claim of a request that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Released,
    Held,
}

impl<B, E> From<Error> for Unserved<B, E> {
    fn from(error: Error) -> Self {
        Self::NotRun(error)
    }
}

/// A call of the guard whose result is a response.
pub(super) fn guarded<B, E>(guard: Result<Guard, Error>) -> Wired<Reply<B, E>> {
    let values: ValueOps<Reply<B, E>> = in_part(recorded, replay);
    let plain = Plain { tag: StoredResponse::TAG, write, read };
    Wired::new(
        guard.map(Box::new),
        values.with_ttl(ttl).with_plain(plain),
        ErrorOps::held(|error| Err(error.into()), text, is_held),
    )
}

fn recorded<B, E>(reply: &Reply<B, E>) -> Option<&dyn Serialize> {
    match reply {
        Ok(Served { origin: Origin::Service(Some(Recording::Value(stored)), _), .. }) => Some(stored),
        _ => None,
    }
}

fn write<B, E>(reply: &Reply<B, E>) -> Option<Arc<[u8]>> {
    match reply {
        Ok(Served { origin: Origin::Service(Some(Recording::Bytes(bytes)), _), .. }) => Some(Arc::clone(bytes)),
        _ => None,
    }
}

fn read<B, E>(bytes: &Arc<[u8]>) -> Result<Reply<B, E>, Box<dyn std::error::Error + Send + Sync>> {
    let stored = StoredResponse::from_bytes(bytes)?;
    Ok(Ok(Served { response: stored.into_response(), origin: Origin::Record }))
}

fn replay<B, E>(from: Reader<'_, '_>) -> Result<Reply<B, E>, erased_serde::Error> {
    let stored = StoredResponse::deserialize(from)?;
    Ok(Ok(Served { response: stored.into_response(), origin: Origin::Record }))
}

fn ttl<B, E>(reply: &Reply<B, E>) -> Option<Duration> {
    match reply {
        Ok(Served { origin: Origin::Service(_, ttl), .. }) => *ttl,
        _ => None,
    }
}

/// What people see in the record of a request that is not done.
fn text<B, E>(reply: &Reply<B, E>) -> String {
    match reply {
        Err(Unserved::Response(response, _)) => format!("answered {}", response.status()),
        _ => "the service failed".into(),
    }
}

fn is_held<B, E>(reply: &Reply<B, E>) -> bool {
    matches!(reply, Err(Unserved::Response(_, Claim::Held) | Unserved::Service(_, Claim::Held)))
}
