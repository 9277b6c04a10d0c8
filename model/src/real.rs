//! A real store, spoken to in the model's words.

use std::num::NonZeroU32;
use std::time::Duration;

use idempotent_runtime::store::{
    Acquired, Answer as Word, ClaimAnswer, ClaimRequest, CompleteAnswer, Found as RealFound, OnLapse, Release,
    Retention, Store,
};
use idempotent_runtime::{CodecTag, Completed, Encoded, Fingerprint, Key, Recorded, StoreError, Token};

use crate::operation::{Answer, Operation, Reason, Request, Superseded};
use crate::reach::Time;
use crate::record::{Found, Record, Who};

/// One key of a real store.
#[derive(Clone, Copy, Debug)]
pub struct Real<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// The key.
    pub key: &'a Key,
    /// The lease of every claim; other times are multiples of it.
    pub lease: Duration,
    /// The fingerprint of each call's arguments.
    pub fingerprints: [u8; 4],
}

impl Real<'_> {
    /// Asks the store, and puts what it answers in the model's words. Fences and what is left of a lease are not part of
    /// the model.
    pub async fn ask(&self, who: Who, operation: Operation) -> Result<Answer, StoreError> {
        let (store, key, token) = (self.store, self.key, token(who));
        Ok(match operation {
            Operation::Claim(request) => self.claim(who, request).await?,
            Operation::Begin => word(store.begin(key, token).await?),
            Operation::Renew => word(store.renew(key, token).await?),
            Operation::Complete => {
                match store.complete(key, token, &recorded(who), Retention::For(self.ttl())).await? {
                    CompleteAnswer::Held => Answer::Held,
                    CompleteAnswer::Lost(record) => Answer::Lost(record.as_ref().map(superseded)),
                    CompleteAnswer::Absent => Answer::Absent,
                }
            }
            Operation::Release(Reason::Failed) => {
                word(store.release(key, token, Release::Failed("failed"), self.lease).await?)
            }
            Operation::Release(Reason::GivenUp) => word(store.release(key, token, Release::GivenUp, self.lease).await?),
            Operation::PutBack { superseded } => {
                let record = superseded.map(|record| self.completed(record));
                let superseded = record.as_ref().map(|record| (record, Retention::For(self.ttl())));
                word(store.put_back(key, token, self.lease, superseded).await?)
            }
            Operation::WriteClaim(_) => unreachable!("no real store offers it"),
        })
    }

    async fn claim(&self, who: Who, request: Request) -> Result<Answer, StoreError> {
        let owner = owner(who);
        let request = ClaimRequest {
            token: token(who),
            owner: &owner,
            fingerprint: Some(self.fingerprint(who)),
            lease: self.lease,
            retention: Retention::For(self.retention()),
            held: Retention::For(self.retention()),
            on_lapse: if request.hold { OnLapse::Hold } else { OnLapse::TakeOver },
            max_attempts: request.max_attempts.and_then(|most| NonZeroU32::new(most.into())),
            supersede: request.supersede.map(token),
            begun: request.begun,
            fenced: false,
        };
        Ok(match self.store.claim(self.key, &request).await? {
            ClaimAnswer::Acquired(Acquired { attempt, found, .. }) => {
                Answer::Acquired { attempt: small(attempt), found: in_words(found), leased: true }
            }
            ClaimAnswer::InProgress { attempt, owner, .. } => {
                Answer::InProgress { attempt: small(attempt), owner: owner_of(&owner) }
            }
            ClaimAnswer::Completed(record) => Answer::Completed(superseded(&record)),
            ClaimAnswer::Mismatch => Answer::Mismatch,
            ClaimAnswer::Exhausted { attempt } => Answer::Exhausted { attempt: small(attempt) },
            ClaimAnswer::Abandoned { attempt, owner } => {
                Answer::Abandoned { attempt: small(attempt), owner: owner_of(&owner) }
            }
            ClaimAnswer::Lost => Answer::Lost(None),
            ClaimAnswer::Unreadable(cause) => return Err(StoreError::refused(cause.to_string())),
        })
    }

    /// Lets time pass, by tokio's clock: a paused one where the store follows it, else the real one. How much was asked
    /// for.
    pub async fn pass(&self, record: Record, time: Time) -> Duration {
        let lease = self.lease;
        let time = match (time, record) {
            (Time::Half, Record::Completed { .. }) => self.ttl() * 6 / 10,
            (Time::Half, _) => lease * 6 / 10,
            (Time::Lapse, _) => lease * 11 / 10,
            (Time::Expire, Record::Completed { .. }) => self.ttl() * 11 / 10,
            (Time::Expire, Record::Failed { brief: true, .. }) | (Time::TwoLeases, _) => lease * 23 / 10,
            (Time::Expire, _) => self.retention() * 11 / 10,
        };
        tokio::time::sleep(time).await;
        time
    }

    fn ttl(&self) -> Duration {
        self.lease * 2
    }

    fn retention(&self) -> Duration {
        self.lease * 4
    }

    fn fingerprint(&self, who: Who) -> Fingerprint {
        Fingerprint::from_u128(self.fingerprints[usize::from(who)].into())
    }

    fn completed(&self, record: Superseded) -> Completed {
        Completed {
            token: token(record.token),
            attempt: record.attempt.into(),
            fingerprint: Some(self.fingerprint(record.token)),
            result: recorded(record.value),
        }
    }
}

fn token(who: Who) -> Token {
    Token::from_u128(u128::from(who) + 1)
}

fn owner(who: Who) -> String {
    format!("call-{who}")
}

fn owner_of(owner: &str) -> Who {
    owner.strip_prefix("call-").and_then(|who| who.parse().ok()).unwrap_or(Who::MAX)
}

fn recorded(value: Who) -> Recorded {
    Recorded::Value(Encoded { codec: CodecTag::JSON, bytes: value.to_string().into_bytes().into() })
}

fn superseded(record: &Completed) -> Superseded {
    let is = |who: &Who| token(*who) == record.token;
    let says = |who: &Who| recorded(*who) == record.result;
    Superseded {
        token: (0..4).find(is).unwrap_or(Who::MAX),
        value: (0..4).find(says).unwrap_or(Who::MAX),
        attempt: small(record.attempt),
    }
}

fn word(answer: Word) -> Answer {
    match answer {
        Word::Held => Answer::Held,
        Word::Lost => Answer::Lost(None),
    }
}

fn in_words(found: RealFound) -> Found {
    match found {
        RealFound::Absent => Found::Absent,
        RealFound::Failed => Found::Failed,
        RealFound::Lapsed { begun } => Found::Lapsed { begun },
        RealFound::Completed => Found::Completed,
    }
}

fn small(attempt: u32) -> u8 {
    u8::try_from(attempt).unwrap_or(u8::MAX)
}
