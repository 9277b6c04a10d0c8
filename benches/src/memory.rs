//! The guarded call on the memory store: time, allocations, instructions.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use benches::MemoryCalls;

use crate::figures::Figures;
use crate::spread::Spread;

const ROUNDS: usize = 5;

pub(crate) fn measure(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let calls = if quick { 1_000 } else { 100_000 };
    let nanoseconds = (0..ROUNDS).map(|_| nanoseconds(calls)).collect::<anyhow::Result<_>>()?;
    if let Some(spread) = Spread::of(nanoseconds) {
        figures.memory_call_ns = Some(spread.median);
        figures.spreads.memory_call_ns = Some([spread.least, spread.most]);
    }
    figures.memory_call_allocations = Some(allocations()?);
    figures.memory_call_instructions = instructions(if quick { 100 } else { 5_000 })?;
    Ok(())
}

/// Nanoseconds of one call, on a store that has seen a tenth as many.
fn nanoseconds(calls: u32) -> anyhow::Result<f64> {
    let mut memory = MemoryCalls::new()?;
    memory.run(u64::from(calls) / 10)?;
    let started = Instant::now();
    memory.run(calls.into())?;
    Ok(started.elapsed().as_secs_f64() * 1e9 / f64::from(calls))
}

/// Allocations of one call, by the program beside this one, which counts them.
fn allocations() -> anyhow::Result<f64> {
    let program = this_program()?.with_file_name(format!("allocations{}", env::consts::EXE_SUFFIX));
    let output = Command::new(&program).stdin(Stdio::null()).output().with_context(|| {
        format!("{} cannot be run: `cargo build --release --package benches` builds it", program.display())
    })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let numbers = printed.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
    match numbers.as_deref() {
        Ok([allocations, calls]) => Ok(allocations / calls),
        _ => bail!("{} failed: {}", program.display(), String::from_utf8_lossy(&output.stderr)),
    }
}

/// Instructions of one call: what twice as many calls take more, over how many more they are.
fn instructions(calls: u64) -> anyhow::Result<Option<u64>> {
    let tools = [callgrind as fn(u64) -> anyhow::Result<Option<u64>>, perf];
    for counted in tools {
        if let (Some(once), Some(twice)) = (counted(calls)?, counted(calls * 2)?) {
            return Ok(Some(twice.saturating_sub(once) / calls));
        }
    }
    Ok(None)
}

fn callgrind(calls: u64) -> anyhow::Result<Option<u64>> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let said = counted(command, calls)?;
    Ok(said.and_then(|said| {
        let line = said.lines().find_map(|line| line.split_once("Collected :"))?;
        line.1.trim().parse().ok()
    }))
}

fn perf(calls: u64) -> anyhow::Result<Option<u64>> {
    let mut command = Command::new("perf");
    command.args(["stat", "--field-separator=,", "--event=instructions:u"]);
    let said = counted(command, calls)?;
    Ok(said.and_then(|said| said.lines().find(|line| line.contains("instructions"))?.split(',').next()?.parse().ok()))
}

/// Makes `calls` calls under a tool, and gives what the tool says; `None` where there is no such tool.
fn counted(mut tool: Command, calls: u64) -> anyhow::Result<Option<String>> {
    tool.arg(this_program()?).arg(format!("--only-memory-calls={calls}")).stdin(Stdio::null());
    Ok(tool
        .output()
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn this_program() -> anyhow::Result<PathBuf> {
    env::current_exe().context("this program's own file is not known")
}
