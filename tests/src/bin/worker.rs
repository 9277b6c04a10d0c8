//! A worker process for tests that kill, stop and outrun it: calls a guarded handler and says on standard output what
//! happens, a word a line with its values.
//!
//! ```text
//! worker URL KEY LEASE_MS WORK_MS [hold] [fenced] [block] [calls=N]
//! ```
//!
//! Each call prints `start ATTEMPT FENCE` when its body begins and one of `value V OUTCOME` or `refused KIND`.

use std::io::Write as _;
use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, OnCrash, current, with_outcome};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key, lease, work, flags @ ..] = &arguments[..] else {
        anyhow::bail!("worker URL KEY LEASE_MS WORK_MS [hold] [fenced] [block] [calls=N]")
    };
    let (lease, work) = (Duration::from_millis(lease.parse()?), Duration::from_millis(work.parse()?));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let calls = flags.iter().find_map(|flag| flag.strip_prefix("calls=")).map_or(Ok(1), str::parse)?;

    let idempotency = Idempotency::connect(url).await?;
    let (block, hold, fenced) = (has("block"), has("hold"), has("fenced"));
    say("ready", "");
    let running: Vec<_> = (0..calls)
        .map(|_| {
            let mut call = idempotency.call("work").key(key.as_str()).ttl(Duration::from_mins(10)).lease(lease);
            if hold {
                call = call.on_crash(OnCrash::Hold);
            }
            if fenced {
                call = call.fenced();
            }
            tokio::spawn(with_outcome(call.run(async move {
                let claim = current().expect("it runs under a claim");
                say("start", &format!("{} {}", claim.attempt(), claim.fence().unwrap_or(0)));
                if block {
                    std::thread::sleep(work);
                } else {
                    tokio::time::sleep(work).await;
                }
                Ok::<u32, Error>(std::process::id())
            })))
        })
        .collect();
    for call in running {
        match call.await? {
            (Ok(value), outcome) => say("value", &format!("{value} {}", outcome.as_str())),
            (Err(error), _) => say("refused", error.kind().as_str()),
        }
    }
    Ok(())
}

fn say(word: &str, rest: &str) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone has ended this worker's use.
    if writeln!(out, "{word} {rest}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
