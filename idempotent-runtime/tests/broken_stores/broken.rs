//! A store that is broken in one way, around a sound one.

mod admin;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use idempotent_runtime::admin::{Admin, Change, Changed, Inspected, State};
use idempotent_runtime::conformance::{Harness, TokioClock, When};
use idempotent_runtime::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, Home, OnLapse, Release, Reply, Retention,
    Store, StoreError, Watch,
};
use idempotent_runtime::{Completed, Fingerprint, Key, MemoryStore, NoResult, Recorded, Token};

use crate::fault::Fault;

#[derive(Debug)]
pub(crate) struct Broken {
    memory: MemoryStore,
    fault: Fault,
    seen: Mutex<Seen>,
}

/// What the wrapper has to know in order to be wrong.
#[derive(Debug, Default)]
struct Seen {
    /// Which of its keys stands for a key: a record is deleted by going on to the next.
    generation: HashMap<Key, u32>,
    spoiled: HashSet<Key>,
    claimed: HashSet<Token>,
    holder: HashMap<Key, Token>,
    completed: HashSet<Token>,
    window: HashMap<Key, (Instant, ClaimAnswer)>,
}

impl Broken {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn at(&self, key: &Key) -> Key {
        match self.fault {
            Fault::OneKey => return Key::from_text("the one"),
            Fault::MangledKeys => {
                let text: String = key.as_str().to_lowercase().chars().take(200).collect();
                return Key::from_text(&text);
            }
            _ => {}
        }
        match self.seen().generation.get(key) {
            None => key.clone(),
            Some(generation) => Key::from_text(&format!("{key}#{generation}")),
        }
    }

    fn delete(&self, key: &Key) {
        *self.seen().generation.entry(key.clone()).or_default() += 1;
    }

    fn holder(&self, key: &Key) -> Option<Token> {
        self.seen().holder.get(key).copied()
    }

    fn is_spoiled(&self, key: &Key) -> bool {
        self.fault != Fault::UnreadableIsIgnored && self.seen().spoiled.contains(key)
    }

    async fn is_absent(&self, key: &Key) -> bool {
        // A completion by nobody changes nothing, and tells.
        let kept = Retention::Forever;
        let nothing = Recorded::Nothing(NoResult::NotWanted);
        self.memory.complete(&self.at(key), Token::random(), &nothing, kept).await.unwrap() == CompleteAnswer::Absent
    }

    /// Writes a claim of `token` whatever stands there.
    async fn force(&self, key: &Key, request: &ClaimRequest<'_>) -> ClaimAnswer {
        self.delete(key);
        self.memory.claim(&self.at(key), request).await.unwrap()
    }

