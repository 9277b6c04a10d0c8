//! Random sequences of operations and clock steps, and what a store answers to them beside the reference.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use idempotent_runtime::admin::State;
use idempotent_runtime::conformance::Harness;
use idempotent_runtime::store::{Acquired, ClaimAnswer, ClaimRequest, OnLapse, Release, Store};
use idempotent_runtime::{CodecTag, Completed, Encoded, Fingerprint, Key, Recorded, Token};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::reference::{Kept, Kind, Quarters, Reference, Request, retention};

/// How finely a store's clock can be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// To the moment: leases end exactly where a step ends.
    Exact,
    /// Really waiting: leases end a quarter of a tick away from every step.
    Rough,
    /// Not at all: nothing lapses or expires.
    Still,
}

#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    calls: Vec<Request>,
    steps: Vec<Step>,
}

/// A step; a call is named by its place in the sequence.
#[derive(Clone, Debug)]
enum Step {
    Claim { call: usize, supersede: Option<usize>, begun: bool },
    Begin(usize),
    Renew(usize),
    Complete { call: usize, result: u8, kept: Kept },
    Fail { call: usize, error: u8 },
    GiveUp(usize),
    PutBack { call: usize, superseded: Option<usize> },
    Pass(Quarters),
}

const CALLS: usize = 5;
const OWNERS: [&str; CALLS] = ["A", "B", "C", "D", "E"];

impl Clock {
    fn quarters(self, ticks: std::ops::Range<u32>) -> BoxedStrategy<Quarters> {
        match self {
            Self::Exact => ticks.prop_map(|ticks| 4 * ticks).boxed(),
            Self::Rough => ticks.prop_map(|ticks| 4 * ticks + 1).boxed(),
            Self::Still => Just(40_000).boxed(),
        }
    }

    fn pass(self) -> BoxedStrategy<Step> {
        match self {
            Self::Exact | Self::Rough => (1..6_u32).prop_map(|ticks| Step::Pass(4 * ticks)).boxed(),
            Self::Still => (0..CALLS).prop_map(Step::Renew).boxed(),
        }
    }

    fn call(self, place: usize) -> impl Strategy<Value = Request> {
        let fingerprint = prop_oneof![3 => Just(None), 2 => (1..3_u128).prop_map(|f| Some(Fingerprint::from_u128(f)))];
        let retention = prop_oneof![3 => self.quarters(0..15).prop_map(Some), 1 => Just(None)];
        let max_attempts = prop_oneof![2 => Just(None), 1 => (1..4_u32).prop_map(Some)];
        // Whole ticks on top, so that it ends as far from a step as the retention does.
        let longer =
            prop_oneof![2 => Just(Some(0)), 2 => (1..9_u32).prop_map(|ticks| Some(4 * ticks)), 1 => Just(None)];
        let (lease, holds) = (self.quarters(1..5), any::<bool>());
        (fingerprint, lease, retention, longer, max_attempts, holds).prop_map(
            move |(fingerprint, lease, retention, longer, max_attempts, holds)| Request {
                // Each run of a sequence is under a key of its own, so equal tokens do not meet.
                token: Token::from_u128(1 + place as u128),
                owner: OWNERS[place],
                fingerprint,
                lease,
                // At least twice the lease, and not at a multiple of it by rule.
                retention: retention.map(|more| 2 * lease + more),
                held: retention.zip(longer).map(|(more, longer)| 2 * lease + more + longer),
                on_lapse: if holds { OnLapse::Hold } else { OnLapse::TakeOver },
                max_attempts,
                begun: false,
            },
        )
    }

    pub(crate) fn sequence(self, steps: usize) -> impl Strategy<Value = Sequence> {
        let calls = std::array::from_fn::<_, CALLS, _>(|place| self.call(place));
        let kept = prop_oneof![4 => self.quarters(1..10).prop_map(Some), 1 => Just(None)];
        let call = 0..CALLS;
        let perhaps = prop_oneof![3 => Just(None), 2 => (0..CALLS).prop_map(Some)];
        let step = prop_oneof![
            8 => (call.clone(), perhaps.clone(), any::<bool>())
                .prop_map(|(call, supersede, begun)| Step::Claim { call, supersede, begun }),
            2 => call.clone().prop_map(Step::Begin),
            2 => call.clone().prop_map(Step::Renew),
            3 => (call.clone(), 0..3_u8, kept).prop_map(|(call, result, kept)| Step::Complete { call, result, kept }),
            3 => (call.clone(), 0..3_u8).prop_map(|(call, error)| Step::Fail { call, error }),
            1 => call.clone().prop_map(Step::GiveUp),
            3 => (call, perhaps).prop_map(|(call, superseded)| Step::PutBack { call, superseded }),
            5 => self.pass(),
        ];
        (calls, proptest::collection::vec(step, 1..steps))
            .prop_map(|(calls, steps)| Sequence { calls: calls.into(), steps })
    }
}

