//! What each figure has to reach.

use crate::compile::Compile;
use crate::figures::Figures;

/// One bar, and what was measured against it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// What is measured.
    pub(crate) name: String,
    pub(crate) measured: f64,
    pub(crate) bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bar {
    pub(crate) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.measured >= least,
            Bound::AtMost(most) => self.measured <= most,
        }
    }
}

/// The bars of all figures that were measured.
pub(crate) fn bars(figures: &Figures) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut bar = |name: String, measured: f64, bound| bars.push(Bar { name, measured, bound });
    for (name, ratios) in [("first call", &figures.first_call), ("duplicate", &figures.duplicate)] {
        for (in_flight, ratio) in ratios.iter().flatten() {
            let least = if *in_flight == 1 { 0.9 } else { 0.85 };
            bar(format!("{name}, {in_flight} in flight: guarded over by hand"), *ratio, Bound::AtLeast(least));
        }
    }
    for (in_flight, ratio) in figures.hash_layout.iter().flatten() {
        bar(format!("first call, {in_flight} in flight: Hash over string"), *ratio, Bound::AtLeast(0.7));
    }
    for (in_flight, ratio) in figures.tiered_duplicate.iter().flatten() {
        bar(format!("duplicate, {in_flight} in flight: tiered over Redis"), *ratio, Bound::AtLeast(0.95));
    }
    // Both are held to the bars: that of a server's thread alone is the stricter one.
    for (name, ratio, least) in [
        ("first calls", figures.http_server_first_call, 0.7),
        ("replays", figures.http_server_replay, 0.8),
        ("first calls with a user's client", figures.http_first_call, 0.7),
        ("replays with a user's client", figures.http_replay, 0.8),
    ] {
        if let Some(ratio) = ratio {
            bar(format!("HTTP, {name}: behind the layer over bare"), ratio, Bound::AtLeast(least));
        }
    }
    if let Some(nanoseconds) = figures.cached_duplicate_ns {
        bar("nanoseconds of a cached duplicate".into(), nanoseconds, Bound::AtMost(1000.0));
    }
    if let Some(ratio) = figures.collapsed_busy {
        bar("1000 duplicates of a run: one asks over each asks".into(), ratio, Bound::AtLeast(20.0));
    }
    if let Some(claims) = figures.collapsed_claims {
        bar("claims of 1000 calls of a key where one asks".into(), claims, Bound::AtMost(1.0));
    }
    for (mode, ratio) in figures.sql.iter().flat_map(|sql| &sql.first_call) {
        if mode.starts_with("postgres") {
            bar(format!("{mode}: guarded over by hand"), *ratio, Bound::AtLeast(0.9));
        }
    }
    if let (Some(record), Some(plain)) = (figures.record_bytes, figures.plain_set_bytes) {
        bar("bytes of a record over those of the bare result".into(), record / plain, Bound::AtMost(1.6));
    }
    if let Some(allocations) = figures.memory_call_allocations {
        bar("allocations of a call on the memory store".into(), allocations, Bound::AtMost(12.0));
    }
    if let Some(bytes) = figures.future_bytes {
        bar("bytes that the attribute adds to a future".into(), bytes, Bound::AtMost(512.0));
    }
    if let Some(sweep) = &figures.sweep {
        let backlog = &sweep.backlog;
        let name = format!("p99 of a claim while {} rows are swept over quiet", backlog.rows);
        bar(name, backlog.p99_ratio, Bound::AtMost(3.0));
        bar("table in the last third of the churn over the first".into(), sweep.churn.growth, Bound::AtMost(1.1));
    }
    for (name, command) in figures.million.iter().flat_map(|million| &million.commands) {
        if let Some(peak) = command.peak_mb {
            bar(format!("megabytes of `{name}`"), peak, Bound::AtMost(64.0));
        }
        bar(format!("p99 of a claim beside `{name}` over quiet"), command.p99_ratio, Bound::AtMost(1.5));
    }
    for Compile { shape, builds } in &figures.compile {
        for (build, times) in builds {
            let name = format!("{build}, {} a type: attribute over tracing's", shape.handlers_of_a_type);
            bar(name, times.ratio, Bound::AtMost(2.0));
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_meets_its_bar_up_to_the_bound_itself() {
        let figures = Figures {
            first_call: Some([(1, 0.9), (50, 0.84)].into()),
            hash_layout: Some([(1, 0.69)].into()),
            record_bytes: Some(192.0),
            plain_set_bytes: Some(120.0),
            future_bytes: Some(513.0),
            ..Figures::default()
        };
        let met: Vec<_> = bars(&figures).iter().map(Bar::is_met).collect();
        assert_eq!(met, [true, false, false, true, false]);
    }
}
