//! What is promised: the properties that hold in every state that can be reached.

use stateright::Property;

use crate::history::Broken;
use crate::protocol::Protocol;
use crate::state::State;

/// At most one body may be polled.
pub const ONE_BELIEVER: &str = "at most one call may poll its body";
/// Whoever may poll has the live record.
pub const BELIEVER_OWNS: &str = "a call that may poll its body owns the live record";
/// No run within the ttl of a completion.
pub const NO_RUN_WITHIN_TTL: &str = "no body is polled within the ttl of a completion";
/// Nobody but the owner changes a live record.
pub const OWNER_ONLY: &str = "nobody but the owner changes a live record";
/// A completion stands for its ttl.
pub const COMPLETION_STANDS: &str = "a completed record stands until its ttl has passed or it is superseded";
/// Duplicates get the recorded value.
pub const DUPLICATES_AGREE: &str = "every duplicate is told the recorded value";
/// Late messages revive nothing.
pub const NOTHING_REVIVED: &str = "late messages revive and create nothing";
/// `hold` never runs twice.
pub const HOLD_RUNS_ONCE: &str = "under hold no body is polled while another run has been left open";
/// The effect is made once.
pub const ONE_EFFECT: &str = "under hold or with existing the effect is made once";
/// Indeterminate only after real runs.
pub const INDETERMINATE_FOR_A_REASON: &str = "abandoned is answered only where a run had begun";
/// Exhausted only after real runs.
pub const EXHAUSTED_FOR_A_REASON: &str = "exhausted is answered only after that many runs had begun";
/// `max_attempts` bounds the runs.
pub const BOUNDED_RUNS: &str = "no more bodies are polled than max_attempts allows";
/// The ttl starts once.
pub const ONE_TTL: &str = "the ttl of a completion starts once";

impl Broken {
    /// The property that is broken.
    pub const fn property(self) -> &'static str {
        match self {
            Self::RanWithinTtl => NO_RUN_WITHIN_TTL,
            Self::LiveRecordChanged => OWNER_ONLY,
            Self::CompletionChanged => COMPLETION_STANDS,
            Self::WrongDuplicate => DUPLICATES_AGREE,
            Self::Revived => NOTHING_REVIVED,
            Self::RanTwiceUnderHold => HOLD_RUNS_ONCE,
            Self::EffectTwice => ONE_EFFECT,
            Self::IndeterminateForNothing => INDETERMINATE_FOR_A_REASON,
            Self::ExhaustedForNothing => EXHAUSTED_FOR_A_REASON,
            Self::RanTooOften => BOUNDED_RUNS,
            Self::TtlStartedAgain => ONE_TTL,
        }
    }
}

/// All properties. That a key is settled in the end is checked by [`liveness`](crate::liveness).
pub(crate) fn all() -> Vec<Property<Protocol>> {
    type Holds = fn(&Protocol, &State) -> bool;
    const PROPERTIES: [(&str, Holds); 13] = [
        (ONE_BELIEVER, |model, state| state.believers(&model.setting).count() <= 1),
        (BELIEVER_OWNS, |model, state| state.believers(&model.setting).all(|who| state.record.live() == Some(who))),
        (NO_RUN_WITHIN_TTL, |_, state| state.history.broken != Some(Broken::RanWithinTtl)),
        (OWNER_ONLY, |_, state| state.history.broken != Some(Broken::LiveRecordChanged)),
        (COMPLETION_STANDS, |_, state| state.history.broken != Some(Broken::CompletionChanged)),
        (DUPLICATES_AGREE, |_, state| state.history.broken != Some(Broken::WrongDuplicate)),
        (NOTHING_REVIVED, |_, state| state.history.broken != Some(Broken::Revived)),
        (HOLD_RUNS_ONCE, |_, state| state.history.broken != Some(Broken::RanTwiceUnderHold)),
        (ONE_EFFECT, |_, state| state.history.broken != Some(Broken::EffectTwice)),
        (INDETERMINATE_FOR_A_REASON, |_, state| state.history.broken != Some(Broken::IndeterminateForNothing)),
        (EXHAUSTED_FOR_A_REASON, |_, state| state.history.broken != Some(Broken::ExhaustedForNothing)),
        (BOUNDED_RUNS, |_, state| state.history.broken != Some(Broken::RanTooOften)),
        (ONE_TTL, |_, state| state.history.broken != Some(Broken::TtlStartedAgain)),
    ];
    PROPERTIES.into_iter().map(|(name, holds)| Property::always(name, holds)).collect()
}