fn result(of: u8) -> Recorded {
    Recorded::Value(Encoded { codec: CodecTag::JSON, bytes: [of].into() })
}

fn error(of: u8) -> String {
    format!("failed with {of}")
}

/// How a sequence ended, if not in a disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Agreed,
    /// On a rough clock: the machine stood still for so long that nobody can say what should have lapsed.
    TooSlow,
}

/// Runs a sequence under a key of its own, and compares every answer, and the record after every step.
pub(crate) async fn agrees(harness: &dyn Harness, clock: Clock, sequence: &Sequence) -> Result<End, TestCaseError> {
    let (store, quarter) = (harness.store(), harness.tick() / 4);
    let (started, mut passed) = (Instant::now(), Duration::ZERO);
    let key = harness.keys().one(&format!("reference:{}", Token::random()));
    let mut run = Run { store: &*store, key, quarter, clock, reference: Reference::default(), fences: Vec::new() };
    for step in &sequence.steps {
        if let Step::Pass(quarters) = step {
            harness.pass(*quarters * quarter).await;
            run.reference.pass(*quarters);
            passed += *quarters * quarter;
        }
        let compared = run.compare(sequence, step).await;
        if clock == Clock::Rough && started.elapsed().saturating_sub(passed) > quarter * 3 / 4 {
            return Ok(End::TooSlow);
        }
        compared?;
    }
    Ok(End::Agreed)
}

/// Where the sequences of [`all_agree`] come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// The same in every run.
    Same,
    /// New ones.
    New,
}

/// Really waits: many random sequences at once, each under its key.
pub(crate) async fn all_agree(harness: &dyn Harness, clock: Clock, chance: Chance, sequences: usize, steps: usize) {
    let mut runner = match chance {
        Chance::Same => TestRunner::deterministic(),
        Chance::New => TestRunner::default(),
    };
    let strategy = clock.sequence(steps);
    let sequences: Vec<Sequence> =
        std::iter::repeat_with(|| strategy.new_tree(&mut runner).expect("a sequence can be made").current())
            .take(sequences)
            .collect();
    let mut agreed = 0;
    for (sequence, end) in sequences.iter().zip(join_all(sequences.iter().map(|s| agrees(harness, clock, s))).await) {
        match end {
            Ok(End::Agreed) => agreed += 1,
            Ok(End::TooSlow) => {}
            Err(why) => panic!("{why}\n{sequence:#?}"),
        }
    }
    assert!(agreed > 0, "the machine was too slow for each of {} sequences", sequences.len());
}

struct Run<'a> {
    store: &'a dyn Store,
    key: Key,
    quarter: Duration,
    clock: Clock,
    reference: Reference,
    /// The fences that were given, and to whom.
    fences: Vec<(Token, u64)>,
}

