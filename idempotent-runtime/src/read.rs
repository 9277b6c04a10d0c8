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
use std::marker::PhantomData;

use erased_serde::Error;
use serde::de::{DeserializeSeed, Deserializer, Error as _, Unexpected, Visitor};

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

impl Input<'_, '_> {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Bool(found) => Unexpected::Bool(*found),
            Self::I8(found) => Unexpected::Signed((*found).into()),
            Self::I16(found) => Unexpected::Signed((*found).into()),
            Self::I32(found) => Unexpected::Signed((*found).into()),
            Self::I64(found) => Unexpected::Signed(*found),
            Self::I128(_) => Unexpected::Other("integer `i128`"),
            Self::U8(found) => Unexpected::Unsigned((*found).into()),
            Self::U16(found) => Unexpected::Unsigned((*found).into()),
            Self::U32(found) => Unexpected::Unsigned((*found).into()),
            Self::U64(found) => Unexpected::Unsigned(*found),
            Self::U128(_) => Unexpected::Other("integer `u128`"),
            Self::F32(found) => Unexpected::Float((*found).into()),
            Self::F64(found) => Unexpected::Float(*found),
            Self::Char(found) => Unexpected::Char(*found),
            Self::Str(found) | Self::BorrowedStr(found) => Unexpected::Str(found),
            Self::String(found) => Unexpected::Str(found),
            Self::Bytes(found) | Self::BorrowedBytes(found) => Unexpected::Bytes(found),
            Self::ByteBuf(found) => Unexpected::Bytes(found),
            Self::None | Self::Some(_) => Unexpected::Option,
            Self::Unit => Unexpected::Unit,
            Self::NewtypeStruct(_) => Unexpected::NewtypeStruct,
            Self::Seq(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
            Self::Enum(_) => Unexpected::Enum,
        }
    }
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
struct Visiting<'de, V: Visitor<'de>, A = Everything> {
    visitor: Option<V>,
    value: Option<V::Value>,
    accepts: PhantomData<A>,
}

impl<'de, V: Visitor<'de>, A> Visiting<'de, V, A> {
    fn new(visitor: V) -> Self {
        Self { visitor: Some(visitor), value: None, accepts: PhantomData }
    }

    fn finish(self, read: Result<(), Error>) -> Result<V::Value, Error> {
        match (read, self.value) {
            (Ok(()), Some(value)) => Ok(value),
            (Ok(()), None) => Err(nothing_read()),
            (Err(error), _) => Err(error),
        }
    }
}

impl<'de, V: Visitor<'de>, A: Accepts> Visit<'de> for Visiting<'de, V, A> {
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.visitor {
            Some(visitor) => visitor.expecting(f),
            None => f.write_str("nothing more"),
        }
    }

    fn visit(&mut self, input: Input<'_, 'de>) -> Result<(), Error> {
        let Some(visitor) = self.visitor.take() else { return Err(read_twice()) };
        match A::give(visitor, input) {
            Ok(value) => {
                self.value = Some(value);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Which inputs a visitor is compiled for.
trait Accepts {
    fn give<'de, V: Visitor<'de>>(visitor: V, input: Input<'_, 'de>) -> Result<V::Value, Error>;
}

/// All of them.
enum Everything {}

/// What there is for a struct: its fields, by name or in order.
enum Fields {}

/// What there is for an identifier: a text, bytes or an index. (With `#[serde(flatten)]` also whatever else is a key.)
enum Names {}

impl Accepts for Everything {
    fn give<'de, V: Visitor<'de>>(visitor: V, input: Input<'_, 'de>) -> Result<V::Value, Error> {
        match input {
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
        }
    }
}

impl Accepts for Fields {
    fn give<'de, V: Visitor<'de>>(visitor: V, input: Input<'_, 'de>) -> Result<V::Value, Error> {
        match input {
            Input::Map(found) => visitor.visit_map(found),
            Input::Seq(found) => visitor.visit_seq(found),
            other => Err(Error::invalid_type(other.unexpected(), &visitor)),
        }
    }
}

impl Accepts for Names {
    fn give<'de, V: Visitor<'de>>(visitor: V, input: Input<'_, 'de>) -> Result<V::Value, Error> {
        match input {
            Input::Str(found) => visitor.visit_str(found),
            Input::BorrowedStr(found) => visitor.visit_borrowed_str(found),
            Input::String(found) => visitor.visit_string(found),
            Input::Bytes(found) => visitor.visit_bytes(found),
            Input::BorrowedBytes(found) => visitor.visit_borrowed_bytes(found),
            Input::ByteBuf(found) => visitor.visit_byte_buf(found),
            Input::Bool(found) => visitor.visit_bool(found),
            Input::Char(found) => visitor.visit_char(found),
            Input::I8(found) => visitor.visit_i8(found),
            Input::I16(found) => visitor.visit_i16(found),
            Input::I32(found) => visitor.visit_i32(found),
            Input::I64(found) => visitor.visit_i64(found),
            Input::U8(found) => visitor.visit_u8(found),
            Input::U16(found) => visitor.visit_u16(found),
            Input::U32(found) => visitor.visit_u32(found),
            Input::U64(found) => visitor.visit_u64(found),
            other => Err(Error::invalid_type(other.unexpected(), &visitor)),
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
    ($($method:ident($($argument:ident: $type:ty),*) $shape:expr, $accepts:ty;)*) => { $(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Error> {
            let mut visiting = Visiting::<V, $accepts>::new(visitor);
            let read = self.0.read($shape, &mut visiting);
            visiting.finish(read)
        }
    )* };
}

impl<'de> Deserializer<'de> for Reader<'_, 'de> {
    type Error = Error;

    read_as! {
        deserialize_any() Shape::Any, Everything;
        deserialize_bool() Shape::Bool, Everything;
        deserialize_i8() Shape::I8, Everything;
        deserialize_i16() Shape::I16, Everything;
        deserialize_i32() Shape::I32, Everything;
        deserialize_i64() Shape::I64, Everything;
        deserialize_i128() Shape::I128, Everything;
        deserialize_u8() Shape::U8, Everything;
        deserialize_u16() Shape::U16, Everything;
        deserialize_u32() Shape::U32, Everything;
        deserialize_u64() Shape::U64, Everything;
        deserialize_u128() Shape::U128, Everything;
        deserialize_f32() Shape::F32, Everything;
        deserialize_f64() Shape::F64, Everything;
        deserialize_char() Shape::Char, Everything;
        deserialize_str() Shape::Str, Everything;
        deserialize_string() Shape::String, Everything;
        deserialize_bytes() Shape::Bytes, Everything;
        deserialize_byte_buf() Shape::ByteBuf, Everything;
        deserialize_option() Shape::Option, Everything;
        deserialize_unit() Shape::Unit, Everything;
        deserialize_unit_struct(name: &'static str) Shape::UnitStruct(name), Everything;
        deserialize_newtype_struct(name: &'static str) Shape::NewtypeStruct(name), Everything;
        deserialize_seq() Shape::Seq, Everything;
        deserialize_tuple(len: usize) Shape::Tuple(len), Everything;
        deserialize_tuple_struct(name: &'static str, len: usize) Shape::TupleStruct(name, len), Everything;
        deserialize_map() Shape::Map, Everything;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) Shape::Struct(name, fields), Fields;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) Shape::Enum(name, variants), Everything;
        deserialize_identifier() Shape::Identifier, Names;
        deserialize_ignored_any() Shape::IgnoredAny, Everything;
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
