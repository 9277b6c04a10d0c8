//! The rules of the protocol, each of which can be left out, to see what it is needed for.

/// One rule. The model keeps all of them; a variant of it leaves some out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rule {
    // The store's side.
    /// A record's lease is the one that its writer put into it. Without: a reader judges by its own, shorter one.
    LeaseIsTheWriters,
    /// A claim that finds a failed record of its own token is `Lost`. Without: it is acquired again.
    FailedOwnTokenIsLost,
    /// A claim that finds itself in progress is written again and starts the lease. Without: it is concluded from a read.
    OwnClaimIsWritten,
    /// A take-over is one compare-and-set on the server. Without: a read, a decision, and a write.
    TakeoverIsOneStep,
    /// A claim that finds its own completion is a duplicate. Without: it starts a second run.
    CompletedOwnTokenIsADuplicate,
    /// A renewal creates nothing. Without: it makes a record in progress where there is none.
    RenewalCreatesNothing,
    /// A renewal does not touch a completed record. Without: the record then expires with the lease.
    RenewalLeavesCompleted,
    /// A repeated completion leaves the ttl alone. Without: the ttl starts again.
    CompletionKeepsItsTtl,
    /// A release leaves a completed record alone. Without: it deletes its own.
    ReleaseLeavesCompleted,
    /// A release of a claim that never began puts it back. Without: it counts as a run that failed or was given up.
    ReleaseCountsRunsOnly,
    /// What is put back or released where nothing stands leaves a failed record of its token. Without: nothing.
    AbsentIsRemembered,
    /// What is put back over a failed record takes that record over. Without: it stays with the token that failed.
    PutBackMarksFailed,
    /// What is put back over a lapsed claim leaves that claim, with its attempt and its begun mark. Without: nothing.
    PutBackKeepsTheRun,
    /// A claim that lapsed before it began does not hide the begun run below it. Without: it does.
    HiddenRunCounts,
    /// What is put back over a begun run that is kept no more stays open in its place. Without: it is failed.
    RunBelowStaysOpen,
    /// What is put back with attempts before it is kept for its retention. Without: for two leases.
    AttemptsAreRemembered,
    /// A claim that was given up stays so when its own late claim arrives. Without: its lease starts again.
    GivenUpStaysSo,

    // The guard's side.
    /// Under `hold` and `max_attempts` a run counts from `begin` on, just before the first poll. Without: from the claim.
    BeginComesFirst,
    /// The deadline counts from the moment before the request was sent. Without: from its answer.
    DeadlineFromRequest,
    /// The clock counts the time that the machine is suspended. Without: it stands still with the worker.
    ClockCountsSuspension,
    /// Past its deadline a handler goes on with the answer to a renewal, sent before or after, whose own deadline is still
    /// ahead. Without: with any.
    OldAnswersAreNoWord,
    /// No poll past the deadline. Without: the handler is polled until somebody tells it of a loss.
    NoPollInDoubt,
    /// Once a claim was put back, its token is dead. Without: the call claims again with the same one.
    PutBackTokenIsDead,
    /// After the body has returned nothing releases. Without: a call that is dropped then releases.
    NothingReleasesAfterReturn,
    /// Under `hold`, after the first poll, nothing releases on panic or drop. Without: it does.
    HoldReleasesNothingOnDrop,
    /// The keeper renews only what was acquired, and stops when it is put back. Without: it goes on for ever.
    RenewalEnds,
    /// Where `begin` was sent and nothing ran, the claim is put back until the store has answered, or its record is no
    /// more. Without: for no longer than a lease, and the begun mark may stay.
    PutBackOutlastsALease,
    /// A completion that finds nothing is written by a fresh claim only within the ttl. Without: at any time.
    RewriteWithinTtl,
    /// A superseded record that is put back has the token of the call that puts it back. Without: its old one.
    PutBackRestampsCompleted,
}

/// The rules that a variant of the model leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Without(u32);

impl Without {
    /// All but `rules`.
    pub const fn rules(rules: &[Rule]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < rules.len() {
            bits |= 1 << rules[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// Whether the rule is left out.
    pub const fn lacks(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