    async fn answer_claim(&self, key: &Key, mut r: ClaimRequest<'_>) -> ClaimAnswer {
        if self.is_spoiled(key) {
            return ClaimAnswer::Unreadable("spoiled".into());
        }
        let again = !self.seen().claimed.insert(r.token);
        match self.fault {
            Fault::ClaimForgetsItsToken if again => r.token = Token::random(),
            Fault::ClaimIgnoresFingerprints => r.fingerprint = None,
            Fault::ClaimAlwaysCompares => r.fingerprint = r.fingerprint.or(Some(Fingerprint::from_u128(0))),
            Fault::ClaimComparesWithItself if again && r.supersede.is_some() => return ClaimAnswer::Mismatch,
            Fault::ClaimIgnoresMaxAttempts => r.max_attempts = None,
            Fault::ClaimIgnoresHold => r.on_lapse = OnLapse::TakeOver,
            Fault::ClaimAlwaysHolds => r.on_lapse = OnLapse::Hold,
            Fault::ClaimIgnoresSupersede => r.supersede = None,
            Fault::ClaimNeedsBegin => r.begun = false,
            Fault::EveryClaimHasBegun => r.begun = true,
            Fault::ClaimLeasesTooLong => r.lease *= 4,
            Fault::ClaimLeasesTooShort => r.lease /= 1000,
            Fault::ClaimKeepsForever => (r.retention, r.held) = (Retention::Forever, Retention::Forever),
            Fault::ClaimHoldsEverything => r.retention = r.held,
            Fault::ClaimHoldsNothing => r.held = r.retention,
            Fault::ClaimKeepsTooShort => {
                (r.retention, r.held) = (Retention::For(r.lease * 2), Retention::For(r.lease * 2));
            }
            _ => {}
        }
        let mut answer = self.memory.claim(&self.at(key), &r).await.unwrap();
        match (self.fault, &mut answer) {
            (Fault::ClaimRevivesItsToken, ClaimAnswer::Lost) => answer = self.force(key, &r).await,
            (Fault::ClaimReadsThenWrites, ClaimAnswer::Acquired(_)) => {
                self.seen().window.insert(key.clone(), (Instant::now(), answer.clone()));
            }
            (Fault::ClaimReadsThenWrites, ClaimAnswer::InProgress { .. }) => {
                // It has read the record before another wrote it, and writes now.
                let window = self.seen().window.get(key).cloned();
                if let Some((_, read)) = window.filter(|(at, _)| at.elapsed() < Duration::from_millis(5)) {
                    answer = read;
                }
            }
            (Fault::ClaimFindsNothing, ClaimAnswer::Acquired(acquired)) => acquired.found = Found::Absent,
            (Fault::ClaimCountsNothing, ClaimAnswer::Acquired(acquired)) => acquired.attempt = 1,
            (Fault::ClaimTakesOverTheLiving, ClaimAnswer::InProgress { attempt, .. }) => {
                let attempt = *attempt + 1;
                self.force(key, &r).await;
                answer =
                    ClaimAnswer::Acquired(Acquired { attempt, found: Found::Lapsed { begun: true }, fence: Some(1) });
            }
            (
                Fault::ClaimNeverTakesOver,
                ClaimAnswer::Acquired(Acquired { attempt, found: Found::Lapsed { .. }, .. }),
            ) => {
                let (remaining, attempt) = (Duration::ZERO, attempt.saturating_sub(1));
                self.memory.put_back(&self.at(key), r.token, r.lease, None).await.unwrap();
                answer = ClaimAnswer::InProgress { remaining, attempt, owner: "A".into() };
            }
            (Fault::ClaimSupersedesAnything, ClaimAnswer::Completed(record)) if r.supersede.is_some() => {
                r.supersede = Some(record.token);
                answer = self.memory.claim(&self.at(key), &r).await.unwrap();
            }
            (Fault::ClaimSupersedesOrNothing, ClaimAnswer::Acquired(Acquired { found: Found::Absent, .. }))
                if r.supersede.is_some() =>
            {
                answer = ClaimAnswer::Lost;
            }
            (Fault::OneOwner, ClaimAnswer::InProgress { owner, .. } | ClaimAnswer::Abandoned { owner, .. }) => {
                *owner = "somebody".into();
            }
            (Fault::OneFence, ClaimAnswer::Acquired(acquired)) => acquired.fence = Some(1),
            _ => {}
        }
        if let ClaimAnswer::Acquired(_) = answer {
            self.seen().holder.insert(key.clone(), r.token);
        }
        answer
    }

    async fn answer_begin(&self, key: &Key, mut token: Token) -> Answer {
        match self.fault {
            _ if self.is_spoiled(key) => return Answer::Lost,
            Fault::BeginDoesNothing => return Answer::Held,
            Fault::BeginIsRefused => return Answer::Lost,
            Fault::EveryoneMayBegin => token = self.holder(key).unwrap_or(token),
            _ => {}
        }
        self.memory.begin(&self.at(key), token).await.unwrap()
    }

    async fn answer_renew(&self, key: &Key, mut token: Token) -> Answer {
        match self.fault {
            _ if self.is_spoiled(key) => return Answer::Lost,
            Fault::RenewDoesNothing => return Answer::Held,
            Fault::RenewIsRefused => return Answer::Lost,
            Fault::EveryoneMayRenew => token = self.holder(key).unwrap_or(token),
            Fault::RenewRestartsACompletedTtl if self.seen().completed.contains(&token) => {
                self.force(key, &plain(token)).await;
                let (kept, nothing) = (Retention::For(Duration::from_secs(2)), Recorded::Nothing(NoResult::NotWanted));
                self.memory.complete(&self.at(key), token, &nothing, kept).await.unwrap();
                return Answer::Lost;
            }
            _ => {}
        }
        let answer = self.memory.renew(&self.at(key), token).await.unwrap();
        if answer == Answer::Lost && self.fault == Fault::RenewRevives {
            self.force(key, &plain(token)).await;
            return Answer::Held;
        }
        answer
    }

