//! Every option with each of its values: the controls of `fail/option_*.rs`, `fail/choice_*.rs`, `fail/prefix_*.rs`,
//! `fail/on_*_unknown.rs`, `fail/fingerprint_*.rs`, `fail/via_*.rs`, `fail/map_err_*.rs` and `fail/crate_*.rs`.

#![deny(warnings)]

use std::sync::Arc;

use idempotent_runtime::{Error, Idempotency, idempotent};
use serde::Serialize;

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
    release: on_error = release;
    outage: on_outage = reject;
    unguarded: on_outage = run;
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
    unimplemented!()
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
    let _ = (Kitchen::handle_in_a_field, Kitchen::handle_borrowed);
}
