//! The store in front: what it is asked, and what it is believed.
//!
//! It is believed that a call has completed, for only what the truth has confirmed is completed here; and that a run is in
//! progress, where its claim is *confirmed*: begun here, which it is once the truth has given it the claim. A claim that
//! is not confirmed may be one on its way to the truth, one that was refused there, or of a process that is gone. For all
//! else, and whenever the front gives no answer, the truth is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::copy;
use super::debts::{Debts, Owed};
use super::health::Health;
use crate::admin::{Admin, Inspected, State};
use crate::guard::backoff::jittered;
use crate::key::Key;
use crate::patience;
use crate::record::{Completed, Recorded};
use crate::store::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, OnLapse, Release, Retention, Store, StoreError,
    StoreErrorKind, Watch,
};
use crate::token::Token;

/// How long a claim that is not confirmed is given to become so, when it is as young as that: its call is on its way to
/// the truth, and a crowd of duplicates should not follow it there.
const YOUNG: Duration = Duration::from_millis(100);

/// The pauses between looks at such a claim, in milliseconds.
const PAUSES: [u64; 5] = [2, 4, 8, 16, 30];

pub(super) struct Front {
    store: Arc<dyn Store>,
    ttl: Duration,
    timeout: Duration,
    health: Health,
    debts: Debts,
}

/// What the front says to a claim.
pub(super) enum Word {
    /// What the call is to be told.
    Answer(ClaimAnswer),
    /// The call has the claim here, as this attempt.
    Ours { attempt: u32 },
    /// Nothing that is believed.
    Nothing,
    /// The same, and something stands there that would be told to others.
    Stale,
}

/// What an operation on the front came to.
enum Told<T> {
    Answer(T),
    /// It may have been carried out, or may still be.
    Unknown,
    /// It was not sent.
    Unasked,
}

/// What is made of the front's answer to a claim.
enum Heard {
    Word(Word),
    /// Another's claim is live.
    Busy,
    /// What stands there, under this token, is for the record that the call replaces.
    Replaced(Token),
    Unknown,
}

impl Front {
    pub(super) fn new(store: Arc<dyn Store>, ttl: Duration, timeout: Duration) -> Self {
        Self { store, ttl, timeout, health: Health::default(), debts: Debts::default() }
    }

