//! What a case expects of the answers: each says what it got instead.

use std::time::Duration;

use crate::record::Completed;
use crate::store::{Acquired, Answer, ClaimAnswer, CompleteAnswer, Found};

/// The answer to a claim.
#[derive(Debug)]
pub(super) struct Claim(pub(super) ClaimAnswer);

impl Claim {
    #[track_caller]
    pub(super) fn acquired(self, attempt: u32, found: Found) -> Acquired {
        match self.0 {
            ClaimAnswer::Acquired(acquired) if acquired.attempt == attempt && acquired.found == found => acquired,
            other => panic!("expected Acquired, attempt {attempt}, found {found:?}; got {other:?}"),
        }
    }

    /// Gives what is left of the lease.
    #[track_caller]
    pub(super) fn in_progress(self, expected_attempt: u32, expected_owner: &str) -> Duration {
        match self.0 {
            ClaimAnswer::InProgress { remaining, attempt, owner }
                if attempt == expected_attempt && *owner == *expected_owner =>
            {
                remaining
            }
            other => panic!("expected InProgress, attempt {expected_attempt} of {expected_owner}; got {other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn abandoned(self, attempt: u32, owner: &str) {
        assert_eq!(self.0, ClaimAnswer::Abandoned { attempt, owner: owner.into() });
    }

    #[track_caller]
    pub(super) fn exhausted(self, attempt: u32) {
        assert_eq!(self.0, ClaimAnswer::Exhausted { attempt });
    }

    #[track_caller]
    pub(super) fn completed(self, record: &Completed) {
        assert_eq!(self.0, ClaimAnswer::Completed(record.clone()));
    }

    #[track_caller]
    pub(super) fn mismatch(self) {
        assert_eq!(self.0, ClaimAnswer::Mismatch);
    }

    #[track_caller]
    pub(super) fn lost(self) {
        assert_eq!(self.0, ClaimAnswer::Lost);
    }

    #[track_caller]
    pub(super) fn unreadable(self) {
        assert!(matches!(self.0, ClaimAnswer::Unreadable(_)), "expected Unreadable; got {:?}", self.0);
    }
}

/// The answer to `begin`, `renew`, `release` or `put_back`.
#[derive(Debug)]
pub(super) struct Held(pub(super) Answer);

impl Held {
    #[track_caller]
    pub(super) fn held(self) {
        assert_eq!(self.0, Answer::Held);
    }

    #[track_caller]
    pub(super) fn lost(self) {
        assert_eq!(self.0, Answer::Lost);
    }
}

/// The answer to a completion.
#[derive(Debug)]
pub(super) struct Complete(pub(super) CompleteAnswer);

impl Complete {
    #[track_caller]
    pub(super) fn held(self) {
        assert_eq!(self.0, CompleteAnswer::Held);
    }

    #[track_caller]
    pub(super) fn lost(self) {
        assert_eq!(self.0, CompleteAnswer::Lost(None));
    }

    #[track_caller]
    pub(super) fn lost_to(self, record: &Completed) {
        assert_eq!(self.0, CompleteAnswer::Lost(Some(record.clone())));
    }

    #[track_caller]
    pub(super) fn absent(self) {
        assert_eq!(self.0, CompleteAnswer::Absent);
    }
}
