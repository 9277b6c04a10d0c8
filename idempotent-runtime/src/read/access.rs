//! What is in a sequence, a map or an enum of a format, without the format's types.

use std::mem;

use erased_serde::Error;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::source::{Any, Once};
use super::{Fields, Planted, Reader, Seed, Visit, Visiting, read_twice};

/// The elements of a sequence.
pub(super) struct Elements<'a, 'de>(pub(super) &'a mut dyn AnySeq<'de>);

/// The entries of a map.
pub(super) struct Entries<'a, 'de>(pub(super) &'a mut dyn AnyMap<'de>);

/// The variant of an enum: first which one it is, then what is in it.
pub(super) struct Variant<'a, 'de>(pub(super) &'a mut dyn AnyEnum<'de>);

pub(super) trait AnySeq<'de> {
    /// Whether there was another element.
    fn next(&mut self, seed: &mut dyn Seed<'de>) -> Result<bool, Error>;
    fn hint(&self) -> Option<usize>;
}

pub(super) trait AnyMap<'de> {
    /// Whether there was another key.
    fn key(&mut self, seed: &mut dyn Seed<'de>) -> Result<bool, Error>;
    fn value(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error>;
    fn hint(&self) -> Option<usize>;
}

pub(super) trait AnyEnum<'de> {
    fn variant(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error>;
    fn unit(&mut self) -> Result<(), Error>;
    fn newtype(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error>;
    fn tuple(&mut self, len: usize, visit: &mut dyn Visit<'de>) -> Result<(), Error>;
    fn fields(&mut self, fields: &'static [&'static str], visit: &mut dyn Visit<'de>) -> Result<(), Error>;
}

// Compiled for every type that is read.

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let mut planted = Planted::new(seed);
        match self.0.next(&mut planted) {
            Ok(_) => Ok(planted.value),
            Err(error) => Err(error),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.hint()
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let mut planted = Planted::new(seed);
        match self.0.key(&mut planted) {
            Ok(_) => Ok(planted.value),
            Err(error) => Err(error),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut planted = Planted::new(seed);
        let read = self.0.value(&mut planted);
        planted.finish(read)
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.hint()
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let mut planted = Planted::new(seed);
        let read = self.0.variant(&mut planted);
        match planted.finish(read) {
            Ok(variant) => Ok((variant, self)),
            Err(error) => Err(error),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.unit()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        let mut planted = Planted::new(seed);
        let read = self.0.newtype(&mut planted);
        planted.finish(read)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        let mut visiting = Visiting::<V>::new(visitor);
        let read = self.0.tuple(len, &mut visiting);
        visiting.finish(read)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        let mut visiting = Visiting::<V, Fields>::new(visitor);
        let read = self.0.fields(fields, &mut visiting);
        visiting.finish(read)
    }
}

// Compiled for every format.

/// The one seed that formats are compiled for.
struct AnySeed<'a, 'de>(&'a mut dyn Seed<'de>);

impl<'de> DeserializeSeed<'de> for AnySeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, format: D) -> Result<(), D::Error> {
        self.0.read(Reader(&mut Once::new(format))).map_err(de::Error::custom)
    }
}

impl<'de, A: SeqAccess<'de>> AnySeq<'de> for A {
    fn next(&mut self, seed: &mut dyn Seed<'de>) -> Result<bool, Error> {
        Ok(self.next_element_seed(AnySeed(seed)).map_err(de::Error::custom)?.is_some())
    }

    fn hint(&self) -> Option<usize> {
        self.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> AnyMap<'de> for A {
    fn key(&mut self, seed: &mut dyn Seed<'de>) -> Result<bool, Error> {
        Ok(self.next_key_seed(AnySeed(seed)).map_err(de::Error::custom)?.is_some())
    }

    fn value(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error> {
        self.next_value_seed(AnySeed(seed)).map_err(de::Error::custom)
    }

    fn hint(&self) -> Option<usize> {
        self.size_hint()
    }
}

/// How far an enum has been read.
pub(super) enum Chosen<'de, A: EnumAccess<'de>> {
    Unread(A),
    Named(A::Variant),
    Read,
}

impl<'de, A: EnumAccess<'de>> Chosen<'de, A> {
    fn named(&mut self) -> Result<A::Variant, Error> {
        match mem::replace(self, Self::Read) {
            Self::Named(variant) => Ok(variant),
            Self::Unread(_) | Self::Read => Err(read_twice()),
        }
    }
}

impl<'de, A: EnumAccess<'de>> AnyEnum<'de> for Chosen<'de, A> {
    fn variant(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error> {
        let Self::Unread(access) = mem::replace(self, Self::Read) else { return Err(read_twice()) };
        let ((), variant) = access.variant_seed(AnySeed(seed)).map_err(de::Error::custom)?;
        *self = Self::Named(variant);
        Ok(())
    }

    fn unit(&mut self) -> Result<(), Error> {
        self.named()?.unit_variant().map_err(de::Error::custom)
    }

    fn newtype(&mut self, seed: &mut dyn Seed<'de>) -> Result<(), Error> {
        self.named()?.newtype_variant_seed(AnySeed(seed)).map_err(de::Error::custom)
    }

    fn tuple(&mut self, len: usize, visit: &mut dyn Visit<'de>) -> Result<(), Error> {
        self.named()?.tuple_variant(len, Any(visit)).map_err(de::Error::custom)
    }

    fn fields(&mut self, fields: &'static [&'static str], visit: &mut dyn Visit<'de>) -> Result<(), Error> {
        self.named()?.struct_variant(fields, Any(visit)).map_err(de::Error::custom)
    }
}
