//! What can stand in `existing` and `verify`: the controls of `fail/existing_*.rs` and `fail/verify_*.rs`.

#![deny(warnings)]

use std::future::{Future, ready};
use std::pin::Pin;

use idempotent_runtime::{Error, idempotent};

struct Kitchen {
    orders: Vec<u64>,
}

impl Kitchen {
    async fn find(&self, id: &u64) -> Result<Option<u64>, Error> {
        Ok(self.orders.iter().find(|order| *order == id).copied())
    }

    async fn has(&self, id: u64) -> Result<bool, Error> {
        Ok(self.orders.contains(&id))
    }

    #[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = self.find(&id), verify = self.has(id))]
    async fn by_method(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }

    #[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = self.find(&id), verify = self.has(id))]
    async fn with_mutable_self(&mut self, id: u64) -> Result<u64, Error> {
        self.orders.push(id);
        Ok(id)
    }

    #[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = Self::lookup(&self, id))]
    async fn by_path(self, id: u64) -> Result<u64, Error> {
        drop(self);
        Ok(id)
    }

    fn lookup(&self, id: u64) -> impl Future<Output = Result<Option<u64>, Error>> {
        async move { self.find(&id).await }
    }
}

async fn find(name: String) -> Result<Option<String>, Error> {
    Ok(Some(name))
}

fn boxed(name: &str) -> Pin<Box<dyn Future<Output = Result<bool, Error>> + Send + '_>> {
    Box::pin(async move { Ok(name.is_empty()) })
}

#[idempotent(prefix = "order", keys = [name], ttl = 1h, existing = find(name.clone()), verify = boxed(&name))]
async fn by_clone_and_by_reference(name: String) -> Result<String, Error> {
    Ok(name)
}

#[idempotent(
    prefix = "order",
    keys = [name],
    ttl = 1h,
    existing = async {
        if boxed(name).await? {
            return Ok(None);
        }
        find(name.to_owned()).await
    },
    verify = ready(Ok(true)),
)]
async fn by_block(name: &str) -> Result<String, Error> {
    Ok(name.to_owned())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = pending)]
async fn by_a_parameter(id: u64, pending: impl Future<Output = Result<Option<u64>, Error>>) -> Result<u64, Error> {
    Ok(id)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, verify = async { Ok(check(id)) }, existing = async { Ok(None) })]
async fn with_types_to_infer<T: Default + serde::Serialize + serde::de::DeserializeOwned>(id: u64) -> Result<T, Error> {
    Ok(T::default())
}

fn check(id: u64) -> bool {
    id > 0
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, on_duplicate = reject, existing = never(), verify = boxed("a"))]
async fn of_a_value_that_is_not_recorded(id: u64) -> Result<Box<dyn Fn()>, Error> {
    Ok(Box::new(|| {}))
}

async fn never() -> Result<Option<Box<dyn Fn()>>, Error> {
    Ok(None)
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h, existing = future(async { Ok(None) }))]
fn on_a_function_that_returns_a_future(id: u64) -> impl Future<Output = Result<u64, Error>> {
    async move { Ok(id) }
}

fn future<F: Future<Output = Result<Option<u64>, Error>>>(future: F) -> F {
    future
}

fn main() {
    let _ = (Kitchen::by_method, Kitchen::with_mutable_self, Kitchen::by_path, by_clone_and_by_reference, by_block);
    let _ = (with_types_to_infer::<u64>, of_a_value_that_is_not_recorded, on_a_function_that_returns_a_future);
    let _ = (|id| by_a_parameter(id, ready(Ok(None))), Kitchen { orders: Vec::new() });
}
