//! The names of the table and of what belongs to it.

use crate::store::StoreError;

/// The table's name unless another is chosen.
pub(super) const DEFAULT: &str = "idempotency_records";

/// The longest name: PostgreSQL cuts names off at 63 bytes, and what belongs to the table has a suffix.
const LONGEST: usize = 48;

/// A schema (on PostgreSQL) and a table, both checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    schema: Option<String>,
    name: String,
}

impl Table {
    /// A table by a name that is known to be one.
    pub(super) fn usual(name: &'static str) -> Self {
        Self { schema: None, name: name.to_owned() }
    }

    pub(crate) fn new(schema: Option<&str>, name: &str) -> Result<Self, StoreError> {
        for (what, name) in schema.map(|schema| ("schema", schema)).into_iter().chain([("table", name)]) {
            check(name).map_err(|why| StoreError::refused(format!("the {what} {name:?}: {why}")))?;
        }
        Ok(Self { schema: schema.map(str::to_owned), name: name.to_owned() })
    }

    #[cfg(feature = "postgres")]
    pub(super) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The table's own name, without its schema.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where the ends of runs are told. It belongs to the database, so tables of one name in several schemas share it:
    /// whoever is woken for another's key looks once in vain.
    #[cfg(feature = "postgres")]
    pub(super) fn channel(&self) -> String {
        format!("{}_ended", self.name)
    }

    /// The table, or what belongs to it, as SQL names it.
    pub(super) fn with(&self, suffix: &str) -> String {
        match &self.schema {
            Some(schema) => format!("\"{schema}\".\"{}{suffix}\"", self.name),
            None => format!("\"{}{suffix}\"", self.name),
        }
    }
}

/// What needs no quotes in SQL means the same with and without them, in every tool.
fn check(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.is_empty() || name.len() > LONGEST {
        return Err(format!("use 1 to {LONGEST} characters"));
    }
    if !name.bytes().all(plain) || name.as_bytes()[0].is_ascii_digit() {
        return Err("use `a-z`, `0-9` and `_`, and no digit in front".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let table = Table::new(Some("shop"), "idempotency_2").unwrap();
        assert_eq!(table.with("_due"), "\"shop\".\"idempotency_2_due\"");
        assert_eq!(Table::new(None, DEFAULT).unwrap().with(""), "\"idempotency_records\"");
        let long = "x".repeat(LONGEST + 1);
        for wrong in ["", "Orders", "a.b", "a\"; drop table x", "1a", "ä", &long] {
            assert!(Table::new(None, wrong).is_err(), "{wrong:?}");
            assert!(Table::new(Some(wrong), "fine").is_err(), "{wrong:?}");
        }
    }
}
