//! The conformance suite can fail: stores that are broken in one way each, and the cases that notice.

#![cfg(feature = "conformance")]

mod broken;
mod fault;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use broken::OnTokiosClock;
use fault::Fault;
use idempotent_runtime::conformance::{self, CASES};

/// Each fault, and cases that must notice it.
const FAULTS: &[(Fault, &[&str])] = &[
    (Fault::None, &[]),
    (
        Fault::ClaimForgetsItsToken,
        &[
            "claim_repeated_is_acquired_again",
            "claim_of_failed_by_its_own_token_is_lost",
            "all_claims_of_one_call_are_that_calls",
        ],
    ),
    (
        Fault::ClaimRevivesItsToken,
        &["claim_of_failed_by_its_own_token_is_lost", "claim_repeated_after_giving_up_is_lost"],
    ),
    (Fault::ClaimReadsThenWrites, &["one_of_ten_gets_an_absent_key", "one_of_two_hundred_takes_a_lapsed_claim_over"]),
    (Fault::ClaimFindsNothing, &["claim_repeated_finds_the_same_again"]),
    (
        Fault::ClaimIgnoresFingerprints,
        &[
            "claim_of_completed_with_another_fingerprint_is_a_mismatch",
            "claim_of_lapsed_with_another_fingerprint_is_a_mismatch",
        ],
    ),
    (Fault::ClaimAlwaysCompares, &["without_a_fingerprint_on_both_sides_live_is_in_progress"]),
    (Fault::ClaimComparesWithItself, &["claim_repeated_finds_the_same_again"]),
    (
        Fault::ClaimIgnoresMaxAttempts,
        &["claim_of_failed_without_an_attempt_left_is_exhausted", "the_last_attempt_is_given_once"],
    ),
    (Fault::ClaimCountsNothing, &["attempts_are_counted_through_crashes", "attempts_are_counted_through_failures"]),
    (Fault::ClaimIgnoresHold, &["claim_of_lapsed_under_hold_is_abandoned"]),
    (Fault::ClaimAlwaysHolds, &["claim_of_lapsed_is_taken_over"]),
    (Fault::ClaimTakesOverTheLiving, &["claim_of_live_is_in_progress"]),
    (Fault::ClaimNeverTakesOver, &["claim_of_lapsed_is_taken_over"]),
    (Fault::ClaimIgnoresSupersede, &["claim_that_supersedes_the_record_is_acquired"]),
    (
        Fault::ClaimSupersedesAnything,
        &["claim_that_supersedes_another_record_is_completed", "a_record_is_superseded_once"],
    ),
    (Fault::ClaimSupersedesOrNothing, &["claim_of_absent_ignores_supersede"]),
    (Fault::ClaimNeedsBegin, &["claim_of_lapsed_under_hold_is_abandoned", "claim_repeated_as_begun_has_begun"]),
    (Fault::ClaimLeasesTooLong, &["a_reader_judges_by_the_writers_lease"]),
    (Fault::ClaimLeasesTooShort, &["what_is_left_of_a_lease_shrinks"]),
    (Fault::ClaimKeepsForever, &["a_claim_expires_with_its_retention"]),
    (Fault::ClaimKeepsTooShort, &["renewals_keep_a_claim_beyond_its_first_retention"]),
    (
        Fault::ClaimHoldsEverything,
        &[
            "a_claim_that_never_began_is_not_held",
            "a_failure_is_not_held",
            "a_failure_that_is_put_back_is_not_held",
            "what_a_person_released_is_not_held",
        ],
    ),
    (
        Fault::ClaimHoldsNothing,
        &[
            "a_run_is_held_beyond_the_retention",
            "begin_holds_a_run_beyond_the_retention",
            "a_claim_over_a_held_run_is_held",
            "a_held_run_that_is_put_back_stays_held",
        ],
    ),
    (Fault::BeginDoesNothing, &["begin_of_the_own_live_claim_makes_it_a_run", "begin_of_a_lapsed_claim_is_lost"]),
    (Fault::BeginIsRefused, &["begin_repeated_is_held"]),
    (Fault::EveryClaimHasBegun, &["claim_of_lapsed_that_had_not_begun_keeps_the_attempt"]),
    (Fault::EveryoneMayBegin, &["begin_of_anothers_claim_is_lost"]),
    (
        Fault::RenewRevives,
        &[
            "renew_of_a_claim_given_up_is_lost",
            "renew_of_absent_is_lost_and_creates_nothing",
            "renew_of_failed_is_lost",
        ],
    ),
    (Fault::RenewDoesNothing, &["renew_of_the_own_claim_starts_the_lease_again"]),
    (Fault::RenewIsRefused, &["renew_repeated_is_held"]),
    (Fault::EveryoneMayRenew, &["renew_of_anothers_claim_is_lost", "the_one_taken_over_can_do_nothing"]),
    (Fault::RenewRestartsACompletedTtl, &["renew_of_completed_does_not_touch_its_expiry"]),
    (
        Fault::CompleteAnything,
        &["complete_after_another_has_completed_is_lost_to_it", "complete_of_a_claim_given_up_is_lost"],
    ),
    (Fault::CompleteIsRefused, &["complete_of_the_own_claim_is_held", "complete_of_a_lapsed_claim_is_held"]),
    (Fault::CompleteDoesNothing, &["complete_of_the_own_claim_is_held"]),
    (Fault::CompleteRestartsTheTtl, &["complete_repeated_does_not_start_the_ttl_again"]),
    (Fault::CompleteCreates, &["complete_of_absent_is_absent_and_creates_nothing"]),
    (Fault::CompleteForgetsTheResult, &["every_kind_of_result_comes_back", "an_empty_result_is_a_result"]),
    (Fault::CompleteKeepsForever, &["a_completed_record_expires_with_its_ttl"]),
    (Fault::CompleteHidesTheOther, &["complete_after_another_has_completed_is_lost_to_it"]),
    (
        Fault::ReleaseDeletes,
        &["release_deletes_no_result", "release_of_anothers_claim_is_lost", "release_of_the_own_claim_makes_it_failed"],
    ),
    (Fault::ReleaseDoesNothing, &["release_of_the_own_claim_makes_it_failed"]),
    (Fault::ReleaseIsRefused, &["release_of_the_own_claim_makes_it_failed"]),
    (Fault::ReleaseOfAbsentLeavesNothing, &["release_of_absent_keeps_its_own_late_claim_from_coming_alive"]),
    (Fault::ReleaseOfAbsentIsKeptForever, &["release_of_absent_is_remembered_for_two_leases"]),
    (Fault::ReleaseForgetsTheError, &["the_last_error_is_kept"]),
    (Fault::EveryoneMayRelease, &["release_of_anothers_claim_is_lost", "a_late_release_leaves_the_next_run_alone"]),
    (Fault::GivingUpFails, &["giving_up_keeps_the_record_in_progress_and_lapsed"]),
    (Fault::GivingUpDoesNothing, &["giving_up_keeps_the_record_in_progress_and_lapsed"]),
    (
        Fault::PutBackReleases,
        &[
            "put_back_to_absent_counts_no_attempt",
            "put_back_to_lapsed_is_lapsed_again",
            "put_back_with_nothing_to_restore_leaves_the_run_below_open",
            "put_back_with_nothing_to_restore_remembers_the_attempts",
        ],
    ),
    (Fault::PutBackDeletes, &["put_back_to_failed_keeps_attempt_and_error", "put_back_of_completed_is_lost"]),
    (Fault::PutBackDoesNothing, &["put_back_to_absent_counts_no_attempt"]),
    (Fault::PutBackIsRefused, &["put_back_to_absent_counts_no_attempt"]),
    (Fault::PutBackOfAbsentLeavesNothing, &["put_back_of_absent_keeps_its_own_late_claim_from_coming_alive"]),
    (Fault::PutBackForgetsTheRecord, &["put_back_to_completed_restores_the_record"]),
    (Fault::EveryoneMayPutBack, &["put_back_of_anothers_claim_is_lost"]),
    (Fault::OneOwner, &["the_owner_is_shown"]),
    (Fault::OneFence, &["fences_grow_with_every_claim"]),
    (Fault::OneKey, &["keys_do_not_meet"]),
    (Fault::MangledKeys, &["keys_of_every_shape_are_kept_apart", "long_keys_are_kept_apart"]),
    (Fault::NeverWakes, &["a_completion_wakes", "a_release_wakes", "giving_up_wakes", "a_put_back_wakes"]),
    (Fault::WakesAtOnce, &["nothing_wakes_the_watch_of_another_key"]),
    (Fault::UnreadableIsIgnored, &["unreadable_is_never_claimed", "no_operation_changes_what_is_unreadable"]),
    (Fault::InspectSeesNothing, &["inspect_shows_a_failure"]),
    (Fault::InspectClaims, &["inspect_of_absent_shows_none", "inspect_shows_a_failure"]),
    (Fault::InspectForgetsMarks, &["inspect_shows_a_claim_given_up"]),
    (Fault::InspectShowsLiveAsLapsed, &["inspect_shows_a_live_claim"]),
    (
        Fault::ChangeAppliesToWhatever,
        &[
            "nothing_of_a_live_run_is_changed",
            "nothing_is_changed_that_moved_since_it_was_seen",
            "a_decision_counts_once",
        ],
    ),
    (Fault::ChangeIsRefused, &["a_person_releases_a_failure"]),
    (Fault::ChangeDoesNothing, &["a_person_resolves_a_claim_given_up"]),
    (Fault::ChangeForgetsTheReason, &["a_person_releases_a_lapsed_claim"]),
    (Fault::ChangeKeepsForever, &["what_a_person_resolved_expires_with_its_ttl"]),
    (Fault::ChangeMixesUpAttempts, &["a_person_allows_one_more_attempt", "a_person_releases_a_lapsed_claim"]),
    (Fault::ListShowsNothing, &["list_shows_every_record_page_by_page", "list_shows_no_large_result"]),
    (
        Fault::ListEndsWithItsFirstPage,
        &["list_shows_every_record_page_by_page", "list_misses_nothing_while_records_come_and_go"],
    ),
    (
        Fault::ListIgnoresConditions,
        &["list_selects_by_state", "list_selects_by_silence", "list_selects_by_what_is_left"],
    ),
    (Fault::ListReadsPatterns, &["list_takes_the_beginning_of_keys_as_text"]),
    (Fault::ListCutsWords, &["a_prefix_is_not_the_beginning_of_another_name"]),
    (Fault::ListShowsLiveAsLapsed, &["list_shows_what_inspect_shows", "list_selects_by_state"]),
    (Fault::ListShowsWhatIsGone, &["list_shows_no_expired_record", "a_removed_record_is_absent"]),
    (Fault::ListHidesTheUnreadable, &["list_says_what_is_unreadable"]),
    (Fault::ListShortensErrors, &["list_shows_no_large_result", "list_shows_what_inspect_shows"]),
    (Fault::ListTakesAnyPlace, &["list_refuses_a_place_that_is_none"]),
    (Fault::RemoveDoesNothing, &["a_removed_record_is_absent", "a_removal_counts_once"]),
    (Fault::RemoveIsRefused, &["a_removed_record_is_absent"]),
    (Fault::RemoveTakesTheLiving, &["remove_leaves_a_live_run_alone"]),
    (Fault::RemoveNeverTakesTheLiving, &["remove_takes_a_live_run_away_by_force"]),
    (Fault::RemoveTakesWhatever, &["remove_leaves_what_moved_since_it_was_seen", "remove_of_absent_has_moved"]),
    (Fault::RemoveTakesAll, &["remove_leaves_other_records_alone"]),
    (Fault::RemoveWakesNobody, &["a_removal_wakes"]),
    (Fault::SweepRemovesTheLapsed, &["a_sweep_removes_nothing_that_stands"]),
];

