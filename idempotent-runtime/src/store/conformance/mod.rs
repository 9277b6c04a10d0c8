//! The conformance suite: every cell of the tables in [`Store`](crate::Store) as a case, for any store.
//!
//! Give the suite a [`Harness`] around your store, and one line makes a test of each case:
//!
//! ```
//! use idempotent_runtime::MemoryStore;
//! use idempotent_runtime::conformance::TokioClock;
//!
//! async fn memory() -> TokioClock {
//!     TokioClock::pause(MemoryStore::new())
//! }
//!
//! idempotent_runtime::conformance_suite!(memory);
//! # fn main() {}
//! ```
//!
//! The path names an async function without arguments that returns a [`Harness`]; it is called once for each case.
//! Attributes in front of it are put on each test: `conformance_suite!(#[ignore = "needs a server"] on_a_server)`.
//! Two suites in one file go into two modules.
//!
//! Each case works under a key of its own with a random part, so all cases can share a server, and leave on it only
//! records that expire. A case that fails panics with the answer it got and the one it expected. [`CASES`] lists the
//! cases for programs that want to run them in another way.

mod admin;
mod answers;
mod begin;
mod claim;
mod complete;
mod contents;
mod crowd;
mod harness;
mod lapsed;
mod list;
mod put_back;
mod release;
mod remove;
mod renew;
mod time;
mod trial;
mod watch;

use std::fmt;
use std::future::Future;

pub use harness::{Harness, Keys, Steps, TokioClock, When};
use trial::Trial;

/// One rule of the contract, and how it is tried.
pub struct Case {
    /// The rule's name.
    pub name: &'static str,
    run: for<'a> fn(&'a Trial<'a>) -> When<'a, ()>,
}

