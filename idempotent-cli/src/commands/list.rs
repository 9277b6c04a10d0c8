//! `idempotent list`: records, as many as are asked for.

use clap::Args;
use idempotent_runtime::admin::{Cursor, Page};
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::{self, Out, Table};
use crate::progress;
use crate::select::Selection;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// Stop with the page on which so many have been shown; 0 for all
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// How many records to read at once
    #[arg(long, default_value_t = 100)]
    page: usize,
    /// Go on where an earlier list stopped
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let mut query = options.selection.query().page(options.page);
    if let Some(place) = &options.after {
        query = query.after(Cursor::new(place));
    }
    let (mut shown, mut is_first) = (0, true);
    let bar = progress::scanning("looking");
    let mut scan = idempotency.scan(&query).unhurried();
    while let Some(Page { records, next }) = scan.next().await? {
        bar.inc(records.len() as u64);
        shown += records.len();
        if global.json {
            for listed in &records {
                out.json(&output::listed(listed))?;
            }
        } else if !records.is_empty() {
            let mut table = if is_first { Table::new(output::HEAD) } else { Table::headless() };
            for listed in &records {
                table.row(output::row(listed));
            }
            bar.suspend(|| out.text(&table.text(out)))?;
            is_first = false;
        }
        let Some(next) = next else { break };
        if options.limit > 0 && shown >= options.limit {
            bar.finish_and_clear();
            if global.json {
                return Ok(out.json(&json!({ "next": next.as_str() }))?);
            }
            eprintln!("there may be more: --after {next}");
            return Ok(());
        }
    }
    bar.finish_and_clear();
    if shown == 0 && !global.json {
        eprintln!("no records");
    }
    Ok(())
}
