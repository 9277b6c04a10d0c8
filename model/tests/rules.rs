//! Each rule is needed: without it a promise breaks. The shortest way to it is printed (`cargo test -p model --test
//! rules -- --nocapture`, or `cargo run -p model -- --without RULE`).
//!
//! That renewal ends is needed too: see `renewal_ends` in `promises`.

use std::num::NonZeroUsize;

use model::protocol::Protocol;
use model::rules::Rule;
use model::setting::Earlier;

fn is_needed(rule: Rule) {
    let report = rule.counterexample();
    println!("without {rule:?}, {}", report.explain());
    assert_eq!(report.broken(), Some(rule.breaks()));
}

/// The settings of the suite keep all promises with all rules. So must those that begin after something has happened.
#[test]
fn with_the_rule_nothing_breaks() {
    for rule in Rule::ALL.into_iter().filter(|rule| rule.setting().earlier != Earlier::Nothing) {
        let report = Protocol::new(rule.setting().without(&[])).check(NonZeroUsize::MIN);
        println!("with {rule:?}, {}", report.explain());
        assert_eq!(report.broken(), None, "with {rule:?}, {}", report.explain());
    }
}

macro_rules! rules {
    ($($name:ident: $rule:ident,)*) => {
        $(
            #[test]
            fn $name() {
                is_needed(Rule::$rule);
            }
        )*

        #[test]
        fn no_rule_is_forgotten() {
            assert_eq!(Rule::ALL, [$(Rule::$rule,)*]);
        }
    };
}

rules! {
    lease_is_the_writers: LeaseIsTheWriters,
    failed_own_token_is_lost: FailedOwnTokenIsLost,
    own_claim_is_written: OwnClaimIsWritten,
    takeover_is_one_step: TakeoverIsOneStep,
    completed_own_token_is_a_duplicate: CompletedOwnTokenIsADuplicate,
    renewal_creates_nothing: RenewalCreatesNothing,
    renewal_leaves_completed: RenewalLeavesCompleted,
    completion_keeps_its_ttl: CompletionKeepsItsTtl,
    release_leaves_completed: ReleaseLeavesCompleted,
    release_counts_runs_only: ReleaseCountsRunsOnly,
    absent_is_remembered: AbsentIsRemembered,
    put_back_marks_failed: PutBackMarksFailed,
    put_back_keeps_the_run: PutBackKeepsTheRun,
    hidden_run_counts: HiddenRunCounts,
    run_below_stays_open: RunBelowStaysOpen,
    attempts_are_remembered: AttemptsAreRemembered,
    given_up_stays_so: GivenUpStaysSo,
    begin_comes_first: BeginComesFirst,
    deadline_from_request: DeadlineFromRequest,
    clock_counts_suspension: ClockCountsSuspension,
    old_answers_are_no_word: OldAnswersAreNoWord,
    no_poll_in_doubt: NoPollInDoubt,
    put_back_token_is_dead: PutBackTokenIsDead,
    nothing_releases_after_return: NothingReleasesAfterReturn,
    hold_releases_nothing_on_drop: HoldReleasesNothingOnDrop,
    put_back_outlasts_a_lease: PutBackOutlastsALease,
    rewrite_within_ttl: RewriteWithinTtl,
    put_back_restamps_completed: PutBackRestampsCompleted,
}
