//! Reading a value of any type from any format, without compiling the one for the other.
//!
//! A codec has its format's deserializer, a handler has its result's type, and the guard between them knows neither. So
//! the deserializer becomes a [`Source`], and the type is read from a [`Reader`] of one.
//!
//! `erased-serde` does that through visitors of twenty-nine methods, each of them compiled, with all that it calls, for
//! every type. Two hundred result types made that most of what the attribute added to a debug build. Here a visitor has
//! one method, which takes whatever the format has found as an [`Input`].

mod access;
mod source;

use std::fmt;

use erased_serde::Error;
use serde::de::{DeserializeSeed, Deserializer, Error as _, Visitor};

use self::access::{Elements, Entries, Variant};
use self::source::{Once, Source};

/// The one deserializer that result types are compiled for.
pub(crate) struct Reader<'a, 'de>(&'a mut dyn Source<'de>);

/// Reads once from `format`, whatever `read` reads.
pub(crate) fn from_format<'de, D: Deserializer<'de>>(
    format: D,
    read: impl FnOnce(Reader<'_, 'de>) -> Result<(), Error>,
) -> Result<(), D::Error> {
    read(Reader(&mut Once::new(format))).map_err(D::Error::custom)
}

/// What a type expects to find: the method of `Deserializer` that it calls, with its arguments.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Any,
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    String,
    Bytes,
    ByteBuf,
    Option,
    Unit,
    UnitStruct(&'static str),
    NewtypeStruct(&'static str),
    Seq,
    Tuple(usize),
    TupleStruct(&'static str, usize),
    Map,
    Struct(&'static str, &'static [&'static str]),
    Enum(&'static str, &'static [&'static str]),
    Identifier,
    IgnoredAny,
}

/// What a format has found: the method of `Visitor` that it calls, with its argument.
enum Input<'a, 'de> {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(&'a str),
    BorrowedStr(&'de str),
    String(String),
    Bytes(&'a [u8]),
    BorrowedBytes(&'de [u8]),
    ByteBuf(Vec<u8>),
    None,
    Some(Reader<'a, 'de>),
    Unit,
    NewtypeStruct(Reader<'a, 'de>),
    Seq(Elements<'a, 'de>),
    Map(Entries<'a, 'de>),
    Enum(Variant<'a, 'de>),
}

/// A visitor without its types. It keeps what it makes of the input.
trait Visit<'de> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn visit(&mut self, input: Input<'_, 'de>) -> Result<(), Error>;
}

/// A seed without its types. It keeps what it reads.
trait Seed<'de> {
    fn read(&mut self, from: Reader<'_, 'de>) -> Result<(), Error>;
}

// From here on everything is compiled for every type. Hence `match` in place of `?` and of the methods of `Option` and
// `Result`, each of which would be compiled once more.

/// A visitor, and then its value.
struct Visiting<'de, V: Visitor<'de>> {
    visitor: Option<V>,
    value: Option<V::Value>,
}

impl<'de, V: Visitor<'de>> Visiting<'de, V> {
    fn new(visitor: V) -> Self {
        Self { visitor: Some(visitor), value: None }
    }

    fn finish(self, read: Result<(), Error>) -> Result<V::Value, Error> {
        match (read, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(nothing_read()),
            (Err(error), _) => Err(error),
        }
    }
}

impl<'de, V: Visitor<'de>> Visit<'de> for Visiting<'de, V> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.visitor {
            Some(visitor) => visitor.expecting(f),
            None => f.write_str("nothing more"),
        }
    }

    fn visit(&mut self, input: Input<'_, 'de>) -> Result<(), Error> {
        let Some(visitor) = self.visitor.take() else { return Err(read_twice()) };
        let value = match input {
            Input::Bool(found) => visitor.visit_bool(found),
            Input::I8(found) => visitor.visit_i8(found),
            Input::I16(found) => visitor.visit_i16(found),
            Input::I32(found) => visitor.visit_i32(found),
            Input::I64(found) => visitor.visit_i64(found),
            Input::I128(found) => visitor.visit_i128(found),
            Input::U8(found) => visitor.visit_u8(found),
            Input::U16(found) => visitor.visit_u16(found),
            Input::U32(found) => visitor.visit_u32(found),
            Input::U64(found) => visitor.visit_u64(found),
            Input::U128(found) => visitor.visit_u128(found),
            Input::F32(found) => visitor.visit_f32(found),
            Input::F64(found) => visitor.visit_f64(found),
            Input::Char(found) => visitor.visit_char(found),
            Input::Str(found) => visitor.visit_str(found),
            Input::BorrowedStr(found) => visitor.visit_borrowed_str(found),
            Input::String(found) => visitor.visit_string(found),
            Input::Bytes(found) => visitor.visit_bytes(found),
            Input::BorrowedBytes(found) => visitor.visit_borrowed_bytes(found),
            Input::ByteBuf(found) => visitor.visit_byte_buf(found),
            Input::None => visitor.visit_none(),
            Input::Some(found) => visitor.visit_some(found),
            Input::Unit => visitor.visit_unit(),
            Input::NewtypeStruct(found) => visitor.visit_newtype_struct(found),
            Input::Seq(found) => visitor.visit_seq(found),
            Input::Map(found) => visitor.visit_map(found),
            Input::Enum(found) => visitor.visit_enum(found),
        };
        match value {
            Ok(value) => {
                self.value = Some(value);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// A seed, and then its value.
struct Planted<'de, T: DeserializeSeed<'de>> {
    seed: Option<T>,
    value: Option<T::Value>,
}

impl<'de, T: DeserializeSeed<'de>> Planted<'de, T> {
    fn new(seed: T) -> Self {
        Self { seed: Some(seed), value: None }
    }

    fn finish(self, read: Result<(), Error>) -> Result<T::Value, Error> {
        match (read, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(nothing_read()),
            (Err(error), _) => Err(error),
        }
    }
}

impl<'de, T: DeserializeSeed<'de>> Seed<'de> for Planted<'de, T> {
    fn read(&mut self, from: Reader<'_, 'de>) -> Result<(), Error> {
        let Some(seed) = self.seed.take() else { return Err(read_twice()) };
        match seed.deserialize(from) {
            Ok(value) => {
                self.value = Some(value);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

macro_rules! read_as {
    ($($method:ident($($argument:ident: $type:ty),*) $shape:expr;)*) => { $(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Error> {
            let mut visiting = Visiting::new(visitor);
            let read = self.0.read($shape, &mut visiting);
            visiting.finish(read)
        }
    )* };
}

impl<'de> Deserializer<'de> for Reader<'_, 'de> {
    type Error = Error;

    read_as! {
        deserialize_any() Shape::Any;
        deserialize_bool() Shape::Bool;
        deserialize_i8() Shape::I8;
        deserialize_i16() Shape::I16;
        deserialize_i32() Shape::I32;
        deserialize_i64() Shape::I64;
        deserialize_i128() Shape::I128;
        deserialize_u8() Shape::U8;
        deserialize_u16() Shape::U16;
        deserialize_u32() Shape::U32;
        deserialize_u64() Shape::U64;
        deserialize_u128() Shape::U128;
        deserialize_f32() Shape::F32;
        deserialize_f64() Shape::F64;
        deserialize_char() Shape::Char;
        deserialize_str() Shape::Str;
        deserialize_string() Shape::String;
        deserialize_bytes() Shape::Bytes;
        deserialize_byte_buf() Shape::ByteBuf;
        deserialize_option() Shape::Option;
        deserialize_unit() Shape::Unit;
        deserialize_unit_struct(name: &'static str) Shape::UnitStruct(name);
        deserialize_newtype_struct(name: &'static str) Shape::NewtypeStruct(name);
        deserialize_seq() Shape::Seq;
        deserialize_tuple(len: usize) Shape::Tuple(len);
        deserialize_tuple_struct(name: &'static str, len: usize) Shape::TupleStruct(name, len);
        deserialize_map() Shape::Map;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) Shape::Struct(name, fields);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) Shape::Enum(name, variants);
        deserialize_identifier() Shape::Identifier;
        deserialize_ignored_any() Shape::IgnoredAny;
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

#[cold]
fn read_twice() -> Error {
    Error::custom("the format gives a second value where one is wanted")
}

#[cold]
fn nothing_read() -> Error {
    Error::custom("the format gives no value")
}

#[cfg(test)]
mod tests;
