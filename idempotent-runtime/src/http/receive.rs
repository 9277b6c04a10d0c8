//! Reading a request's body to its end, before anything is claimed.

use std::error::Error as StdError;
use std::pin::pin;

use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError};

use super::body::BoxError;
use super::budget::{Budget, Held};
use super::gathered::Gathered;
use super::problem::Problem;

/// A body in memory.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Bytes,
    pub(super) held: Held,
}

/// Reads `body` to its end: at most `limit` bytes, and no more than there is room for. A client that goes away meanwhile
/// has had nothing claimed. Trailers are left out.
pub(super) async fn receive<B>(body: B, limit: usize, budget: &Budget) -> Result<Received, Problem>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    // Room is taken for what has come, not for what is announced: a client that sends nothing takes nothing.
    let mut held = budget.request();
    let mut body = pin!(body);
    let mut bytes = Gathered::default();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(why)?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(Problem::BodyTooLarge);
        }
        if !held.grow(data.len()) {
            return Err(Problem::Overloaded);
        }
        bytes.push(data);
    }
    Ok(Received { bytes: bytes.into_bytes(), held })
}

/// A limit of a layer further out is a body that is too large; everything else is a client that has gone away or does
/// not speak HTTP.
fn why(error: impl Into<BoxError>) -> Problem {
    let error: BoxError = error.into();
    let mut cause: Option<&(dyn StdError + 'static)> = Some(&*error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Problem::BodyTooLarge;
        }
        cause = error.source();
    }
    Problem::BodyUnreadable
}
