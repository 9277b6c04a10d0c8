//! `idempotent migrate`: the table, where the store has one.

use clap::Args;
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Print the SQL instead, for somebody else to run; connects to nothing
    #[arg(long)]
    print: bool,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let access = access::access(global)?;
    if options.print {
        let sql = access.migrations()?.ok_or_else(|| Failure::Usage("this store has no tables".to_owned()))?;
        if global.json {
            return Ok(out.json(&json!({ "sql": sql }))?);
        }
        return Ok(out.text(&sql)?);
    }
    let has_tables = access.migrate().await?;
    if global.json {
        return Ok(out.json(&json!({ "tables": has_tables }))?);
    }
    Ok(out.line(if has_tables { "the table is up to date" } else { "nothing to do: this store has no tables" })?)
}
