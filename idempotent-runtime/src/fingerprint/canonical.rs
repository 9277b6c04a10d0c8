//! One byte string for one value: what fingerprints digest.
//!
//! Every value is written with its kind in front and its length or end marked, so that no two values share a text.
//! Maps and structs are written as their entries in the order of their keys; integers as decimal digits, whatever
//! their width; `Some(x)` as `x`, enums as JSON would have them. The format is fixed by `Fingerprint::VERSION`.

use serde::Serialize;
use serde::ser::{self, SerializeMap, SerializeSeq, SerializeStruct};

use super::FingerprintError;

/// Appends the canonical form of `value` to `bytes`.
pub(super) fn write<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<(), FingerprintError> {
    value.serialize(Canonical { bytes })
}

struct Canonical<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> Canonical<'a> {
    fn tagged(self, tag: u8, text: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(text.len().to_string().as_bytes());
        self.bytes.push(b':');
        self.bytes.extend_from_slice(text);
    }

    fn integer(self, digits: &impl ToString) {
        self.tagged(b'i', digits.to_string().as_bytes());
    }

    fn list(self, end: &'static [u8]) -> List<'a> {
        self.bytes.push(b'[');
        List { bytes: self.bytes, end }
    }

    fn entries(self, end: &'static [u8]) -> Entries<'a> {
        self.bytes.push(b'{');
        Entries { bytes: self.bytes, starts: Vec::with_capacity(8), end }
    }

    /// Opens a map of one entry, as JSON writes a variant with content.
    fn variant(self, name: &str) -> Self {
        self.bytes.push(b'{');
        Canonical { bytes: self.bytes }.tagged(b's', name.as_bytes());
        self
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<(), FingerprintError> {
            self.integer(&value);
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for Canonical<'a> {
    type Ok = ();
    type Error = FingerprintError;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Entries<'a>;
    type SerializeStructVariant = Entries<'a>;

    integers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128);
    integers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128);

    fn serialize_bool(self, value: bool) -> Result<(), FingerprintError> {
        self.bytes.push(if value { b't' } else { b'f' });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), FingerprintError> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), FingerprintError> {
        self.bytes.push(b'd');
        self.bytes.extend_from_slice(&if value.is_nan() { f64::NAN } else { value }.to_bits().to_be_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), FingerprintError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), FingerprintError> {
        self.tagged(b's', value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), FingerprintError> {
        self.tagged(b'b', value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), FingerprintError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), FingerprintError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), FingerprintError> {
        self.bytes.push(b'n');
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), FingerprintError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), FingerprintError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        let inner = self.variant(variant);
        value.serialize(Canonical { bytes: inner.bytes })?;
        inner.bytes.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, FingerprintError> {
        Ok(self.list(b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<List<'a>, FingerprintError> {
        Ok(self.list(b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a>, FingerprintError> {
        Ok(self.list(b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'a>, FingerprintError> {
        Ok(self.variant(variant).list(b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a>, FingerprintError> {
        Ok(self.entries(b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'a>, FingerprintError> {
        Ok(self.entries(b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries<'a>, FingerprintError> {
        Ok(self.variant(variant).entries(b"}}"))
    }
}

/// A sequence: its elements in their order.
struct List<'a> {
    bytes: &'a mut Vec<u8>,
    end: &'static [u8],
}

impl SerializeSeq for List<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
        write(value, self.bytes)
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.bytes.extend_from_slice(self.end);
        Ok(())
    }
}

macro_rules! also_a_list {
    ($($trait:ident: $method:ident),*) => {$(
        impl ser::$trait for List<'_> {
            type Ok = ();
            type Error = FingerprintError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
                SerializeSeq::serialize_element(self, value)
            }

            fn end(self) -> Result<(), FingerprintError> {
                SerializeSeq::end(self)
            }
        }
    )*};
}

also_a_list!(SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field);

/// A map or struct: its entries in the order of their keys' canonical bytes.
struct Entries<'a> {
    bytes: &'a mut Vec<u8>,
    starts: Vec<usize>,
    end: &'static [u8],
}

impl Entries<'_> {
    /// Puts the entries into the order of their bytes, which is that of their keys.
    fn sort(&mut self) {
        let Some(&first) = self.starts.first() else { return };
        let written = self.bytes.split_off(first);
        let mut entries: Vec<&[u8]> = Vec::with_capacity(self.starts.len());
        for (at, start) in self.starts.iter().enumerate() {
            let end = self.starts.get(at + 1).map_or(written.len(), |next| next - first);
            entries.push(&written[start - first..end]);
        }
        entries.sort_unstable();
        for entry in entries {
            self.bytes.extend_from_slice(entry);
        }
    }

    fn finish(mut self) {
        self.sort();
        self.bytes.extend_from_slice(self.end);
    }
}

impl SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FingerprintError> {
        self.starts.push(self.bytes.len());
        write(key, self.bytes)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
        write(value, self.bytes)
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.finish();
        Ok(())
    }
}

impl SerializeStruct for Entries<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.serialize_entry(name, value)
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.finish();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Entries<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.serialize_entry(name, value)
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.finish();
        Ok(())
    }
}