/// The cases that fail on a store with this fault.
fn failing(fault: Fault) -> BTreeSet<&'static str> {
    let fails = |name| {
        catch_unwind(AssertUnwindSafe(|| conformance::run(name, || async { OnTokiosClock::pause(fault) }))).is_err()
    };
    // Two hundred threads a case are worth their time only where the fault is a race.
    let worth = |name: &&str| fault <= Fault::ClaimReadsThenWrites || !name.contains("two_hundred");
    CASES.iter().map(|case| case.name).filter(worth).filter(|name| fails(name)).collect()
}

#[test]
fn every_fault_is_noticed_and_every_case_notices_one() {
    std::panic::set_hook(Box::new(|_| {}));
    let found: BTreeMap<_, _> = FAULTS.iter().map(|(fault, _)| (*fault, failing(*fault))).collect();
    let _ = std::panic::take_hook();

    for (fault, expected) in FAULTS {
        let missed: Vec<_> = expected.iter().filter(|case| !found[fault].contains(*case)).collect();
        assert!(missed.is_empty(), "{fault:?} is not noticed by {missed:?}, only by {:?}", found[fault]);
        assert!(*fault == Fault::None || !expected.is_empty(), "{fault:?} names no case");
    }
    assert_eq!(found[&Fault::None], BTreeSet::new(), "the wrapper is sound where it is not broken");

    let noticing: BTreeSet<_> = found.values().flatten().copied().collect();
    let blind: Vec<_> = CASES.iter().map(|case| case.name).filter(|name| !noticing.contains(name)).collect();
    assert!(blind.is_empty(), "these cases notice none of the faults: {blind:#?}");
}