    async fn answer_complete(&self, key: &Key, token: Token, result: &Recorded, mut kept: Retention) -> CompleteAnswer {
        let nothing = Recorded::Nothing(NoResult::NotWanted);
        let mut result = result;
        let again = !self.seen().completed.insert(token);
        match self.fault {
            _ if self.is_spoiled(key) => return CompleteAnswer::Lost(None),
            Fault::CompleteDoesNothing => return CompleteAnswer::Held,
            Fault::CompleteIsRefused => return CompleteAnswer::Lost(None),
            Fault::CompleteForgetsTheResult => result = &nothing,
            Fault::CompleteKeepsForever => kept = Retention::Forever,
            Fault::CompleteRestartsTheTtl if again => {
                self.force(key, &plain(token)).await;
            }
            Fault::CompleteCreates if self.is_absent(key).await => {
                self.force(key, &plain(token)).await;
            }
            _ => {}
        }
        let answer = self.memory.complete(&self.at(key), token, result, kept).await.unwrap();
        match (self.fault, answer) {
            (Fault::CompleteAnything, CompleteAnswer::Lost(_)) => {
                self.force(key, &plain(token)).await;
                self.memory.complete(&self.at(key), token, result, kept).await.unwrap()
            }
            (Fault::CompleteHidesTheOther, CompleteAnswer::Lost(_)) => CompleteAnswer::Lost(None),
            (_, answer) => answer,
        }
    }

    async fn answer_release(
        &self,
        key: &Key,
        mut token: Token,
        mut release: Release<'_>,
        mut lease: Duration,
    ) -> Answer {
        match (self.fault, release) {
            _ if self.is_spoiled(key) => return Answer::Lost,
            (Fault::ReleaseDeletes, _) => {
                self.delete(key);
                return Answer::Held;
            }
            (Fault::ReleaseDoesNothing, _) | (Fault::GivingUpDoesNothing, Release::GivenUp) => return Answer::Held,
            (Fault::ReleaseIsRefused, _) => return Answer::Lost,
            (Fault::ReleaseOfAbsentLeavesNothing, _) if self.is_absent(key).await => return Answer::Held,
            (Fault::ReleaseOfAbsentIsKeptForever, _) => lease *= 100,
            (Fault::ReleaseForgetsTheError, Release::Failed(_)) => release = Release::Failed("?"),
            (Fault::EveryoneMayRelease, _) => token = self.holder(key).unwrap_or(token),
            (Fault::GivingUpFails, Release::GivenUp) => release = Release::Failed("given up"),
            _ => {}
        }
        self.memory.release(&self.at(key), token, release, lease).await.unwrap()
    }

    async fn answer_put_back(
        &self,
        key: &Key,
        mut token: Token,
        lease: Duration,
        mut superseded: Option<(&Completed, Retention)>,
    ) -> Answer {
        match self.fault {
            _ if self.is_spoiled(key) => return Answer::Lost,
            Fault::PutBackReleases => {
                return self.memory.release(&self.at(key), token, Release::Failed(""), lease).await.unwrap();
            }
            Fault::PutBackDeletes => {
                self.delete(key);
                return Answer::Held;
            }
            Fault::PutBackDoesNothing => return Answer::Held,
            Fault::PutBackIsRefused => return Answer::Lost,
            Fault::PutBackOfAbsentLeavesNothing if self.is_absent(key).await => return Answer::Held,
            Fault::PutBackForgetsTheRecord => superseded = None,
            Fault::EveryoneMayPutBack => token = self.holder(key).unwrap_or(token),
            _ => {}
        }
        self.memory.put_back(&self.at(key), token, lease, superseded).await.unwrap()
    }
}

