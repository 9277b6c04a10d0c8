//! `idempotent import`: what was done before there were records.

use std::fs;
use std::io::Read as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use idempotent_runtime::admin::{Decision, Imported};
use idempotent_runtime::{Idempotency, Key};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::access;
use crate::cli::Global;
use crate::decide::Deciding;
use crate::exit::Failure;
use crate::output::Out;
use crate::progress;
use crate::span;

/// How many are under way at once.
const AT_ONCE: usize = 32;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// One key a line, whole, as `idempotent key` says it; behind a tab the result as JSON, where it is known. `-` reads
    /// standard input
    file: String,
    /// How long duplicates are recognised from now on: the handler's ttl
    #[arg(long, value_parser = span::parse, value_name = "TIME")]
    ttl: Duration,
    #[command(flatten)]
    deciding: Deciding,
}

/// One line.
struct Done {
    key: Key,
    result: Option<Value>,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let decision = options.deciding.decision()?;
    let done = read(&options.file)?;
    let idempotency = access::open(global).await?;
    let ttl = span::text(options.ttl);
    options.deciding.confirm(&format!("take {} keys over as completed, for {ttl}", done.len()))?;
    let (taken_over, known) = all(&idempotency, done, options.ttl, decision).await?;
    if global.json {
        return Ok(out.json(&json!({ "taken_over": taken_over, "known": known }))?);
    }
    Ok(out.line(&format!("{taken_over} keys were taken over, {known} had a record already"))?)
}

/// All lines, before anything is done: a mistake in the last one is told before the first one counts.
fn read(file: &str) -> Result<Vec<Done>, Failure> {
    let text = if file == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("the keys in {file} cannot be read")).map_err(Failure::Other)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| one(line).map_err(|why| Failure::Usage(format!("line {} of {file}: {why}", at + 1))))
        .collect()
}

fn one(line: &str) -> Result<Done, String> {
    let (key, result) = line.split_once('\t').map_or((line, None), |(key, result)| (key, Some(result)));
    if !key.contains(':') || key.contains(char::is_whitespace) {
        return Err(format!("{key:?} is no key; one is made by `idempotent key`, as in `order:consume:1001`"));
    }
    let result =
        result.map(serde_json::from_str).transpose().map_err(|error| format!("the result of {key}: {error}"))?;
    Ok(Done { key: Key::from_text(key), result })
}

/// How many were taken over, and how many had a record.
async fn all(
    idempotency: &Idempotency,
    done: Vec<Done>,
    ttl: Duration,
    decision: Decision<'_>,
) -> Result<(u64, u64), Failure> {
    let (mut taken_over, mut known) = (0, 0);
    let bar = progress::scanning("importing");
    let mut waiting = done.into_iter();
    let mut running = JoinSet::new();
    loop {
        for Done { key, result } in waiting.by_ref().take(AT_ONCE - running.len()) {
            let (idempotency, who, why) = (idempotency.clone(), decision.who.to_owned(), decision.why.to_owned());
            running.spawn(async move {
                let decision = Decision { who: &who, why: &why };
                match result {
                    Some(result) => idempotency.import(&key, &result, ttl, decision).await,
                    None => idempotency.import_without_result(&key, ttl, decision).await,
                }
            });
        }
        let Some(imported) = running.join_next().await else { break };
        match imported.context("an import did not come to its end")?? {
            Imported::TakenOver => taken_over += 1,
            Imported::Known => known += 1,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((taken_over, known))
}
