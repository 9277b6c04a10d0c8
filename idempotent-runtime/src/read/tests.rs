//! Whatever is read through a [`Reader`] is what the format itself reads, or the same mistake.

use std::collections::BTreeMap;
use std::fmt::Debug;

use erased_serde::Error;
use serde::de::value::{self, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::from_format;

fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(format: D) -> Result<T, D::Error> {
    let mut read = None;
    from_format(format, |from| {
        read = Some(T::deserialize(from)?);
        Ok(())
    })?;
    Ok(read.expect("no mistake, so a value"))
}

/// Reads `json` both ways, and gives what came of it.
fn both<T: DeserializeOwned + Debug>(json: &str) -> String {
    let direct = serde_json::from_str::<T>(json).map_err(|error| error.to_string());
    let read: Result<T, _> = read(&mut serde_json::Deserializer::from_str(json));
    let read = read.map_err(|error| error.to_string());
    assert_eq!(format!("{read:?}"), format!("{direct:?}"), "{json}");
    format!("{read:?}")
}

fn round_trip<T: Serialize + DeserializeOwned + Debug + PartialEq>(value: &T) {
    let json = serde_json::to_string(value).expect("JSON can say it");
    assert_eq!(both::<T>(&json), format!("{:?}", Ok::<_, String>(value)));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    yes: bool,
    small: i8,
    large: u64,
    vast: i128,
    half: f64,
    sign: char,
    name: String,
    unit: (),
    marker: Marker,
    wrapped: Wrapped,
    pair: Pair,
    none: Option<u8>,
    some: Option<Vec<Wrapped>>,
    map: BTreeMap<u16, Shape>,
    array: [u8; 3],
    nested: Option<Box<Everything>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Marker;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(u32);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i64, String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Dot,
    Circle(u32),
    Line(u32, u32),
    Square { side: u32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Dot,
    Square { side: u32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(u32),
    Text(String),
    Square { side: u32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    id: u32,
    #[serde(flatten)]
    rest: BTreeMap<String, u64>,
}

fn everything(nested: Option<Box<Everything>>) -> Everything {
    let shapes = [Shape::Dot, Shape::Circle(1), Shape::Line(2, 3), Shape::Square { side: 4 }];
    Everything {
        yes: true,
        small: -8,
        large: u64::MAX,
        vast: i128::MIN,
        half: 0.5,
        sign: 'é',
        name: "a \"name\"".into(),
        unit: (),
        marker: Marker,
        wrapped: Wrapped(7),
        pair: Pair(-1, "b".into()),
        none: None,
        some: Some(vec![Wrapped(1), Wrapped(2)]),
        map: (1..).zip(shapes).collect(),
        array: [1, 2, 3],
        nested,
    }
}

#[test]
fn values_of_every_shape_are_read() {
    round_trip(&everything(Some(Box::new(everything(None)))));
    round_trip(&[Tagged::Dot, Tagged::Square { side: 1 }]);
    round_trip(&vec![Untagged::Number(1), Untagged::Text("a".into()), Untagged::Square { side: 1 }]);
    round_trip(&Flat { id: 1, rest: [("a".to_owned(), 2)].into() });
    round_trip(&Ok::<(u8, String), Shape>((1, String::new())));
    round_trip(&serde_json::json!({ "any": [null, 1, -1, 1.5, "text", { "deep": [] }] }));
}

#[test]
fn what_a_type_does_not_know_is_passed_over() {
    assert_eq!(both::<Shape>(r#"{"Square":{"side":1,"more":[{"deep":null}]}}"#), "Ok(Square { side: 1 })");
}

#[test]
fn mistakes_are_told_as_the_format_tells_them() {
    assert!(both::<Wrapped>(r#""text""#).contains("invalid type: string"));
    assert!(both::<Tagged>(r#"{"kind":"Square"}"#).contains("missing field `side`"));
    assert!(both::<Shape>(r#""Triangle""#).contains("unknown variant `Triangle`"));
    assert!(both::<Shape>(r#"{"Circle":300000000000}"#).contains("invalid value"));
    assert!(both::<Shape>(r#"{"Line":[1]}"#).contains("invalid length 1"));
    assert!(both::<Pair>("[1,").contains("EOF while parsing"));
    assert!(both::<Vec<u8>>("[1,2,-3]").contains("line 1 column"));
    assert!(both::<Untagged>("[]").contains("did not match any variant"));
}

#[test]
fn inputs_that_json_does_not_know_arrive() {
    fn give<'de, T, D>(format: D) -> T
    where
        T: Deserialize<'de>,
        D: Deserializer<'de, Error = value::Error>,
    {
        read(format).expect("the type takes it")
    }
    assert_eq!(give::<i64, _>(IntoDeserializer::<value::Error>::into_deserializer(-1_i8)), -1);
    assert_eq!(give::<u64, _>(IntoDeserializer::<value::Error>::into_deserializer(1_u16)), 1);
    assert_eq!(
        give::<f64, _>(IntoDeserializer::<value::Error>::into_deserializer(0.5_f32)).to_bits(),
        0.5_f64.to_bits()
    );
    assert_eq!(give::<char, _>(IntoDeserializer::<value::Error>::into_deserializer('é')), 'é');
    assert_eq!(give::<String, _>(IntoDeserializer::<value::Error>::into_deserializer(&b"bytes"[..])), "bytes");
    // Borrowed from the format, not copied.
    let text = String::from("borrowed");
    let borrowed: &str = give(value::BorrowedStrDeserializer::new(&text));
    assert!(std::ptr::eq(borrowed, text.as_str()));
    let borrowed: &[u8] = give(value::BorrowedBytesDeserializer::new(text.as_bytes()));
    assert!(std::ptr::eq(borrowed, text.as_bytes()));
    // Hints of length go through: this format complains of elements that are left.
    let two = || SeqDeserializer::<_, value::Error>::new([1_u8, 2].into_iter());
    assert_eq!(give::<(u8, u8), _>(two()), (1, 2));
    assert!(read::<(u8,), _>(two()).is_err());
    let map = MapDeserializer::<_, value::Error>::new([("id", 1_u32), ("a", 2)].into_iter());
    assert_eq!(give::<Flat, _>(map), Flat { id: 1, rest: [("a".to_owned(), 2)].into() });
}

#[test]
fn a_type_learns_whether_people_read_the_format() {
    #[derive(Debug)]
    struct Readable(bool);
    impl<'de> Deserialize<'de> for Readable {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            Ok(Self(from.is_human_readable()))
        }
    }
    struct Packed;
    impl<'de> Deserializer<'de> for Packed {
        type Error = Error;
        fn deserialize_any<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_unit()
        }
        fn is_human_readable(&self) -> bool {
            false
        }
        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
        }
    }
    let packed: Readable = read(Packed).expect("it is not read at all");
    let json: Readable = read(&mut serde_json::Deserializer::from_str("1")).expect("it is not read at all");
    assert_eq!((packed.0, json.0), (false, true));
}
