//! Removing expired records on PostgreSQL while claims go on.

mod backlog;
mod churn;
mod records;

use serde::Serialize;

pub(crate) use self::backlog::Backlog;
pub(crate) use self::churn::Churn;
use crate::figures::Figures;

/// What sweeping does to claims, and to the size of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep {
    pub(crate) backlog: Backlog,
    pub(crate) churn: Churn,
}

/// Measures with a million expired records, and then for so many minutes; if `quick`, with few and for a moment.
pub(crate) fn measure(figures: &mut Figures, quick: bool, minutes: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (backlog, churn) = if quick {
        (backlog::Length::QUICK, churn::Length::QUICK)
    } else {
        (backlog::Length::FULL, churn::Length::of(minutes))
    };
    let backlog = backlog::measure(&runtime, backlog)?;
    let churn = churn::measure(&runtime, churn)?;
    figures.sweep = Some(Sweep { backlog, churn });
    Ok(())
}