    pub(super) fn home(&self) -> Home {
        self.store.home()
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn admin(&self) -> Option<&dyn Admin> {
        self.store.admin()
    }

    pub(super) fn debts(&self) -> &Debts {
        &self.debts
    }

    pub(super) fn is_left_alone(&self) -> bool {
        self.health.is_left_alone()
    }

    pub(super) fn watch(&self, key: &Key) -> Watch {
        if self.health.is_away() { Watch::never() } else { self.store.watch(key) }
    }

    /// Claims here. A record that is found is the truth's, and is compared as the truth would compare it.
    ///
    /// What few calls do is boxed: with hundreds in flight, a duplicate pays for the size of this future.
    pub(super) async fn claim(self: &Arc<Self>, key: &Key, request: &ClaimRequest<'_>) -> Word {
        if self.debts.has(key) {
            return Word::Nothing;
        }
        let heard = {
            let asked = self.request(request);
            heard(self.ask(self.store.claim(key, &asked)).await, request)
        };
        // Taken apart before anything else is awaited, so that it has no room in this future.
        let replaced = match heard {
            Heard::Word(word) => return word,
            Heard::Unknown => return self.unknown(key, request),
            Heard::Busy => None,
            Heard::Replaced(token) => Some(token),
        };
        match replaced {
            None => Box::pin(self.busy(key)).await,
            Some(token) => Box::pin(self.claim_instead(key, request, token)).await,
        }
    }

    /// Claims in place of what stands here for the record that the call replaces.
    async fn claim_instead(self: &Arc<Self>, key: &Key, request: &ClaimRequest<'_>, replaced: Token) -> Word {
        let asked = ClaimRequest { supersede: Some(replaced), ..self.request(request) };
        match heard(self.ask(self.store.claim(key, &asked)).await, request) {
            Heard::Word(word) => word,
            Heard::Busy => self.busy(key).await,
            Heard::Replaced(_) => Word::Stale,
            Heard::Unknown => self.unknown(key, request),
        }
    }

    /// The claim may stand here, or may still come to.
    fn unknown(self: &Arc<Self>, key: &Key, request: &ClaimRequest<'_>) -> Word {
        self.owe(key, Owed::PutBack(request.token, self.request(request).lease));
        Word::Nothing
    }

    /// The same claim for the front: nothing that it does not decide, and for no longer than it keeps anything.
    fn request<'a>(&self, request: &ClaimRequest<'a>) -> ClaimRequest<'a> {
        let lease = request.lease.min(self.ttl);
        let ttl = self.ttl.max(lease.saturating_mul(2));
        let kept = match request.retention {
            Retention::For(time) => Retention::For(time.min(ttl)),
            Retention::Forever => Retention::For(ttl),
        };
        ClaimRequest {
            lease,
            retention: kept,
            held: kept,
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            begun: false,
            fenced: false,
            ..*request
        }
    }

    /// Another's claim is live here.
    async fn busy(&self, key: &Key) -> Word {
        let Some(admin) = self.store.admin() else { return Word::Nothing };
        let mut pauses = PAUSES.iter();
        loop {
            let Told::Answer(Some(seen)) = self.ask(admin.inspect(key)).await else { return Word::Nothing };
            let Inspected { attempt, owner, state, .. } = seen;
            let State::InProgress { remaining, lease, begun, given_up: false, .. } = state else {
                return Word::Nothing;
            };
            let age = lease.saturating_sub(remaining);
            if remaining.is_zero() {
                return Word::Nothing;
            }
            if begun {
                let busy = ClaimAnswer::InProgress { remaining, attempt, owner };
                return if self.health.is_newer_than_failures(age) { Word::Answer(busy) } else { Word::Nothing };
            }
            match pauses.next() {
                // In the process there is nothing to spare: the truth is as near.
                Some(pause) if age < YOUNG && self.home() == Home::Thread => {
                    sleep(jittered(Duration::from_millis(*pause))).await;
                }
                _ => return Word::Nothing,
            }
        }
    }

    /// The truth has given this claim: duplicates may be told so.
    pub(super) async fn confirm(&self, key: &Key, token: Token) {
        if !self.debts.has(key) {
            self.ask(self.store.begin(key, token)).await;
        }
    }

    pub(super) async fn renew(&self, key: &Key, token: Token) {
        if !self.debts.has(key) {
            self.ask(self.store.renew(key, token)).await;
        }
    }

    pub(super) async fn complete(
        self: &Arc<Self>,
        key: &Key,
        token: Token,
        result: &Recorded,
        kept: Duration,
        lease: Duration,
    ) {
        if self.debts.has(key) {
            return;
        }
        match self.ask(self.store.complete(key, token, result, Retention::For(kept))).await {
            Told::Answer(CompleteAnswer::Held | CompleteAnswer::Lost(_)) => {}
            // Lost here: whoever waits is to be woken all the same.
            Told::Answer(CompleteAnswer::Absent) => self.put_back(key, token, lease).await,
            Told::Unknown | Told::Unasked => self.owe(key, Owed::PutBack(token, lease)),
        }
    }

    /// Completes the claim of `token` with a copy of `record`.
    pub(super) async fn copy(self: &Arc<Self>, key: &Key, token: Token, record: &Completed, kept: Duration) {
        self.complete(key, token, &copy::write(record), kept, self.ttl).await;
    }

    pub(super) async fn release(self: &Arc<Self>, key: &Key, token: Token, release: Release<'_>, lease: Duration) {
        if self.debts.has(key) {
            return;
        }
        let lease = lease.min(self.ttl);
        if !matches!(self.ask(self.store.release(key, token, release, lease)).await, Told::Answer(_)) {
            self.owe(key, Owed::PutBack(token, lease));
        }
    }

    /// Takes a claim out of the front, if it is there; what has completed stays.
    pub(super) async fn put_back(self: &Arc<Self>, key: &Key, token: Token, lease: Duration) {
        let owed = Owed::PutBack(token, lease.min(self.ttl));
        if !self.pay(key, owed).await {
            self.owe(key, owed);
        }
    }

    /// Takes whatever has completed out of the front, and the claim of `token`, so that it completes no more.
    pub(super) async fn forget(self: &Arc<Self>, key: &Key, token: Token) -> Answer {
        if self.pay(key, Owed::Forget(token)).await {
            return Answer::Held;
        }
        self.owe_forgetting(key, token);
        Answer::Lost
    }

    pub(super) fn owe_forgetting(self: &Arc<Self>, key: &Key, token: Token) {
        self.owe(key, Owed::Forget(token));
    }

    fn owe(self: &Arc<Self>, key: &Key, owed: Owed) {
        self.debts.owe(self, key, owed);
    }

    /// Does what is owed; whether that is done.
    pub(super) async fn pay(&self, key: &Key, owed: Owed) -> bool {
        match owed {
            Owed::PutBack(token, lease) => {
                matches!(self.ask(self.store.put_back(key, token, lease, None)).await, Told::Answer(_))
            }
            Owed::Forget(token) => Box::pin(self.try_to_forget(key, token)).await,
        }
    }

    async fn try_to_forget(&self, key: &Key, token: Token) -> bool {
        // A call that is about to complete here completes no more: its token is that of a failure.
        match self.ask(self.store.release(key, token, Release::Failed("taken out of the front"), self.ttl)).await {
            Told::Answer(Answer::Held) => return true,
            Told::Answer(Answer::Lost) => {}
            Told::Unknown | Told::Unasked => return false,
        }
        let nobody = Token::random();
        let mut request = ClaimRequest {
            token: nobody,
            owner: "front",
            fingerprint: None,
            lease: self.ttl,
            retention: Retention::For(self.ttl.saturating_mul(2)),
            held: Retention::For(self.ttl.saturating_mul(2)),
            on_lapse: OnLapse::TakeOver,
            max_attempts: None,
            supersede: None,
            begun: false,
            fenced: false,
        };
        loop {
            match self.ask(self.store.claim(key, &request)).await {
                Told::Answer(ClaimAnswer::Acquired(_)) => {
                    return self.pay(key, Owed::PutBack(nobody, self.ttl)).await;
                }
                Told::Answer(ClaimAnswer::Completed(kept)) if request.supersede != Some(kept.token) => {
                    request.supersede = Some(kept.token);
                }
                // Somebody is at it who asks the truth.
                Told::Answer(_) => return true,
                Told::Unknown | Told::Unasked => return false,
            }
        }
    }

    /// For how long a record may be kept here that the truth keeps for `retention` from some moment after `since`: until
    /// then and no longer, also if this message is carried out late. `None` where that is not worth it.
    pub(super) fn keeps(&self, retention: Retention, since: Instant) -> Option<Duration> {
        let left = match retention {
            Retention::For(time) => time.saturating_sub(since.elapsed()).saturating_sub(self.timeout),
            Retention::Forever => self.ttl,
        };
        let kept = left.min(self.ttl);
        (kept >= Duration::from_millis(1)).then_some(kept)
    }

    async fn ask<T>(&self, asking: impl Future<Output = Result<T, StoreError>>) -> Told<T> {
        if !self.health.may_ask(self.timeout) {
            return Told::Unasked;
        }
        let error = match patience::within(self.timeout, asking).await {
            Some(Ok(answer)) => {
                self.health.answered();
                return Told::Answer(answer);
            }
            Some(Err(error)) if error.kind() == StoreErrorKind::Unreadable => return Told::Unknown,
            Some(Err(error)) => error,
            None => StoreError::unavailable(format!("no answer within {:?}", self.timeout)),
        };
        self.health.failed(&error);
        Told::Unknown
    }
}

