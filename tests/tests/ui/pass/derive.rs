//! What `KeyPart` can be derived for: the controls of `fail/derive_*.rs`.

#![deny(warnings)]

use std::marker::PhantomData;
use std::sync::Arc;

use idempotent_runtime::{Error, KeyPart, idempotent};

mod my {
    pub(crate) use idempotent_runtime as runtime;
}

#[derive(KeyPart)]
struct OrderId(u64);

#[derive(KeyPart)]
#[key(crate = my::runtime)]
struct Reexported(u64);

#[derive(Clone, Debug, KeyPart, PartialEq, Eq, Hash)]
pub struct Position<'a, T, const N: usize>
where
    T: Clone,
{
    order: Arc<str>,
    r#type: Option<T>,
    digest: [u8; N],
    name: &'a str,
    #[key(skip)]
    pub price: PhantomData<f64>,
}

trait Tenant {
    type Id;
}

struct Shop;

impl Tenant for Shop {
    type Id = u32;
}

/// The parameter is no key part; what is written is.
#[derive(KeyPart)]
struct Of<T: Tenant> {
    id: T::Id,
    #[key(skip)]
    tenant: PhantomData<T>,
}

#[derive(Clone, Copy, KeyPart)]
#[allow(dead_code)]
#[repr(u8)]
enum Channel {
    Web = 7,
    #[key(rename = "Branch")]
    Shop,
    r#Self_,
}

#[derive(KeyPart)]
struct Nested(OrderId, (Channel, u8), #[key(skip)] f64);

macro_rules! id {
    ($name:ident, $ty:ty) => {
        #[derive(KeyPart)]
        struct $name($ty);
    };
}

id!(Customer, Box<str>);

#[idempotent(prefix = "order", keys = [id, position, of, nested, channel, customer, again], ttl = 1h)]
async fn handler(
    id: OrderId,
    position: Position<'_, u64, 4>,
    of: &Of<Shop>,
    nested: Nested,
    channel: Channel,
    customer: Customer,
    again: Reexported,
) -> Result<(), Error> {
    Ok(())
}

fn main() {
    let _ = handler;
    let of = Of::<Shop> { id: 1, tenant: PhantomData };
    let nested = Nested(OrderId(1), (Channel::Web, 2), 0.5);
    let _ = (of.id, of.tenant, nested.2, Customer("a".into()), Reexported(1));
}
