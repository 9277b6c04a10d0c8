//! What the attribute can stand on: the controls of `fail/function_*.rs`, `fail/future_*.rs`, `fail/on_*.rs` and
//! `fail/declaration_*.rs`.

#![deny(warnings)]

use std::future::Future;
use std::pin::Pin;

use idempotent_runtime::{Error, idempotent};

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
async fn async_fn(id: u64) -> Result<(), Error> {
    Ok(())
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn future(id: u64) -> impl Future<Output = Result<(), Error>> + Send {
    async move { Ok(()) }
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn boxed(id: u64) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send>> {
    Box::pin(async move { Ok(()) })
}

#[idempotent(prefix = "order", keys = [id], ttl = 1h)]
fn boxed_by_full_path(id: u64) -> ::std::pin::Pin<::std::boxed::Box<dyn ::std::future::Future<Output = Result<(), Error>>>> {
    ::std::boxed::Box::pin(async move { Ok(()) })
}

#[idempotent(prefix = "order", keys = [name], ttl = 1h)]
fn borrowing(name: &str) -> impl Future<Output = Result<usize, Error>> {
    async { Ok(name.len()) }
}

trait Kitchen {
    async fn prepare(&self, id: u64) -> Result<(), Error>;

    #[idempotent(prefix = "order", keys = [id], ttl = 1h)]
    async fn with_a_body(&self, id: u64) -> Result<(), Error> {
        self.prepare(id).await
    }
}

struct Oven;

impl Kitchen for Oven {
    #[idempotent(prefix = "order", keys = [id], ttl = 1h)]
    async fn prepare(&self, id: u64) -> Result<(), Error> {
        Ok(())
    }
}

impl Oven {
    #[idempotent(prefix = "order", keys = [id], ttl = 1h)]
    pub(crate) async unsafe fn every_qualifier(mut self: Box<Self>, id: u64) -> Result<(), Error> {
        *self = Oven;
        Ok(())
    }
}

macro_rules! function {
    ($visibility:vis $name:ident($parameter:ident: $ty:ty) -> $reply:ty $body:block) => {
        #[idempotent(prefix = "order", keys = [$parameter], ttl = 1h)]
        $visibility async fn $name($parameter: $ty) -> $reply $body
    };
}

function!(pub from_fragments(id: u64) -> Result<u64, Error> { Ok(id) });

fn main() {
    let _ = (async_fn, future, boxed, boxed_by_full_path, borrowing, Oven::every_qualifier, from_fragments);
    let _ = (<Oven as Kitchen>::prepare, <Oven as Kitchen>::with_a_body);
}