fn heard(answer: Told<ClaimAnswer>, request: &ClaimRequest<'_>) -> Heard {
    Heard::Word(match answer {
        Told::Answer(ClaimAnswer::Completed(kept)) if replaces(request, &kept) => return Heard::Replaced(kept.token),
        Told::Answer(ClaimAnswer::Completed(kept)) => match copy::read(kept) {
            Some(record) if answers(&record, request) => Word::Answer(ClaimAnswer::Completed(record)),
            _ => Word::Stale,
        },
        Told::Answer(ClaimAnswer::Acquired(acquired)) => Word::Ours { attempt: acquired.attempt },
        Told::Answer(ClaimAnswer::InProgress { .. }) => return Heard::Busy,
        Told::Answer(ClaimAnswer::Mismatch | ClaimAnswer::Unreadable(_)) => Word::Stale,
        Told::Answer(_) | Told::Unasked => Word::Nothing,
        Told::Unknown => return Heard::Unknown,
    })
}

/// Whether a call replaces the record that is kept here.
fn replaces(request: &ClaimRequest<'_>, kept: &Completed) -> bool {
    let replaced = request.supersede.filter(|token| *token != request.token);
    replaced.is_some() && replaced == copy::read(kept.clone()).map(|record| record.token)
}

/// Whether a completed record answers a call: what differs, or cannot be compared, is for the truth to say.
fn answers(record: &Completed, request: &ClaimRequest<'_>) -> bool {
    record.token == request.token
        || request.fingerprint.zip(record.fingerprint).is_none_or(|(ours, its)| ours.matches(its) == Some(true))
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("store", &self.store).field("ttl", &self.ttl).finish_non_exhaustive()
    }
}
