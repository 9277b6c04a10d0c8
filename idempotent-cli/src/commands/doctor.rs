//! `idempotent doctor`: what is dangerous to the records.

use std::process::ExitCode;

use clap::Args;
use idempotent_runtime::admin::Severity;
use serde_json::json;

use crate::access;
use crate::cli::Global;
use crate::exit::{self, Failure};
use crate::output::{Out, Paint, printable};

#[derive(Debug, Args)]
pub(crate) struct Options {}

pub(crate) async fn run(_: &Options, global: &Global, out: Out) -> Result<ExitCode, Failure> {
    let idempotency = access::open(global).await?;
    let mut concerns = idempotency.check().await?;
    concerns.sort_by_key(|concern| std::cmp::Reverse(concern.severity));
    let is_serious = concerns.iter().any(|concern| concern.severity == Severity::Serious);
    if global.json {
        let all = concerns.iter().map(
            |concern| json!({ "severity": word(concern.severity), "what": &*concern.what, "advice": &*concern.advice }),
        );
        out.json(&json!({
            "store": idempotency.store().name(),
            "serious": is_serious,
            "concerns": all.collect::<Vec<_>>(),
        }))?;
    } else {
        for concern in &concerns {
            let paint = if concern.severity == Severity::Serious { Paint::Bad } else { Paint::Warning };
            let word = out.paint(word(concern.severity), paint);
            out.line(&format!("{word}: {}\n    {}", printable(&concern.what), concern.advice))?;
        }
        if concerns.is_empty() {
            out.line(&out.paint("nothing to worry about", Paint::Good))?;
        }
    }
    Ok(if is_serious { ExitCode::from(exit::SERIOUS) } else { ExitCode::SUCCESS })
}

fn word(severity: Severity) -> &'static str {
    if severity == Severity::Serious { "serious" } else { "notice" }
}
