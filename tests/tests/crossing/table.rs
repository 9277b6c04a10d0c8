//! The table: where a call is, what happens there, under which policy; and what comes of it.

use Happens::{Aborted, AnswerLost, Dropped, Error, Panic, RuntimeShutDown, StoreGone, Value};
use Point::{BeforeFirstPoll, Beginning, Claiming, Completing, InBody, Releasing};
use Policy::{Hold, Record, Rerun};

/// Where a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    BeforeFirstPoll,
    /// Its claim is on its way.
    Claiming,
    /// The message that its run begins is on its way: under `hold` only.
    Beginning,
    InBody,
    /// The body has returned, and its result is on its way: an error where errors are recorded, else a value.
    Completing,
    /// The body has failed, and its release is on its way.
    Releasing,
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happens {
    /// The body returns a value.
    Value,
    /// The body returns an error.
    Error,
    Panic,
    /// The call's future is dropped.
    Dropped,
    /// The call's task is aborted.
    Aborted,
    /// The call's runtime ends.
    RuntimeShutDown,
    /// The store goes away, and comes back later.
    StoreGone,
    /// The store does as it is asked, and its answer is lost.
    AnswerLost,
}

/// How the handler is annotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The defaults: `on_crash = rerun`, `on_error = release`.
    Rerun,
    /// `on_crash = hold`.
    Hold,
    /// `on_error = record`.
    Record,
}

/// What the caller gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Value,
    OwnError,
    Panic,
    /// There is no caller any more.
    Nothing,
    Unavailable,
}

/// What the next call with this key comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Its body runs, as this attempt.
    Runs(u32),
    /// It gets the first one's value.
    Value,
    /// It gets the first one's error.
    Error,
    Indeterminate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) point: Point,
    pub(crate) happens: Happens,
    pub(crate) policy: Policy,
}

const POINTS: [Point; 6] = [BeforeFirstPoll, Claiming, Beginning, InBody, Completing, Releasing];
const HAPPENS: [Happens; 8] = [Value, Error, Panic, Dropped, Aborted, RuntimeShutDown, StoreGone, AnswerLost];
const POLICIES: [Policy; 3] = [Rerun, Hold, Record];

/// Every case that can be.
pub(crate) fn cases() -> impl Iterator<Item = Case> {
    let of_point = |point| HAPPENS.into_iter().map(move |happens| (point, happens));
    let of_both = |(point, happens)| POLICIES.into_iter().map(move |policy| Case { point, happens, policy });
    POINTS.into_iter().flat_map(of_point).flat_map(of_both).filter(|case| case.expected().is_some())
}

impl Case {
    /// What comes of it; `None` where the three cannot meet.
    #[expect(clippy::match_same_arms, reason = "a row of the table is read by itself")]
    pub(crate) fn expected(self) -> Option<(Caller, Next)> {
        let Self { point, happens, policy } = self;
        Some(match (point, happens, policy) {
            // Nothing was claimed, and nothing was asked of the store.
            (BeforeFirstPoll, Dropped | Aborted | RuntimeShutDown, _) => (Caller::Nothing, Next::Runs(1)),
            (BeforeFirstPoll, StoreGone, _) => (Caller::Value, Next::Value),

            // Put back: no run has started.
            (Beginning, _, Rerun | Record) => return None,
            (Claiming | Beginning, Dropped | Aborted | RuntimeShutDown, _) => (Caller::Nothing, Next::Runs(1)),
            (Claiming | Beginning, StoreGone, _) => (Caller::Unavailable, Next::Runs(1)),
            (Claiming | Beginning, AnswerLost, _) => (Caller::Value, Next::Value),

            (InBody, Value | StoreGone | AnswerLost, _) => (Caller::Value, Next::Value),
            (InBody, Error, Rerun | Hold) => (Caller::OwnError, Next::Runs(2)),
            (InBody, Error, Record) => (Caller::OwnError, Next::Error),
            (InBody, Panic, Rerun | Record) => (Caller::Panic, Next::Runs(2)),
            (InBody, Panic, Hold) => (Caller::Panic, Next::Indeterminate),
            (InBody, Dropped | Aborted | RuntimeShutDown, Rerun | Record) => (Caller::Nothing, Next::Runs(2)),
            (InBody, Dropped | Aborted | RuntimeShutDown, Hold) => (Caller::Nothing, Next::Indeterminate),

            // The effect stands, so it is recorded, whoever is left to hear of it.
            (Completing, Dropped | Aborted | RuntimeShutDown, Rerun | Hold) => (Caller::Nothing, Next::Value),
            (Completing, Dropped | Aborted | RuntimeShutDown, Record) => (Caller::Nothing, Next::Error),
            (Completing, StoreGone | AnswerLost, Rerun | Hold) => (Caller::Value, Next::Value),
            (Completing, StoreGone | AnswerLost, Record) => (Caller::OwnError, Next::Error),

            (Releasing, _, Record) => return None,
            (Releasing, Dropped | Aborted | RuntimeShutDown, _) => (Caller::Nothing, Next::Runs(2)),
            (Releasing, StoreGone | AnswerLost, _) => (Caller::OwnError, Next::Runs(2)),
            // A panic is released, or given up, in the background; here the answer to that is lost.
            (Releasing, Panic, Rerun) => (Caller::Panic, Next::Runs(2)),
            (Releasing, Panic, Hold) => (Caller::Panic, Next::Indeterminate),

            (BeforeFirstPoll | Claiming | Beginning | Completing, Value | Error | Panic, _)
            | (BeforeFirstPoll, AnswerLost, _)
            | (Releasing, Value | Error, _) => return None,
        })
    }

    /// How its body ends, if it comes to that.
    pub(crate) fn ending(self) -> Happens {
        match (self.point, self.happens, self.policy) {
            (InBody | Releasing, Panic, _) => Panic,
            (InBody, Error, _) | (Completing, _, Record) | (Releasing, ..) => Error,
            _ => Value,
        }
    }

    /// How many bodies have started by the time the next call has been answered.
    pub(crate) fn runs(self) -> u32 {
        let Some((caller, next)) = self.expected() else { return 0 };
        let first = match self.point {
            BeforeFirstPoll | Claiming | Beginning => caller == Caller::Value,
            InBody | Completing | Releasing => true,
        };
        u32::from(first) + u32::from(matches!(next, Next::Runs(_)))
    }

    /// Whether it takes a lease that lapses.
    pub(crate) fn takes_a_lapse(self) -> bool {
        self.point == InBody && matches!(self.happens, StoreGone | AnswerLost)
    }
}

#[test]
fn everything_occurs() {
    for point in POINTS {
        assert!(cases().any(|case| case.point == point), "{point:?}");
    }
    for happens in HAPPENS {
        assert!(cases().any(|case| case.happens == happens), "{happens:?}");
    }
    for policy in POLICIES {
        assert!(cases().any(|case| case.policy == policy), "{policy:?}");
    }
    // A call can be interrupted everywhere, also where its release is on its way; not where the two rule each other out.
    let interrupted = cases().filter(|case| case.happens == Dropped).count();
    assert_eq!(interrupted, POINTS.len() * POLICIES.len() - 3);
}