impl Broken {
    async fn answer_inspect(&self, key: &Key) -> Result<Option<Inspected>, StoreError> {
        if self.is_spoiled(key) {
            return Err(StoreError::refused("spoiled"));
        }
        let mut seen = self.memory.inspect(&self.at(key)).await?;
        match (self.fault, seen.as_mut().map(|seen| &mut seen.state)) {
            (Fault::InspectSeesNothing, _) => seen = None,
            (Fault::InspectClaims, _) => {
                self.memory.claim(&self.at(key), &plain(Token::random())).await?;
            }
            (Fault::InspectForgetsMarks, Some(State::InProgress { begun, given_up, .. })) => {
                (*begun, *given_up) = (!*begun, false);
            }
            (Fault::InspectShowsLiveAsLapsed, Some(State::InProgress { remaining, .. })) => *remaining = Duration::ZERO,
            _ => {}
        }
        Ok(seen)
    }

    async fn answer_change(&self, key: &Key, seen: &Inspected, change: &Change) -> Result<Changed, StoreError> {
        let (at, mut seen, mut change) = (self.at(key), seen.clone(), change.clone());
        match (self.fault, &mut change) {
            (Fault::ChangeDoesNothing, _) => return Ok(Changed::Done),
            (Fault::ChangeIsRefused, _) => return Ok(Changed::Moved),
            (Fault::ChangeAppliesToWhatever, _) => {
                // It takes what it finds, and whatever is there, by force.
                if let Ok(Some(found)) = self.memory.inspect(&at).await {
                    self.memory.release(&at, found.token, Release::Failed(""), Duration::ZERO).await?;
                    seen = self.memory.inspect(&at).await?.unwrap_or(found);
                } else {
                    self.force(key, &plain(seen.token)).await;
                    return Ok(Changed::Done);
                }
            }
            (Fault::ChangeForgetsTheReason, Change::Release { reason } | Change::AllowOneMore { reason }) => {
                *reason = "?".into();
            }
            (Fault::ChangeKeepsForever, Change::Resolve { retention, .. }) => *retention = Retention::Forever,
            (Fault::ChangeMixesUpAttempts, Change::AllowOneMore { .. }) => {
                change = Change::Release { reason: "mended".into() };
            }
            (Fault::ChangeMixesUpAttempts, Change::Release { .. }) => {
                change = Change::AllowOneMore { reason: "looked it up".into() };
            }
            _ => {}
        }
        self.memory.change(&at, &seen, &change).await
    }
}

fn plain(token: Token) -> ClaimRequest<'static> {
    ClaimRequest {
        token,
        owner: "revived",
        fingerprint: None,
        lease: Duration::from_secs(30),
        retention: Retention::For(Duration::from_mins(10)),
        held: Retention::For(Duration::from_mins(10)),
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    }
}

impl Store for Broken {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        Box::pin(async { Ok(self.answer_claim(key, *request).await) })
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(async move { Ok(self.answer_begin(key, token).await) })
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(async move { Ok(self.answer_renew(key, token).await) })
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        Box::pin(async move { Ok(self.answer_complete(key, token, result, retention).await) })
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        Box::pin(async move { Ok(self.answer_release(key, token, release, lease).await) })
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        Box::pin(async move { Ok(self.answer_put_back(key, token, lease, superseded).await) })
    }

    fn watch(&self, key: &Key) -> Watch {
        match self.fault {
            Fault::NeverWakes => Watch::on(std::future::pending()),
            Fault::WakesAtOnce => Watch::on(std::future::ready(())),
            _ => self.memory.watch(&self.at(key)),
        }
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn home(&self) -> Home {
        Home::Caller
    }

    fn name(&self) -> &'static str {
        "broken"
    }
}

/// A broken store on a paused clock.
pub(crate) struct OnTokiosClock {
    broken: Arc<Broken>,
    clock: TokioClock,
}

impl OnTokiosClock {
    pub(crate) fn pause(fault: Fault) -> Self {
        let memory = MemoryStore::new();
        let broken = Arc::new(Broken { memory: memory.clone(), fault, seen: Mutex::default() });
        Self { broken, clock: TokioClock::pause(memory.clone()) }
    }
}

impl Harness for OnTokiosClock {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.broken) as _
    }

    fn tick(&self) -> Duration {
        self.clock.tick()
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        self.clock.pass(time)
    }

    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool> {
        Box::pin(async { self.broken.seen().spoiled.insert(key.clone()) })
    }
}
