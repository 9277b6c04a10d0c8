//! What happens, event by event: one test a row of the guide's page "what happens when …", on memory and on Redis.
//!
//! How a call can end at each of its points is a table of its own: the test `crossing`. Processes that die or stand
//! still are in the test `redis`.

mod calls;
mod runs;
mod shop;
mod trouble;

/// Runs each row on each store.
macro_rules! on_every_store {
    ($($rows:ident: $($row:ident,)*;)*) => {
        const ROWS: &[&str] = &[$($(stringify!($row),)*)*];

        mod memory {
            $($(
                #[test]
                fn $row() {
                    crate::shop::on_memory(async |shop| crate::$rows::$row(shop).await);
                }
            )*)*
        }

        mod redis {
            $($(
                #[test]
                fn $row() {
                    crate::shop::on_redis(async |shop| crate::$rows::$row(shop).await);
                }
            )*)*
        }
    };
}

on_every_store! {
    calls:
        a_new_key_runs_and_is_kept_for_its_ttl,
        a_completed_key_is_replayed_skipped_or_rejected,
        a_record_without_its_effect_is_replaced,
        a_key_in_progress_is_busy,
        a_waiter_gets_the_value_or_runs,
        other_arguments_are_a_mismatch_in_every_state,
        a_key_without_a_part_runs_nothing,
        a_fingerprint_that_cannot_be_computed_runs_nothing,
        a_record_that_cannot_be_read_runs_nothing,
        an_effect_that_exists_is_recorded,
        a_question_that_fails_leaves_the_record_as_it_was,
        a_handler_in_a_handler_has_a_record_of_its_own,;
    runs:
        a_value_is_recorded_also_a_falsy_one,
        a_value_that_cannot_be_recorded_never_runs_again,
        an_error_is_released_recorded_or_judged,
        a_run_that_takes_too_long_is_ended,
        a_run_whose_owner_is_gone_is_taken_over_or_held,
        attempts_come_to_an_end,
        fences_grow,;
    trouble:
        a_call_runs_unguarded_in_an_outage_where_it_may,
        a_worker_that_was_overtaken_goes_no_further,
        a_worker_that_was_not_overtaken_goes_on,
        a_store_that_is_silent_for_a_lease_stops_only_the_strict,
        a_completion_that_comes_second_says_so,
        a_record_that_is_gone_is_written_anew,;
}

/// Each row is named in the guide, and what the guide names is a row.
#[test]
fn the_guide_names_the_rows() {
    let guide = include_str!("../../../idempotent-runtime/src/guide/what_happens_when.md");
    for row in ROWS {
        assert!(guide.contains(&format!("`{row}`")), "the guide does not name `{row}`");
    }
    let is_name =
        |word: &&str| word.matches('_').count() > 2 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    for name in guide.split('`').filter(is_name) {
        assert!(ROWS.contains(&name), "there is no row `{name}`");
    }
}
