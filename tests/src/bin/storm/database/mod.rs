//! The databases that a storm is on.

mod lite;
mod pg;

pub(crate) use self::lite::Lite;
pub(crate) use self::pg::Pg;
use crate::scenario::Scenario;

/// A database with the table of the records beside one of effects, and who asks it what stands.
pub(crate) trait Database {
    /// What happens to its winners.
    fn scenarios(&self) -> [Scenario; 5];

    /// Where the processes of a round find it.
    fn url(&self) -> String;

    /// Makes ready for a round, before its processes start.
    fn prepare(&mut self, scenario: Scenario) -> anyhow::Result<()>;

    /// Harms the database itself while the processes of a round are at it.
    fn harm(&self, scenario: Scenario) -> anyhow::Result<()>;

    /// A number that it is asked for, of one key.
    fn count(&self, sql: &'static str, key: &str) -> anyhow::Result<i64>;
}
