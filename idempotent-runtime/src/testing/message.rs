//! One message to the store, owned, so that it can arrive after its sender has gone.

use std::num::NonZeroU32;
use std::time::Duration;

use super::history::Answered;
use crate::fingerprint::Fingerprint;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{ClaimRequest, OnLapse, Release, Retention, Store, StoreError};
use crate::token::Token;

/// An operation of a [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`Store::claim`].
    Claim,
    /// [`Store::begin`].
    Begin,
    /// [`Store::renew`].
    Renew,
    /// [`Store::complete`].
    Complete,
    /// [`Store::release`].
    Release,
    /// [`Store::put_back`].
    PutBack,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Claim, Self::Begin, Self::Renew, Self::Complete, Self::Release, Self::PutBack];
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) key: Key,
    pub(super) token: Token,
    pub(super) asks: Asks,
}

#[derive(Clone, Debug)]
pub(super) enum Asks {
    Claim(OwnedRequest),
    Begin,
    Renew,
    Complete {
        result: Recorded,
        retention: Retention,
    },
    /// With the error, if the run failed; given up otherwise.
    Release {
        error: Option<String>,
        lease: Duration,
    },
    PutBack {
        lease: Duration,
        superseded: Option<(Completed, Retention)>,
    },
}

/// A [`ClaimRequest`], owned.
#[derive(Clone, Debug)]
pub(super) struct OwnedRequest {
    owner: String,
    fingerprint: Option<Fingerprint>,
    lease: Duration,
    retention: Retention,
    held: Retention,
    on_lapse: OnLapse,
    max_attempts: Option<NonZeroU32>,
    supersede: Option<Token>,
    begun: bool,
    fenced: bool,
}

impl From<&ClaimRequest<'_>> for OwnedRequest {
    fn from(request: &ClaimRequest<'_>) -> Self {
        Self {
            owner: request.owner.to_owned(),
            fingerprint: request.fingerprint,
            lease: request.lease,
            retention: request.retention,
            held: request.held,
            on_lapse: request.on_lapse,
            max_attempts: request.max_attempts,
            supersede: request.supersede,
            begun: request.begun,
            fenced: request.fenced,
        }
    }
}

impl OwnedRequest {
    fn with(&self, token: Token) -> ClaimRequest<'_> {
        ClaimRequest {
            token,
            owner: &self.owner,
            fingerprint: self.fingerprint,
            lease: self.lease,
            retention: self.retention,
            held: self.held,
            on_lapse: self.on_lapse,
            max_attempts: self.max_attempts,
            supersede: self.supersede,
            begun: self.begun,
            fenced: self.fenced,
        }
    }
}

impl Message {
    pub(super) fn new(key: &Key, token: Token, asks: Asks) -> Self {
        Self { key: key.clone(), token, asks }
    }

    pub(super) fn operation(&self) -> Operation {
        match self.asks {
            Asks::Claim(_) => Operation::Claim,
            Asks::Begin => Operation::Begin,
            Asks::Renew => Operation::Renew,
            Asks::Complete { .. } => Operation::Complete,
            Asks::Release { .. } => Operation::Release,
            Asks::PutBack { .. } => Operation::PutBack,
        }
    }

    pub(super) async fn apply(&self, store: &dyn Store) -> Result<Answered, StoreError> {
        let Self { key, token, asks } = self;
        let token = *token;
        Ok(match asks {
            Asks::Claim(request) => Answered::Claim(store.claim(key, &request.with(token)).await?),
            Asks::Begin => Answered::Plain(store.begin(key, token).await?),
            Asks::Renew => Answered::Plain(store.renew(key, token).await?),
            Asks::Complete { result, retention } => {
                Answered::Complete(store.complete(key, token, result, *retention).await?)
            }
            Asks::Release { error, lease } => {
                let release = error.as_deref().map_or(Release::GivenUp, Release::Failed);
                Answered::Plain(store.release(key, token, release, *lease).await?)
            }
            Asks::PutBack { lease, superseded } => {
                let superseded = superseded.as_ref().map(|(record, retention)| (record, *retention));
                Answered::Plain(store.put_back(key, token, *lease, superseded).await?)
            }
        })
    }
}
