//! A format's deserializer without its type: compiled for every format, and for no type that is read.

use std::fmt;

use erased_serde::Error;
use serde::de::{self, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

use super::access::{Chosen, Elements, Entries, Variant};
use super::{Input, Reader, Shape, Visit, read_twice};

pub(super) trait Source<'de> {
    fn read(&mut self, shape: Shape, visit: &mut dyn Visit<'de>) -> Result<(), Error>;
    fn is_human_readable(&self) -> bool;
}

/// A deserializer, until it is used.
pub(super) struct Once<D>(Option<D>);

impl<D> Once<D> {
    pub(super) fn new(format: D) -> Self {
        Self(Some(format))
    }
}

impl<'de, D: Deserializer<'de>> Source<'de> for Once<D> {
    fn read(&mut self, shape: Shape, visit: &mut dyn Visit<'de>) -> Result<(), Error> {
        let format = self.0.take().ok_or_else(read_twice)?;
        let visitor = Any(visit);
        let read = match shape {
            Shape::Any => format.deserialize_any(visitor),
            Shape::Bool => format.deserialize_bool(visitor),
            Shape::I8 => format.deserialize_i8(visitor),
            Shape::I16 => format.deserialize_i16(visitor),
            Shape::I32 => format.deserialize_i32(visitor),
            Shape::I64 => format.deserialize_i64(visitor),
            Shape::I128 => format.deserialize_i128(visitor),
            Shape::U8 => format.deserialize_u8(visitor),
            Shape::U16 => format.deserialize_u16(visitor),
            Shape::U32 => format.deserialize_u32(visitor),
            Shape::U64 => format.deserialize_u64(visitor),
            Shape::U128 => format.deserialize_u128(visitor),
            Shape::F32 => format.deserialize_f32(visitor),
            Shape::F64 => format.deserialize_f64(visitor),
            Shape::Char => format.deserialize_char(visitor),
            Shape::Str => format.deserialize_str(visitor),
            Shape::String => format.deserialize_string(visitor),
            Shape::Bytes => format.deserialize_bytes(visitor),
            Shape::ByteBuf => format.deserialize_byte_buf(visitor),
            Shape::Option => format.deserialize_option(visitor),
            Shape::Unit => format.deserialize_unit(visitor),
            Shape::UnitStruct(name) => format.deserialize_unit_struct(name, visitor),
            Shape::NewtypeStruct(name) => format.deserialize_newtype_struct(name, visitor),
            Shape::Seq => format.deserialize_seq(visitor),
            Shape::Tuple(len) => format.deserialize_tuple(len, visitor),
            Shape::TupleStruct(name, len) => format.deserialize_tuple_struct(name, len, visitor),
            Shape::Map => format.deserialize_map(visitor),
            Shape::Struct(name, fields) => format.deserialize_struct(name, fields, visitor),
            Shape::Enum(name, variants) => format.deserialize_enum(name, variants, visitor),
            Shape::Identifier => format.deserialize_identifier(visitor),
            Shape::IgnoredAny => format.deserialize_ignored_any(visitor),
        };
        read.map_err(de::Error::custom)
    }

    fn is_human_readable(&self) -> bool {
        self.0.as_ref().is_none_or(D::is_human_readable)
    }
}

/// The one visitor that formats are compiled for.
pub(super) struct Any<'a, 'de>(pub(super) &'a mut dyn Visit<'de>);

macro_rules! visit_as {
    ($($method:ident($type:ty) $input:ident;)*) => { $(
        fn $method<E: de::Error>(self, found: $type) -> Result<(), E> {
            self.0.visit(Input::$input(found)).map_err(E::custom)
        }
    )* };
}

impl<'de> Visitor<'de> for Any<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit_as! {
        visit_bool(bool) Bool;
        visit_i8(i8) I8;
        visit_i16(i16) I16;
        visit_i32(i32) I32;
        visit_i64(i64) I64;
        visit_i128(i128) I128;
        visit_u8(u8) U8;
        visit_u16(u16) U16;
        visit_u32(u32) U32;
        visit_u64(u64) U64;
        visit_u128(u128) U128;
        visit_f32(f32) F32;
        visit_f64(f64) F64;
        visit_char(char) Char;
        visit_str(&str) Str;
        visit_borrowed_str(&'de str) BorrowedStr;
        visit_string(String) String;
        visit_bytes(&[u8]) Bytes;
        visit_borrowed_bytes(&'de [u8]) BorrowedBytes;
        visit_byte_buf(Vec<u8>) ByteBuf;
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.0.visit(Input::None).map_err(E::custom)
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.visit(Input::Unit).map_err(E::custom)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        self.0.visit(Input::Some(Reader(&mut Once::new(inner)))).map_err(de::Error::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        self.0.visit(Input::NewtypeStruct(Reader(&mut Once::new(inner)))).map_err(de::Error::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.visit(Input::Seq(Elements(&mut seq))).map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.visit(Input::Map(Entries(&mut map))).map_err(de::Error::custom)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        self.0.visit(Input::Enum(Variant(&mut Chosen::Unread(access)))).map_err(de::Error::custom)
    }
}
