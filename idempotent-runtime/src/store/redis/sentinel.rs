//! Where the primary is, in the words of the Sentinels.
//!
//! They are asked each time a connection is made. So whatever ends a connection (a primary that is lost, silent or
//! demoted) leads to the new primary, once for all who call.

use std::fmt;
use std::sync::Arc;

use redis::Value;

use super::address::{Address, How};
use super::inquiry;
use crate::store::StoreError;

/// The Sentinels of one primary.
#[derive(Debug)]
pub(super) struct Sentinel {
    pub(super) sentinels: Vec<Address>,
    /// The name by which they know the primary.
    pub(super) primary: String,
    /// How they are reached: their login is one of their own.
    pub(super) how: Arc<How>,
}

impl Sentinel {
    /// Where the primary is now. Whether it is one, its role must say: a Sentinel may be the last to learn of a failover.
    pub(super) async fn primary(&self) -> Result<Address, StoreError> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.primary);
        inquiry::first(&self.sentinels, &self.how, &question, |sentinel, answer| self.read(sentinel, answer)).await
    }

    fn read(&self, sentinel: &Address, answer: &Value) -> Result<Address, StoreError> {
        match answer {
            Value::Nil => {
                Err(StoreError::refused(format!("the Sentinel {sentinel} knows no primary named `{}`", self.primary)))
            }
            Value::Array(parts) => match parts.as_slice() {
                [Value::BulkString(host), Value::BulkString(port)] => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let port = text(port).parse().map_err(StoreError::refused)?;
                    Ok(sentinel.beside(text(host), port))
                }
                _ => Err(StoreError::refused(format!("the Sentinel {sentinel} gave an answer that makes no sense"))),
            },
            _ => Err(StoreError::refused(format!("the Sentinel {sentinel} gave an answer that makes no sense"))),
        }
    }
}

impl fmt::Display for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the primary `{}` of the Sentinels ", self.primary)?;
        for (at, sentinel) in self.sentinels.iter().enumerate() {
            write!(f, "{}{sentinel}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
