//! `idempotent purge`: removing records, after counting them.

use clap::Args;
use idempotent_runtime::admin::{Leases, Purge, Purged, Query};
use idempotent_runtime::{Idempotency, Key};
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::decide::Deciding;
use crate::exit::Failure;
use crate::output::Out;
use crate::progress;
use crate::select::Selection;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// This record alone
    #[arg(long, conflicts_with_all = ["prefix", "states", "silent_for", "expires_within", "all"])]
    key: Option<String>,
    /// All records of the namespace, or of the store
    #[arg(long)]
    all: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove also what a live run has: it may go on to its end, and another may start beside it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    deciding: Deciding,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let leases = if options.force { Leases::Broken } else { Leases::Respected };
    // Before anything is looked at.
    let purge = if options.dry_run { Purge::DryRun } else { Purge::Remove(options.deciding.decision()?) };
    if let Some(key) = &options.key {
        return one(key, leases, purge, options, global, out).await;
    }
    if options.selection.is_everything() && !options.all {
        let why = "say which records: --prefix, --state, --silent-for, --expires-within or --key; or --all";
        return Err(Failure::Usage(why.to_owned()));
    }
    let idempotency = access::open(global).await?;
    let query = options.selection.query();
    let would = purged(&idempotency, &query, leases, Purge::DryRun).await?;
    if matches!(purge, Purge::DryRun) {
        return said(&would, Said::WouldBe, global, out);
    }
    if would.removed > 0 {
        let force = if options.force { ", also what live runs have" } else { "" };
        options.deciding.confirm(&format!("remove {} {}{force}", would.removed, options.selection))?;
    }
    let purged = purged(&idempotency, &query, leases, purge).await?;
    said(&purged, Said::Done, global, out)
}

async fn one(
    key: &str,
    leases: Leases,
    purge: Purge<'_>,
    options: &Options,
    global: &Global,
    out: Out,
) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let key = Key::from_text(key);
    let seen = idempotency.inspect(&key).await?.ok_or_else(|| Failure::Absent(key.to_string()))?;
    if seen.is_live() && leases == Leases::Respected {
        return Err(Failure::Unchanged(format!("a live run has `{key}`: --force removes it all the same")));
    }
    let purged = Purged { removed: 1, ..Purged::default() };
    let Purge::Remove(decision) = purge else { return said(&purged, Said::WouldBe, global, out) };
    options.deciding.confirm(&format!("remove `{key}`, which is {} (attempt {})", seen.standing(), seen.attempt))?;
    idempotency.remove(&key, seen.seen(), leases, decision).await?;
    said(&purged, Said::Done, global, out)
}

async fn purged(idempotency: &Idempotency, query: &Query, leases: Leases, purge: Purge<'_>) -> Result<Purged, Failure> {
    let mut purged = Purged::default();
    let mut scan = idempotency.scan(query).unhurried();
    let bar = progress::scanning(match purge {
        Purge::DryRun => "counting",
        Purge::Remove(_) => "removing",
    });
    while let Some(page) = scan.next().await? {
        bar.inc(page.records.len() as u64);
        idempotency.purge_page(&page, leases, purge, &mut purged).await?;
    }
    bar.finish_and_clear();
    Ok(purged)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    WouldBe,
    Done,
}

fn said(purged: &Purged, said: Said, global: &Global, out: Out) -> Result<(), Failure> {
    let Purged { removed, moved, live, unreadable } = *purged;
    if global.json {
        return Ok(out.json(&json!({
            "dry_run": said == Said::WouldBe,
            "removed": removed,
            "moved": moved,
            "live": live,
            "unreadable": unreadable,
        }))?);
    }
    out.line(&match said {
        Said::WouldBe => format!("{removed} records would be removed"),
        Said::Done => format!("{removed} records were removed"),
    })?;
    for (number, why) in [
        (moved, "had changed since they were looked at, and stayed"),
        (live, "belong to live runs, and stay"),
        (unreadable, "cannot be read, and stay"),
    ] {
        if number > 0 {
            out.line(&format!("{number} {why}"))?;
        }
    }
    Ok(())
}
