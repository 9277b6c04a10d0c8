//! What can stand in a key: the controls of `fail/key_*.rs` and `fail/keys_*.rs`.

#![deny(warnings)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use idempotent_runtime::{Error, KeyPart, KeyParts, MissingPart, idempotent};

struct Order {
    id: u64,
    name: String,
    pair: (u64, String),
    lines: Vec<Line>,
    tags: HashMap<String, String>,
    customer: Option<u64>,
    shared: Arc<str>,
    price: f64,
}

struct Line {
    article: u32,
}

impl Order {
    fn id(&self) -> u64 {
        self.id
    }

    fn in_region(&self, region: &str) -> String {
        format!("{region}/{}", self.id)
    }
}

struct OrderId(u64);

impl KeyPart for OrderId {
    fn encode(&self, parts: &mut KeyParts<'_>) -> Result<(), MissingPart> {
        self.0.encode(parts)
    }
}

const REGION: &str = "eu";

fn cents(price: f64) -> u64 {
    price.to_bits()
}

fn order_key(order: &Order) -> String {
    order.name.clone()
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn a_parameter(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn a_type_of_ones_own(id: OrderId) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [order.id, order.pair.0, order.pair.1, order.lines[0].article], ttl = 1h)]
async fn fields_and_elements(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [&order.name, *id, &*order.shared, (order.id)], ttl = 1h)]
async fn references(order: &Order, id: &u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(
    prefix = "order",
    keys = [order.id(), order.in_region(REGION), order.in_region("eu"), order.name.trim()],
    ttl = 1h,
)]
async fn methods(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(
    prefix = "order",
    keys = [order_key(&order), u64::from(order.lines[0].article), cents(order.price)],
    ttl = 1h,
)]
async fn calls(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(
    prefix = "order",
    keys = [order.lines.iter().map(|line| line.article + 1).max(), order.tags.get("id")],
    ttl = 1h,
)]
async fn closures_in_arguments(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [order.customer], ttl = 1h)]
async fn something_that_may_be_missing(order: Order) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [order.lock().unwrap().name], ttl = 1h)]
async fn a_borrowed_temporary(order: Arc<Mutex<Order>>) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id, name, first], ttl = 1h)]
async fn patterns((id, Order { name, .. }): (u64, Order), [first, rest @ ..]: [u8; 2]) -> Result<(), Error> {
    let _ = rest;
    Ok(())
}

struct Kitchen {
    tenant: u64,
}

impl Kitchen {
    #[idempotent(prefix = "order", keys = [self.tenant, id], ttl = 1h)]
    async fn of_self(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {
    let _ = (a_parameter, a_type_of_ones_own, fields_and_elements, references, methods, calls, Kitchen::of_self);
    let _ = (closures_in_arguments, something_that_may_be_missing, a_borrowed_temporary, patterns);
    let _ = Kitchen { tenant: 1 };
}
