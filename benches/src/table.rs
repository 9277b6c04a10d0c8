//! The figures as a person reads them.

use std::fmt::Write as _;

use crate::bars::{Bound, bars};
use crate::compile::Compile;
use crate::figures::{ByInFlight, Figures, Rates};
use crate::million::Million;
use crate::paced::Latency;
use crate::spread::Spread;
use crate::sweep::Sweep;

/// The tables of what was measured.
pub(crate) fn text(figures: &Figures) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = write(&mut text, figures);
    text
}

fn write(text: &mut String, figures: &Figures) -> std::fmt::Result {
    if let Some(bed) = &figures.redis {
        let pinned = if bed.pinned { "a core each for server and client" } else { "server and client not pinned" };
        writeln!(text, "{}, {pinned}; calls a second, median (least to most)\n", bed.server)?;
        speeds(text, "first call", &figures.calls_per_second.first_call, figures.first_call.as_ref())?;
        speeds(text, "duplicate", &figures.calls_per_second.duplicate, figures.duplicate.as_ref())?;
        speeds(text, "first call on a Cluster", &figures.calls_per_second.cluster, figures.cluster.as_ref())?;
        let (rates, ratios) = (&figures.calls_per_second.tiered_duplicate, figures.tiered_duplicate.as_ref());
        speeds(text, "duplicate on two stores", rates, ratios)?;
        speeds(text, "step", &figures.calls_per_second.hash_layout, figures.hash_layout.as_ref())?;
    }
    let http = &figures.calls_per_second;
    let over_bare = |ratio: Option<f64>| ratio.unwrap_or_default();
    if !http.http.is_empty() {
        writeln!(text, "HTTP with bodies of 1 KiB on the memory store; requests a second, median (least to most)\n")?;
        writeln!(text, "a user's client and the server on all cores")?;
        of_http(text, &http.http)?;
        writeln!(
            text,
            "a server's thread alone: over bare, first calls {:.2}, replays {:.2}, by hand {:.2}",
            over_bare(figures.http_server_first_call),
            over_bare(figures.http_server_replay),
            over_bare(figures.http_server_by_hand)
        )?;
        of_http(text, &http.http_server)?;
    }
    if let Some(sql) = &figures.sql {
        writeln!(text, "first calls on PostgreSQL and SQLite; calls a second, median (least to most)")?;
        for (mode, rates) in &sql.calls_per_second {
            writeln!(text, "{mode}: ratio {:.2}", sql.first_call.get(mode).copied().unwrap_or_default())?;
            for (name, rate) in rates {
                writeln!(text, "  {name:<20} {:>8.0} ({:.0} to {:.0})", rate.median, rate.least, rate.most)?;
            }
        }
        for (mode, statements) in &sql.statements {
            writeln!(text, "  {statements} messages to PostgreSQL  {mode}")?;
        }
        writeln!(text)?;
    }
    if let Some(nanoseconds) = figures.memory_call_ns {
        let instructions = match figures.memory_call_instructions {
            Some(instructions) => format!("{instructions} instructions"),
            None => "instructions not counted (needs valgrind, or perf with hardware counters)".into(),
        };
        writeln!(text, "first call on the memory store: {nanoseconds:.0} ns, {instructions}\n")?;
    }
    if let Some(ratio) = figures.collapsed_waiting {
        writeln!(text, "1000 calls that wait for one of them: one asks over each asks {ratio:.2}\n")?;
    }
    if let Some(sweep) = &figures.sweep {
        sweeping(text, sweep)?;
    }
    if let Some(million) = &figures.million {
        commands(text, million)?;
    }
    for compile in &figures.compile {
        builds(text, compile)?;
    }
    writeln!(text, "{:<59} {:>9}   {:<14} ", "bar", "measured", "bound")?;
    for bar in bars(figures) {
        let bound = match bar.bound {
            Bound::AtLeast(least) => format!("at least {least}"),
            Bound::AtMost(most) => format!("at most {most}"),
        };
        let met = if bar.is_met() { "met" } else { "NOT MET" };
        writeln!(text, "{:<59} {:>9.2}   {bound:<14} {met}", bar.name, bar.measured)?;
    }
    Ok(())
}

