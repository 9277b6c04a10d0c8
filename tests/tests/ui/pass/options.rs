//! Every option with each of its values: the controls of `fail/option_*.rs`, `fail/choice_*.rs`, `fail/prefix_*.rs`,
//! `fail/on_*.rs`, `fail/max_attempts_*.rs`, `fail/flag_*.rs`, `fail/run_in_outage_*.rs`, `fail/fingerprint_*.rs`,
//! `fail/via_*.rs`, `fail/map_err_*.rs` and `fail/crate_*.rs`.

#![deny(warnings)]

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, OnError, idempotent};
use serde::Serialize;

const PATIENCE: Duration = Duration::from_secs(5);

fn judge(_: &Error) -> OnError {
    OnError::Release
}

fn recorded(_: &Error) -> OnError {
    OnError::Release
}

async fn find(_: &u64) -> Result<Option<()>, Error> {
    Ok(None)
}

mod my {
    pub(crate) use idempotent_runtime as runtime;
}

#[derive(Serialize)]
struct Order {
    id: u64,
    amount: u32,
}

#[derive(Debug)]
struct Status;

impl Status {
    fn from_idempotency(_: Error) -> Self {
        Self
    }
}

macro_rules! handlers {
    ($($name:ident: $option:ident = $value:expr;)*) => {$(
        #[idempotent(prefix = "order", keys = [order.id], ttl = 1h, $option = $value)]
        async fn $name(order: Order) -> Result<(), Error> {
            Ok(())
        }
    )*};
}

handlers! {
    replay: on_duplicate = replay;
    skip: on_duplicate = skip;
    reject: on_duplicate = reject;
    busy: on_busy = reject;
    waits: on_busy = wait(5s);
    waits_by_string: on_busy = wait("1m 30s");
    waits_by_constant: on_busy = wait(PATIENCE);
    waits_shortest: on_busy = wait(1ms);
    release: on_error = release;
    judged: on_error = judge;
    judge_by_path: on_error = self::judge;
    judge_by_closure: on_error = |_| OnError::Release;
    recorded_by_another: on_error = self::recorded;
    rerun: on_crash = rerun;
    hold: on_crash = hold;
    outage: on_outage = reject;
    unguarded: on_outage = run;
    cancel: on_lost = cancel;
    strict: on_lost = strict;
    finish: on_lost = finish;
    once: max_attempts = 1;
    often: max_attempts = 1_000;
    in_hexadecimal: max_attempts = 0xff;
    timed: timeout = 30s;
    timed_by_constant: timeout = PATIENCE;
    timed_shortest: timeout = 1ms;
    timed_for_longer_than_a_lease: timeout = 1w;
}

#[idempotent(prefix = "order", keys = [id], ttl = forever)]
async fn kept_for_ever(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_error = record, map_err = |error| error.to_string())]
async fn recorded_errors(id: u64) -> Result<(), String> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], fenced, ttl = 1h)]
async fn fenced(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", hidden, keys = [id], ttl = 1h)]
async fn hidden(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_outage = run, on_lost = cancel, on_crash = rerun)]
async fn unguarded_without_a_contradiction(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_outage = run, on_crash = hold, existing = find(&id))]
async fn unguarded_and_held_with_a_way_to_find_out(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_outage = reject, on_crash = hold, on_lost = strict)]
async fn as_careful_as_can_be(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [order.id], ttl = 1h, fingerprint = order)]
async fn fingerprint(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [order.id], ttl = 1h, fingerprint = &order.amount)]
async fn fingerprint_of_reference(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "A-z0_9.a:b/c", keys = [order.id], ttl = 1h, fingerprint = [order.amount, order.id + 1])]
async fn every_character_and_a_list(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(ttl = 1h, keys = [id], prefix = "order",)]
async fn any_order_and_a_last_comma(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = Status::from_idempotency)]
async fn function_for_errors(id: u64) -> Result<(), Status> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = |error| error.to_string())]
async fn closure_for_errors(id: u64) -> Result<(), String> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, map_err = drop)]
async fn function_without_a_type(id: u64) -> Result<(), ()> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, crate = my::runtime)]
async fn runtime_by_another_path(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, via = idempotency)]
async fn handle_by_reference(idempotency: &Idempotency, id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, via = shared())]
async fn handle_from_function(id: u64) -> Result<(), Error> {
    Ok(())
}

fn shared() -> Arc<Idempotency> {
    Arc::new(Idempotency::memory())
}

struct Kitchen {
    idempotency: Idempotency,
}

impl Kitchen {
    #[idempotent(prefix = "order", keys = [id], ttl = 1h, via = self.idempotency)]
    async fn handle_in_a_field(&mut self, id: u64) -> Result<(), Error> {
        Ok(())
    }

    #[idempotent(prefix = "order", keys = [id], ttl = 1h, via = &self.idempotency)]
    async fn handle_borrowed(self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {
    let _ = (replay, skip, reject, busy, release, outage, unguarded, fingerprint, fingerprint_of_reference);
    let _ = (every_character_and_a_list, any_order_and_a_last_comma, function_for_errors, closure_for_errors);
    let _ = (function_without_a_type, runtime_by_another_path, handle_by_reference, handle_from_function);
    let _ = (Kitchen::handle_in_a_field, Kitchen::handle_borrowed, waits, waits_by_string, waits_by_constant);
    let _ = (waits_shortest, recorded_errors, judged, judge_by_path, judge_by_closure, recorded_by_another, rerun, hold, cancel);
    let _ = (strict, finish, once, often, in_hexadecimal, timed, timed_by_constant, timed_shortest, kept_for_ever);
    let _ = (timed_for_longer_than_a_lease, fenced, hidden, unguarded_without_a_contradiction, as_careful_as_can_be);
    let _ = unguarded_and_held_with_a_way_to_find_out;
}
