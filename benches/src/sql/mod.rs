//! Calls on PostgreSQL and on SQLite files, against what a person would write by hand with the same safety.

mod lite;
mod pg;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::runtime::Runtime;

use crate::figures::{Figures, Rates};
use crate::spread::Spread;

/// First calls a second over those of hand-written code.
#[derive(Debug, Serialize)]
pub(crate) struct Sql {
    /// The median of the rounds, by mode.
    pub(crate) first_call: BTreeMap<&'static str, f64>,
    /// The least and the largest of them.
    pub(crate) spreads: BTreeMap<&'static str, [f64; 2]>,
    /// Messages to PostgreSQL of one first call, `BEGIN`, the business's own statement and `COMMIT` among them.
    pub(crate) statements: BTreeMap<&'static str, usize>,
    /// Calls a second, from which the ratios are taken.
    pub(crate) calls_per_second: BTreeMap<&'static str, Rates>,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Length {
    rounds: usize,
    turns: usize,
    turn: Duration,
}

/// Somebody who makes first calls, so many at the same time.
trait Caller {
    async fn call(&self, number: u64) -> anyhow::Result<()>;
}

/// By whom.
const BY_HAND: &str = "by_hand";
const GUARDED: &str = "guarded";

pub(crate) fn measure(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let length = if quick {
        Length { rounds: 1, turns: 2, turn: Duration::from_millis(20) }
    } else {
        Length { rounds: 7, turns: 10, turn: Duration::from_millis(100) }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut sql = Sql {
        first_call: BTreeMap::new(),
        spreads: BTreeMap::new(),
        statements: BTreeMap::new(),
        calls_per_second: BTreeMap::new(),
    };
    pg::measure(&runtime, length, &mut sql)?;
    lite::measure(&runtime, length, &mut sql)?;
    figures.sql = Some(sql);
    Ok(())
}

impl Sql {
    /// Sets two callers against each other: they take short turns, so that whatever else the machine does meets both.
    fn compare(
        &mut self,
        mode: &'static str,
        runtime: &Runtime,
        length: Length,
        in_flight: u64,
        callers: (&impl Caller, &impl Caller),
    ) -> anyhow::Result<()> {
        let mut number = 0;
        let mut measured: [Vec<f64>; 2] = Default::default();
        // One more in front, to warm up.
        for round in 0..=length.rounds {
            let (mut calls, mut times) = ([0_u64; 2], [Duration::ZERO; 2]);
            for turn in 0..length.turns {
                for at in [turn % 2, (turn + 1) % 2] {
                    let started = Instant::now();
                    while started.elapsed() < length.turn {
                        number += in_flight;
                        match at {
                            0 => runtime.block_on(at_once(callers.0, number, in_flight))?,
                            _ => runtime.block_on(at_once(callers.1, number, in_flight))?,
                        }
                        calls[at] += in_flight;
                    }
                    times[at] += started.elapsed();
                }
            }
            if round > 0 {
                for at in 0..2 {
                    measured[at].push(f64::from(u32::try_from(calls[at])?) / times[at].as_secs_f64());
                }
            }
        }
        let [by_hand, guarded] = measured;
        let ratios = guarded.iter().zip(&by_hand).map(|(guarded, by_hand)| guarded / by_hand).collect();
        if let Some(ratio) = Spread::of(ratios) {
            self.first_call.insert(mode, ratio.median);
            self.spreads.insert(mode, [ratio.least, ratio.most]);
        }
        let rates = [(BY_HAND, by_hand), (GUARDED, guarded)].into_iter();
        self.calls_per_second.insert(mode, rates.filter_map(|(who, rates)| Some((who, Spread::of(rates)?))).collect());
        Ok(())
    }
}

/// So many calls at the same time, under numbers below this one.
async fn at_once(caller: &impl Caller, number: u64, in_flight: u64) -> anyhow::Result<()> {
    futures_util::future::try_join_all((number - in_flight..number).map(|number| caller.call(number))).await?;
    Ok(())
}