impl Case {
    /// Tries the rule on a harness.
    ///
    /// # Panics
    ///
    /// When the store does not keep the rule.
    pub async fn run(&self, harness: &dyn Harness) {
        (self.run)(&Trial::new(harness, self.name)).await;
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

/// Runs one case of [`CASES`] in a tokio runtime of its own: what a test that [`conformance_suite!`] made calls.
///
/// [`conformance_suite!`]: crate::conformance_suite
///
/// # Panics
///
/// When the store does not keep the rule, or there is no case of this name.
pub fn run<H: Harness, F: Future<Output = H>>(name: &str, harness: impl FnOnce() -> F) {
    let case = CASES.iter().find(|case| case.name == name).expect("a case that the suite lists");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a tokio runtime starts");
    runtime.block_on(async {
        let harness = harness().await;
        case.run(&harness).await;
    });
}

/// Makes [`CASES`] and [`conformance_suite!`](crate::conformance_suite) of one list.
macro_rules! cases {
    ($dollar:tt $($module:ident { $($name:ident)+ })+) => {
        /// Every case.
        pub const CASES: &[Case] = &[
            $($(Case { name: stringify!($name), run: |trial| Box::pin($module::$name(trial)) },)+)+
        ];

        /// One test for each case of the [conformance suite](crate::conformance).
        #[macro_export]
        macro_rules! conformance_suite {
            ($dollar(#[$dollar attribute:meta])* $dollar harness:path) => {
                $($(
                    #[test]
                    $dollar(#[$dollar attribute])*
                    fn $name() {
                        $dollar crate::conformance::run(stringify!($name), $dollar harness);
                    }
                )+)+
            };
        }
    };
}

cases! {
    $
    claim {
        claim_of_absent_is_acquired
        claim_of_absent_ignores_supersede
        keys_do_not_meet
        claim_of_failed_by_its_own_token_is_lost
        claim_of_failed_is_acquired_as_the_next_attempt
        claim_of_failed_takes_the_new_fingerprint
        claim_of_failed_without_an_attempt_left_is_exhausted
        attempts_are_counted_through_failures
        claim_repeated_is_acquired_again
        claim_repeated_starts_the_lease_again
        claim_repeated_after_a_lapse_is_acquired_again
        claim_repeated_after_giving_up_is_lost
        claim_repeated_finds_the_same_again
        claim_repeated_as_begun_has_begun
        claim_repeated_is_not_compared_with_itself
        claim_of_live_is_in_progress
        claim_of_live_with_another_fingerprint_is_a_mismatch
        without_a_fingerprint_on_both_sides_live_is_in_progress
        claim_of_live_ignores_supersede
        a_refused_claim_changes_nothing
        claim_of_completed_is_answered_with_the_record
        claim_of_completed_by_its_own_token_is_completed
        claim_of_completed_with_another_fingerprint_is_a_mismatch
        without_a_fingerprint_on_both_sides_completed_is_completed
        claim_that_supersedes_the_record_is_acquired
        claim_that_supersedes_another_record_is_completed
        a_record_is_superseded_once
        claim_that_supersedes_with_another_fingerprint_is_a_mismatch
        claim_with_a_fingerprint_of_another_version_is_unreadable
        unreadable_is_never_claimed
        no_operation_changes_what_is_unreadable
    }
    lapsed {
        claim_of_lapsed_is_taken_over
        claim_of_lapsed_with_another_fingerprint_is_a_mismatch
        claim_of_lapsed_without_an_attempt_left_is_exhausted
        claim_of_lapsed_under_hold_is_abandoned
        exhausted_comes_before_abandoned
        claim_of_lapsed_that_had_not_begun_keeps_the_attempt
        a_claim_that_never_began_counts_for_nothing_after_a_failure
        a_claim_that_never_began_does_not_hide_the_failure_before_it
        a_claim_that_never_began_does_not_hide_the_run_before_it
        what_was_given_up_is_lapsed_at_once
        what_was_given_up_is_compared_by_fingerprint
        the_one_taken_over_can_do_nothing
        attempts_are_counted_through_crashes
    }
    begin {
        begin_of_the_own_live_claim_makes_it_a_run
        begin_starts_the_lease_again
        begin_repeated_is_held
        a_repeated_claim_does_not_undo_begin
        begin_of_a_lapsed_claim_is_lost
        begin_of_a_claim_given_up_is_lost
        begin_of_anothers_claim_is_lost
        begin_of_failed_is_lost
        begin_of_completed_is_lost
        begin_of_absent_is_lost_and_creates_nothing
    }
    renew {
        renew_of_the_own_claim_starts_the_lease_again
        renew_repeated_is_held
        renew_of_a_lapsed_claim_makes_it_live
        renew_does_not_begin
        renew_of_a_claim_given_up_is_lost
        renew_of_anothers_claim_is_lost
        renew_of_anothers_lapsed_claim_revives_nothing
        renew_of_failed_is_lost
        renew_of_completed_is_lost
        renew_of_completed_does_not_touch_its_expiry
        renew_of_absent_is_lost_and_creates_nothing
        renew_of_an_expired_claim_is_lost_and_creates_nothing
        renewals_keep_a_claim_beyond_its_first_retention
    }
    complete {
        complete_of_the_own_claim_is_held
        complete_of_a_lapsed_claim_is_held
        complete_of_a_claim_that_has_not_begun_is_held
        complete_repeated_is_held_and_changes_nothing
        complete_repeated_does_not_start_the_ttl_again
        complete_of_a_claim_given_up_is_lost
        complete_of_failed_is_lost
        complete_of_anothers_claim_is_lost
        complete_of_anothers_lapsed_claim_is_lost
        complete_after_another_has_completed_is_lost_to_it
        complete_of_absent_is_absent_and_creates_nothing
        complete_of_an_expired_claim_is_absent
        complete_after_release_is_lost
        complete_after_put_back_is_lost
    }
    contents {
        every_kind_of_result_comes_back
        an_empty_result_is_a_result
        falsy_results_are_results
        every_byte_of_a_result_comes_back
        a_large_result_comes_back
        every_fingerprint_comes_back
        every_token_comes_back
        the_owner_is_shown
        the_last_error_is_kept
        keys_of_every_shape_are_kept_apart
        long_keys_are_kept_apart
    }
    release {
        release_of_the_own_claim_makes_it_failed
        release_of_a_lapsed_claim_makes_it_failed
        release_repeated_is_held_and_changes_nothing
        release_of_anothers_claim_is_lost
        release_of_anothers_lapsed_claim_is_lost
        release_of_anothers_failure_is_lost
        release_deletes_no_result
        release_of_absent_keeps_its_own_late_claim_from_coming_alive
        release_of_absent_repeated_is_held
        release_of_absent_is_remembered_for_two_leases
        giving_up_what_is_absent_is_remembered_too
        release_of_an_expired_claim_is_remembered
        giving_up_keeps_the_record_in_progress_and_lapsed
        giving_up_counts_as_a_run
        release_of_a_claim_that_never_began_counts_no_run
        release_of_a_claim_that_never_began_keeps_the_failure_before_it
        release_of_a_claim_that_never_began_keeps_the_run_before_it
        giving_up_a_claim_that_never_began_counts_no_run
        giving_up_a_lapsed_claim_is_held
        giving_up_repeated_is_held_and_changes_nothing
        a_late_release_leaves_the_next_run_alone
    }
    put_back {
        put_back_to_absent_counts_no_attempt
        put_back_to_absent_is_remembered_for_two_leases
        put_back_to_failed_keeps_attempt_and_error
        put_back_to_lapsed_is_lapsed_again
        put_back_to_lapsed_leaves_it_to_its_owner
        put_back_to_lapsed_keeps_that_it_had_not_begun
        put_back_to_given_up_is_given_up_again
        put_back_to_completed_restores_the_record
        put_back_to_completed_keeps_it_for_the_time_given
        put_back_without_the_record_it_replaced_counts_no_attempt
        put_back_restores_no_record_that_the_claim_had_not_replaced
        put_back_twice_over_ends_without_an_attempt
        put_back_three_times_over_ends_without_an_attempt
        put_back_with_nothing_to_restore_leaves_the_run_below_open
        put_back_with_nothing_to_restore_remembers_the_attempts
        put_back_of_a_lapsed_claim_is_held
        put_back_of_a_claim_that_has_begun_counts_no_attempt
        put_back_repeated_changes_nothing
        put_back_of_a_claim_given_up_is_lost
        put_back_of_anothers_claim_is_lost
        put_back_of_anothers_lapsed_claim_is_lost
        put_back_of_failed_is_lost
        put_back_of_completed_is_lost
        put_back_of_absent_keeps_its_own_late_claim_from_coming_alive
        put_back_of_absent_restores_nothing
        put_back_of_a_claim_taken_over_is_lost
    }
    time {
        a_reader_judges_by_the_writers_lease
        a_reader_judges_by_the_writers_retention
        what_is_left_of_a_lease_shrinks
        a_completed_record_expires_with_its_ttl
        a_ttl_counts_from_the_completion
        a_completed_record_can_be_kept_for_ever
        a_claim_can_be_kept_for_ever
        a_claim_expires_with_its_retention
        a_failed_record_expires_with_its_retention
        a_claim_given_up_expires_with_its_retention
        a_record_put_back_lapsed_outlasts_its_lease
        a_run_is_held_beyond_the_retention
        begin_holds_a_run_beyond_the_retention
        a_claim_that_never_began_is_not_held
        a_claim_over_a_held_run_is_held
        a_held_run_that_is_put_back_stays_held
        a_failure_is_not_held
        a_failure_that_is_put_back_is_not_held
        what_a_person_released_is_not_held
    }
    crowd {
        one_of_ten_gets_an_absent_key
        one_of_two_hundred_gets_an_absent_key
        one_of_ten_takes_a_lapsed_claim_over
        one_of_two_hundred_takes_a_lapsed_claim_over
        one_of_ten_gets_a_failed_key
        one_of_two_hundred_gets_a_failed_key
        one_of_ten_supersedes_a_record
        the_last_attempt_is_given_once
        all_claims_of_one_call_are_that_calls
        a_takeover_and_a_late_completion_agree
        fences_grow_with_every_claim
        the_fence_of_a_repeated_claim_is_the_same
    }
    watch {
        a_completion_wakes
        a_release_wakes
        giving_up_wakes
        a_put_back_wakes
        nothing_wakes_the_watch_of_another_key
        a_watch_that_is_dropped_wakes_nobody_wrongly
    }
    admin {
        inspect_of_absent_shows_none
        inspect_of_an_expired_record_shows_none
        inspect_shows_a_live_claim
        inspect_shows_a_lapsed_claim
        inspect_shows_a_claim_given_up
        inspect_shows_a_failure
        inspect_shows_a_result
        inspect_of_unreadable_is_an_error
        a_person_resolves_a_lapsed_claim
        a_person_resolves_a_claim_given_up
        what_a_person_resolved_expires_with_its_ttl
        a_person_releases_a_lapsed_claim
        a_person_releases_a_claim_that_never_began
        a_person_releases_a_failure
        a_person_releases_a_result_for_a_second_run
        a_person_allows_one_more_attempt
        a_person_allows_one_more_attempt_after_a_crash
        nothing_of_a_live_run_is_changed
        nothing_is_changed_that_moved_since_it_was_seen
        nothing_is_changed_where_the_record_is_gone
        a_decision_counts_once
        a_decision_wakes
    }
    list {
        list_shows_every_record_page_by_page
        list_shows_what_inspect_shows
        list_selects_by_state
        list_selects_by_silence
        list_selects_by_what_is_left
        list_takes_the_beginning_of_keys_as_text
        a_prefix_is_not_the_beginning_of_another_name
        list_shows_no_expired_record
        list_misses_nothing_while_records_come_and_go
        list_says_what_is_unreadable
        list_shows_no_large_result
        list_refuses_a_place_that_is_none
    }
    remove {
        a_removed_record_is_absent
        a_removed_record_is_absent_to_its_owner
        remove_leaves_a_live_run_alone
        remove_takes_a_live_run_away_by_force
        remove_leaves_what_moved_since_it_was_seen
        remove_of_absent_has_moved
        remove_leaves_other_records_alone
        a_removal_counts_once
        a_removal_wakes
        a_sweep_removes_nothing_that_stands
    }
}
