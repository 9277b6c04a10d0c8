//! Trying the guard on live traffic: it claims and records, and every handler runs.
//!
//! What a call would have been answered with is counted, and then it runs unguarded beside the record.

use super::claim::Decision;
use super::{Checks, Guard, Stage, Wanted, first_phase};
use crate::error::{Error, ErrorKind};
use crate::idempotency::{Core, Mode};
use crate::key::Key;
use crate::observe::{self, Would};
use crate::policy::{OnBusy, OnDuplicate, OnLost, OnOutage, Policy};
use std::sync::Arc;

/// A policy under which nothing waits, and nothing stops a handler.
pub(super) fn policy(policy: Policy) -> Policy {
    Policy {
        on_busy: OnBusy::Reject,
        on_lost: OnLost::Finish,
        on_outage: OnOutage::Run,
        timeout: None,
        verify: false,
        ..policy
    }
}

impl Guard {
    /// A call that cannot have a key, and would have been refused.
    pub(crate) fn without_key(core: Arc<Core>, prefix: &str, policy: Policy, error: &Error) -> Self {
        let key = Key::from_text(&format!("{prefix}:?"));
        observe::shadow(&key, Would::Refused, error);
        let policy = self::policy(policy);
        let checks = policy.existing.then(|| Checks::new(first_phase(&policy)));
        let span = observe::span(&key, &core.owner);
        let wanted = Arc::new(Wanted { key, fingerprint: None, policy });
        let observed = observe::Call::default();
        Self { mode: Mode::Disabled, core, wanted, checks, recorder: None, span, observed, stage: Stage::Fresh }
    }

    /// What the claim came to, where every handler runs.
    pub(super) fn shadowed(&self, decision: Decision) -> Decision {
        let key = &self.wanted.key;
        match decision {
            Decision::Answer(_) if self.wanted.policy.on_duplicate == OnDuplicate::Reject => {
                observe::shadow(key, Would::Refused, &"a duplicate");
            }
            Decision::Answer(_) => observe::shadow(key, Would::Replayed, &"a duplicate"),
            Decision::Refuse(error) if error.kind() == ErrorKind::Busy => observe::shadow(key, Would::Held, &error),
            Decision::Refuse(error) => observe::shadow(key, Would::Refused, &error),
            runs @ (Decision::Run(_) | Decision::Unguarded) => return runs,
        }
        Decision::Unguarded
    }
}
