//! `idempotent inspect`: one record.

use clap::Args;
use idempotent_runtime::admin::{Inspected, State};
use idempotent_runtime::{Key, NoResult, Recorded};
use serde_json::Value;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::{self, Out, Paint, printable};
use crate::span;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The key, whole, as `idempotent key` and `idempotent list` write it
    key: String,
    /// Show the result too: it may hold what not everybody should see
    #[arg(long)]
    show_result: bool,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let key = Key::from_text(&options.key);
    let idempotency = access::open(global).await?;
    let record = idempotency.inspect(&key).await?.ok_or_else(|| Failure::Absent(options.key.clone()))?;
    if global.json {
        let mut all = output::described(&key, &record);
        if let State::Completed(result) = &record.state {
            all.insert("result".to_owned(), output::result(result, options.show_result));
        }
        return Ok(out.json(&Value::Object(all))?);
    }
    for (name, value, paint) in facts(&key, &record, options.show_result) {
        out.line(&format!("{name:<12} {}", out.paint(&printable(&value), paint)))?;
    }
    Ok(())
}

/// What there is to say, in the order in which people want to know it.
fn facts(key: &Key, record: &Inspected, show_result: bool) -> Vec<(&'static str, String, Paint)> {
    let standing = record.standing();
    let mut facts = vec![
        ("key", key.to_string(), Paint::Bold),
        ("state", standing.to_string(), Paint::from(standing)),
        ("attempt", record.attempt.to_string(), Paint::Plain),
    ];
    let mut say = |name, value: String| facts.push((name, value, Paint::Plain));
    if !record.owner.is_empty() {
        say("owner", record.owner.to_string());
    }
    match &record.state {
        State::InProgress { remaining, silent_for, lease, begun, given_up } => {
            let lease = format!("{} of {} left", span::text(*remaining), span::text(*lease));
            say("lease", if *given_up { "given up".to_owned() } else { lease });
            say("silent for", span::text(*silent_for));
            say("run", if *begun { "begun" } else { "not begun" }.to_owned());
        }
        State::Failed { last_error } => say("last error", last_error.to_string()),
        State::Completed(result) => say("result", described(result, show_result)),
    }
    say("expires in", output::left(record.expires_in));
    if let Some(fingerprint) = record.fingerprint {
        say("fingerprint", fingerprint.to_string());
    }
    say("token", record.token.to_string());
    facts
}

fn described(result: &Recorded, show: bool) -> String {
    let encoded = |kind: &str, encoded: &idempotent_runtime::Encoded| {
        let text = String::from_utf8_lossy(&encoded.bytes).into_owned();
        let hidden = format!("{} bytes of {} (--show-result)", encoded.bytes.len(), encoded.codec);
        format!("{kind}{}", if show { text } else { hidden })
    };
    match result {
        Recorded::Value(value) => encoded("", value),
        Recorded::Error(error) => encoded("error: ", error),
        Recorded::Rejected(summary) if show => format!("rejected: {summary}"),
        Recorded::Rejected(_) => "rejected (--show-result)".to_owned(),
        Recorded::Nothing(NoResult::NotWanted) => "none: not wanted".to_owned(),
        Recorded::Nothing(NoResult::TooLarge) => "none: too large".to_owned(),
        Recorded::Nothing(NoResult::NotSerialisable) => "none: not serialisable".to_owned(),
    }
}