fn speeds(
    text: &mut String,
    what: &str,
    rates: &ByInFlight<Rates>,
    ratios: Option<&ByInFlight<f64>>,
) -> std::fmt::Result {
    for (in_flight, rates) in rates {
        let ratio = ratios.and_then(|ratios| ratios.get(in_flight)).copied().unwrap_or_default();
        writeln!(text, "{what}, {in_flight} in flight: ratio {ratio:.2}")?;
        for (name, rate) in rates {
            writeln!(text, "  {name:<20} {:>8.0} ({:.0} to {:.0})", rate.median, rate.least, rate.most)?;
        }
    }
    writeln!(text)
}

fn of_http(text: &mut String, rates: &Rates) -> std::fmt::Result {
    for (name, rate) in rates {
        writeln!(text, "  {name:<20} {:>8.0} ({:.0} to {:.0})", rate.median, rate.least, rate.most)?;
    }
    writeln!(text)
}

fn builds(text: &mut String, Compile { shape, builds }: &Compile) -> std::fmt::Result {
    writeln!(text, "building {shape}; seconds, median (least to most)")?;
    for (build, times) in builds {
        writeln!(text, "{build}")?;
        let plain = &times.plain;
        writeln!(text, "  {:<23} {:>6.2} ({:.2} to {:.2})", "plain", plain.median, plain.least, plain.most)?;
        for (name, seconds, adds) in [
            ("#[idempotent]", &times.annotated, times.annotated_adds),
            ("#[tracing::instrument]", &times.instrumented, times.instrumented_adds),
        ] {
            let Spread { median, least, most } = seconds;
            writeln!(text, "  {name:<23} {median:>6.2} ({least:.2} to {most:.2}), adds {adds:.2}")?;
        }
    }
    writeln!(text)
}

fn sweeping(text: &mut String, Sweep { backlog, churn }: &Sweep) -> std::fmt::Result {
    writeln!(text, "sweeping {} expired rows on PostgreSQL in {:.0} s; claims", backlog.rows, backlog.seconds)?;
    latency(text, "quiet", &backlog.quiet)?;
    latency(text, "while they are swept", &backlog.sweeping)?;
    writeln!(text, "records that come, end and expire for {:.0} s; claims", churn.seconds)?;
    latency(text, "beside the sweeper", &churn.claims)?;
    writeln!(
        text,
        "  {:>7} {:>12} {:>12} {:>9} {:>9} {:>9} vacuums",
        "seconds", "rows", "all", "updates", "HOT", "removed"
    )?;
    for at in &churn.samples {
        let (updated, hot, removed) = (at.updated, at.hot_updated, at.removed);
        writeln!(
            text,
            "  {:>7.1} {:>12} {:>12} {updated:>9} {hot:>9} {removed:>9} {:>7}",
            at.seconds, at.relation, at.total, at.vacuums
        )?;
    }
    writeln!(text, "  {:.1} % of the updates touched no index (HOT)\n", churn.hot_share * 100.0)
}

fn commands(text: &mut String, Million { records, pinned, commands }: &Million) -> std::fmt::Result {
    let pinned = if *pinned { "a core each for server and client" } else { "server and client not pinned" };
    writeln!(text, "the command line on a Redis with {records} records, {pinned}; claims")?;
    for (name, command) in commands {
        let peak = command.peak_mb.map_or("unknown".to_owned(), |peak| format!("{peak:.1} MB"));
        writeln!(text, "{name}: {:.1} s, {peak} at the most", command.seconds)?;
        latency(text, "quiet", &command.quiet)?;
        latency(text, "while it runs", &command.during)?;
    }
    writeln!(text)
}

fn latency(text: &mut String, when: &str, latency: &Latency) -> std::fmt::Result {
    let Latency { claims, median_ms, p99_ms, most_ms } = latency;
    writeln!(text, "  {when:<22} median {median_ms:.2} ms, p99 {p99_ms:.2} ms, most {most_ms:.2} ms, of {claims}")
}