impl Run<'_> {
    async fn compare(&mut self, sequence: &Sequence, step: &Step) -> Result<(), TestCaseError> {
        if !matches!(step, Step::Pass(_)) {
            self.step(sequence, step).await?;
        }
        self.compare_records().await
    }

    async fn step(&mut self, sequence: &Sequence, step: &Step) -> Result<(), TestCaseError> {
        let calls = &sequence.calls;
        let token = |call: usize| calls[call].token;
        let lease = |call: usize| calls[call].lease * self.quarter;
        let (store, key) = (self.store, &self.key);
        match step {
            Step::Claim { call, supersede, begun } => {
                let request = Request { begun: *begun, ..calls[*call].clone() };
                self.claim(&request, supersede.map(token)).await?;
            }
            Step::Begin(call) => {
                let answer = store.begin(key, token(*call)).await.expect("the store answers");
                prop_assert_eq!(answer, self.reference.begin(token(*call)));
            }
            Step::Renew(call) => {
                let answer = store.renew(key, token(*call)).await.expect("the store answers");
                prop_assert_eq!(answer, self.reference.renew(token(*call)));
            }
            Step::Complete { call, result: of, kept } => {
                let (result, token) = (result(*of), token(*call));
                let answer = store.complete(key, token, &result, retention(*kept, self.quarter)).await;
                let expected = self.reference.complete(token, &result, *kept);
                prop_assert_eq!(answer.expect("the store answers"), expected);
            }
            Step::Fail { call, error: of } => {
                let error = error(*of);
                let answer = store.release(key, token(*call), Release::Failed(&error), lease(*call)).await;
                let expected = self.reference.release(token(*call), Release::Failed(&error), calls[*call].lease);
                prop_assert_eq!(answer.expect("the store answers"), expected);
            }
            Step::GiveUp(call) => {
                let answer = store.release(key, token(*call), Release::GivenUp, lease(*call)).await;
                let expected = self.reference.release(token(*call), Release::GivenUp, calls[*call].lease);
                prop_assert_eq!(answer.expect("the store answers"), expected);
            }
            Step::PutBack { call, superseded } => {
                // The guard gives the record that its claim has replaced, under another token; where there is none, a
                // store has no use for what it is given.
                let replaced = self.reference.replaced();
                let record = superseded.map(|of| {
                    let Request { token, fingerprint, .. } = calls[of];
                    let (attempt, fingerprint) = replaced.map_or((1, fingerprint), |it| (it.attempt, it.fingerprint));
                    Completed { token, attempt, fingerprint, result: result(9) }
                });
                let kept = calls[*call].retention;
                let told = record.as_ref().map(|record| (record, retention(kept, self.quarter)));
                let answer = store.put_back(key, token(*call), lease(*call), told).await;
                let superseded = record.as_ref().map(|record| (record, kept));
                let expected = self.reference.put_back(token(*call), calls[*call].lease, superseded);
                prop_assert_eq!(answer.expect("the store answers"), expected);
            }
            Step::Pass(_) => unreachable!("time passes elsewhere"),
        }
        Ok(())
    }

    async fn claim(&mut self, call: &Request, supersede: Option<Token>) -> Result<(), TestCaseError> {
        let request = ClaimRequest {
            token: call.token,
            owner: call.owner,
            fingerprint: call.fingerprint,
            lease: call.lease * self.quarter,
            retention: retention(call.retention, self.quarter),
            held: retention(call.held, self.quarter),
            on_lapse: call.on_lapse,
            max_attempts: call.max_attempts.and_then(NonZeroU32::new),
            supersede,
            begun: call.begun,
            fenced: true,
        };
        let mut answer = self.store.claim(&self.key, &request).await.expect("the store answers");
        match &mut answer {
            ClaimAnswer::InProgress { remaining, .. } => {
                let left = std::mem::take(remaining);
                self.compare_remaining(left)?;
            }
            ClaimAnswer::Acquired(Acquired { fence, .. }) => {
                // A claim that was taken over and put back again is the same claim, with the fence that it had.
                let given = fence.take().map(|fence| (call.token, fence));
                prop_assert!(given.is_some(), "a fence was asked for");
                let again = self.fences.iter().any(|had| Some(*had) == given);
                let last = self.fences.iter().map(|(_, fence)| *fence).max();
                prop_assert!(again || given.map(|(_, fence)| fence) > last, "{:?} after {:?}", given, last);
                self.fences.extend(given);
            }
            _ => {}
        }
        prop_assert_eq!(answer, self.reference.claim(call, supersede));
        Ok(())
    }

    fn compare_remaining(&mut self, left: Duration) -> Result<(), TestCaseError> {
        let expected = self.reference.remaining() * self.quarter;
        match self.clock {
            Clock::Exact => prop_assert_eq!(left, expected),
            Clock::Rough | Clock::Still => {
                prop_assert!(left <= expected, "{:?} of at most {:?}", left, expected);
                prop_assert_eq!(left.is_zero(), expected.is_zero());
            }
        }
        Ok(())
    }

    /// Compares what a person sees with the reference's record.
    async fn compare_records(&mut self) -> Result<(), TestCaseError> {
        let Some(admin) = self.store.admin() else { return Ok(()) };
        let seen = admin.inspect(&self.key).await.expect("the store answers");
        let quarter = self.quarter;
        let Some(record) = self.reference.record().cloned() else {
            prop_assert_eq!(seen, None);
            return Ok(());
        };
        let Some(seen) = seen else { return Err(TestCaseError::fail(format!("no record; expected {record:?}"))) };
        prop_assert_eq!((seen.token, seen.attempt), (record.token, record.attempt));
        match seen.state {
            State::InProgress { remaining, lease, begun, given_up, .. } => {
                prop_assert_eq!(record.kind, Kind::InProgress);
                prop_assert_eq!((begun, given_up), (record.begun, record.given_up));
                prop_assert_eq!((&*seen.owner, seen.fingerprint), (record.owner, record.fingerprint));
                prop_assert_eq!(lease, record.lease * quarter);
                self.compare_remaining(remaining)?;
            }
            State::Failed { last_error } => {
                prop_assert_eq!(record.kind, Kind::Failed);
                prop_assert_eq!(&*last_error, &*record.error);
            }
            State::Completed(result) => {
                prop_assert_eq!(record.kind, Kind::Completed);
                prop_assert_eq!((Some(result), seen.fingerprint), (record.result, record.fingerprint));
            }
        }
        if self.clock == Clock::Exact {
            prop_assert_eq!(seen.expires_in, self.reference.expires_in(quarter));
        }
        Ok(())
    }
}
