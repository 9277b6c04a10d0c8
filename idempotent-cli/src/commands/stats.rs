//! `idempotent stats`: how many records there are.

use clap::Args;
use idempotent_runtime::Idempotency;
use idempotent_runtime::admin::{Counts, Query, Standing, Stats};
use serde_json::{Map, Value, json};

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::{self, Out, Paint, Table};
use crate::progress;
use crate::select::Selection;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let stats = counted(&idempotency, &options.selection.query()).await?;
    if global.json { Ok(out.json(&described(&stats))?) } else { Ok(out.text(&shown(&stats, out))?) }
}

/// Counts, and says how far it has come.
pub(super) async fn counted(idempotency: &Idempotency, query: &Query) -> Result<Stats, Failure> {
    let mut stats = Stats::default();
    let mut scan = idempotency.scan(query).unhurried();
    let bar = progress::scanning("counting");
    while let Some(page) = scan.next().await? {
        bar.inc(page.records.len() as u64);
        stats.count(page);
    }
    bar.finish_and_clear();
    Ok(stats)
}

/// For programs.
pub(super) fn described(stats: &Stats) -> Value {
    let prefixes: Map<String, Value> =
        stats.prefixes.iter().map(|(prefix, counts)| (prefix.to_string(), output::counts(counts))).collect();
    json!({
        "total": output::counts(&stats.total),
        "prefixes": prefixes,
        "others": output::counts(&stats.others),
        "oldest": stats.oldest.iter().map(output::listed).collect::<Vec<_>>(),
    })
}

/// For people.
pub(super) fn shown(stats: &Stats, out: Out) -> String {
    let mut table = Table::new(["PREFIX", "IN PROGRESS", "ABANDONED", "FAILED", "COMPLETED", "UNREADABLE", "ALL"]);
    for (prefix, counts) in &stats.prefixes {
        table.row(row(prefix, counts));
    }
    if stats.others.all() > 0 {
        table.row(row("(further prefixes)", &stats.others));
    }
    table.row(row("(all)", &stats.total));
    let mut text = table.text(out);
    if !stats.oldest.is_empty() {
        text.push_str("\nSilent for the longest time:\n");
        let mut table = Table::new(output::HEAD);
        stats.oldest.iter().for_each(|listed| table.row(output::row(listed)));
        text.push_str(&table.text(out));
    }
    text
}

fn row(prefix: &str, counts: &Counts) -> [(String, Paint); 7] {
    let count = |standing: Standing| {
        let number = counts.of(standing);
        let alarming = number > 0 && matches!(standing, Standing::Abandoned | Standing::Unreadable);
        (number.to_string(), if alarming { Paint::Bad } else { Paint::Plain })
    };
    let [progress, abandoned, failed, completed, unreadable] = Standing::ALL.map(count);
    let all = (counts.all().to_string(), Paint::Plain);
    [(prefix.to_owned(), Paint::Plain), progress, abandoned, failed, completed, unreadable, all]
}
