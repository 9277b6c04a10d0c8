//! `idempotent key`: the key of a call, as the attribute derives it.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use idempotent_runtime::{KeyPart, MemoryStore};
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The handler's prefix, as in `order:consume`
    prefix: String,
    /// The key parts, in order: the text of each
    #[arg(required = true)]
    parts: Vec<String>,
    /// One step of the entity
    #[arg(long)]
    step: Option<String>,
    /// The handler has the option `hidden`
    #[arg(long)]
    hidden: bool,
    /// The file that holds the secret of the application's handle, byte for byte
    #[arg(long, value_name = "FILE", requires = "hidden")]
    secret_file: Option<PathBuf>,
    /// The secret itself; better in the environment or a file, which other users cannot list
    #[arg(long, env = "IDEMPOTENT_SECRET", hide_env_values = true, conflicts_with = "secret_file")]
    secret: Option<String>,
}

pub(crate) fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let secret = match &options.secret_file {
        Some(file) => {
            Some(std::fs::read(file).with_context(|| format!("the secret {} cannot be read", file.display()))?)
        }
        None => options.secret.clone().map(String::into_bytes),
    };
    let settings = secret.iter().fold(access::settings(global), idempotent_runtime::Builder::secret);
    // A key is derived the same on every store.
    let idempotency = settings.build(MemoryStore::new())?;
    let parts: Vec<&dyn KeyPart> = options.parts.iter().map(|part| part as &dyn KeyPart).collect();
    let key = if options.hidden {
        idempotency.hidden_key(&options.prefix, &parts)?
    } else {
        idempotency.key(&options.prefix, &parts)?
    };
    let key = options.step.iter().try_fold(key, |key, step| key.with_step(step))?;
    if global.json {
        return Ok(out.json(&json!({ "key": key.as_str(), "entity": key.entity(), "step": key.step() }))?);
    }
    Ok(out.line(key.as_str())?)
}
