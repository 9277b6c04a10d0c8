//! What a derived key part writes into a key.

#![warn(clippy::all, clippy::pedantic, clippy::nursery)]

use std::marker::PhantomData;

use idempotent_runtime::{ErrorKind, Idempotency, KeyPart};

fn key(part: &dyn KeyPart) -> Result<String, ErrorKind> {
    let key = Idempotency::memory().key("p", &[part]).map_err(|error| error.kind())?;
    Ok(key.as_str().to_owned())
}

#[derive(KeyPart)]
struct OrderId<T>(T);

#[derive(KeyPart)]
struct Position<'a> {
    order: OrderId<u64>,
    name: &'a str,
    #[key(skip)]
    _price: f64,
    channel: Option<Channel>,
}

#[derive(Clone, Copy, KeyPart)]
enum Channel {
    Web,
    #[key(rename = "Branch:1")]
    Shop,
    #[allow(non_camel_case_types)]
    r#box,
}

const fn position(channel: Option<Channel>) -> Position<'static> {
    Position { order: OrderId(7), name: "a:b", _price: 0.5, channel }
}

#[test]
fn a_newtype_is_what_it_holds() {
    assert_eq!(key(&OrderId(7)), key(&7));
    assert_eq!(key(&OrderId("7".to_owned())), key(&7));
}

#[test]
fn a_struct_is_its_fields_in_declared_order() {
    assert_eq!(key(&position(Some(Channel::Web))).as_deref(), Ok("p:7:a%3Ab:Web"));
    assert_eq!(key(&position(None)), Err(ErrorKind::MissingKeyPart), "a part that is missing is missing here too");
}

#[test]
fn an_enum_is_the_name_of_its_variant() {
    assert_eq!(key(&Channel::Web).as_deref(), Ok("p:Web"));
    assert_eq!(key(&Channel::Shop).as_deref(), Ok("p:Branch%3A1"));
    assert_eq!(key(&Channel::r#box).as_deref(), Ok("p:box"));
}

#[test]
fn the_fields_are_asked_and_not_the_parameters() {
    trait Tenant {
        type Id;
    }
    /// No key part.
    struct Shop;
    impl Tenant for Shop {
        type Id = u32;
    }

    #[derive(KeyPart)]
    struct Of<T: Tenant> {
        id: T::Id,
        #[key(skip)]
        _tenant: PhantomData<T>,
    }

    assert_eq!(key(&Of::<Shop> { id: 3, _tenant: PhantomData }).as_deref(), Ok("p:3"));
}
