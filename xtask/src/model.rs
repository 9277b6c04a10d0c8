//! `cargo xtask model`: the long form of the model, built for release.

use std::num::NonZeroUsize;
use std::thread;

use crate::command;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let model = |arguments: &[&str]| {
        let mut cargo = command::cargo();
        cargo.args(["run", "--locked", "--release", "--package", "model", "--"]).args(arguments);
        cargo
    };
    if !arguments.is_empty() {
        return command::run(model(&[]).args(arguments));
    }
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).to_string();
    // Two workers with everything that can go wrong, and whether a key is settled in the end; three with the policies,
    // where all faults at once would take hours.
    command::run(&mut model(&["--workers", "2", "--threads", &threads]))?;
    command::run(&mut model(&["--workers", "2", "--settle"]))?;
    command::run(&mut model(&["--workers", "3", "--narrow", "--threads", &threads]))
}
