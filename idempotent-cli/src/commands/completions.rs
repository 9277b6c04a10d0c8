//! `idempotent completions`: for a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::Failure;
use crate::output::Out;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The shell: `idempotent completions bash > ~/.local/share/bash-completion/completions/idempotent`
    shell: Shell,
}

pub(crate) fn run(options: &Options, out: Out) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "idempotent", &mut text);
    Ok(out.text(&String::from_utf8_lossy(&text))?)
}
