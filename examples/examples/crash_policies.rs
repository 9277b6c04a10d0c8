//! What a crash means, policy by policy: processes charge a card and die half way, and the message comes again.
//!
//! ```text
//! cargo run --example crash_policies                            # starts its own Redis
//! cargo run --example crash_policies -- --redis redis://127.0.0.1/
//! ```
//!
//! Each delivery is a process of its own (this program, started again). It charges the card at a bank outside, which
//! counts, and then aborts before it can return. The four handlers differ in one option only.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use examples::backend;
use idempotent_runtime::admin::Decision;
use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};
use redis::AsyncCommands as _;
use tokio::time::{Instant, sleep};

/// How long a crash blocks its key: short, for nobody wants to wait in an example.
const LEASE: Duration = Duration::from_millis(500);

/// The default: after a crash, the next delivery runs again. Right where a second charge does no harm, or where the
/// bank is told `current().derive("charge")`.
#[idempotent(prefix = "rerun", keys = [order], ttl = 1h, lease = LEASE)]
async fn rerun(order: u64, bank: &mut Bank) -> Result<String, Failure> {
    bank.charge(order).await
}

/// Nobody knows what the dead run did, so nobody runs again until a person has decided.
#[idempotent(prefix = "hold", keys = [order], ttl = 1h, lease = LEASE, on_crash = hold)]
async fn hold(order: u64, bank: &mut Bank) -> Result<String, Failure> {
    bank.charge(order).await
}

/// The bank knows: it is asked first, and what it has is recorded.
#[idempotent(
    prefix = "existing",
    keys = [order],
    ttl = 1h,
    lease = LEASE,
    on_crash = hold,
    existing = bank.clone().find(order),
)]
async fn existing(order: u64, bank: &mut Bank) -> Result<String, Failure> {
    bank.charge(order).await
}

/// A message that kills every worker must not kill them all.
#[idempotent(prefix = "max_attempts", keys = [order], ttl = 1h, lease = LEASE, max_attempts = 2)]
async fn max_attempts(order: u64, bank: &mut Bank) -> Result<String, Failure> {
    bank.charge(order).await
}

const ORDER: u64 = 1001;
const POLICIES: [&str; 4] = ["rerun", "hold", "existing", "max_attempts"];

async fn deliver(policy: &str, bank: &mut Bank) -> Result<String, Failure> {
    match policy {
        "rerun" => rerun(ORDER, bank).await,
        "hold" => hold(ORDER, bank).await,
        "existing" => existing(ORDER, bank).await,
        _ => max_attempts(ORDER, bank).await,
    }
}

/// A bank outside: it counts charges, whoever dies. Here it is a counter of each policy in Redis.
#[derive(Clone)]
struct Bank {
    connection: redis::aio::MultiplexedConnection,
    policy: String,
    /// The worker dies once the money has gone out.
    fatal: bool,
}

impl Bank {
    async fn charge(&mut self, order: u64) -> Result<String, Failure> {
        let charges: u64 = self.connection.incr(format!("bank:{}:{order}", self.policy), 1).await?;
        if self.fatal {
            std::process::abort();
        }
        Ok(format!("charge {charges}"))
    }

    async fn find(mut self, order: u64) -> Result<Option<String>, Failure> {
        let charges = self.charges(order).await?;
        Ok((charges > 0).then(|| format!("charge {charges}")))
    }

    async fn charges(&mut self, order: u64) -> Result<u64, Failure> {
        Ok(self.connection.get::<_, Option<u64>>(format!("bank:{}:{order}", self.policy)).await?.unwrap_or(0))
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the bank does not answer")]
    Bank(#[from] redis::RedisError),
    #[error(transparent)]
    NotRun(#[from] Error),
}

/// Shows what a crash means under each policy.
#[derive(clap::Parser)]
struct Options {
    /// URL of Redis; without it, one is started
    #[arg(long)]
    redis: Option<String>,
    /// What a delivery is started as
    #[arg(long, hide = true, requires = "redis")]
    deliver: Option<String>,
    /// The delivery dies half way
    #[arg(long, hide = true)]
    fatal: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    if let (Some(policy), Some(redis)) = (options.deliver, &options.redis) {
        return delivery(&policy, redis, options.fatal).await;
    }
    let own = backend::Redis::given_or_own(options.redis)?;
    let url = own.url();
    let idempotency = Idempotency::connect(url).await?;

    println!("A worker charges a card and dies. Then the message comes again, and again:\n");
    println!("  {:<14}{:<16}{:<16}{:<16}{:<9}what happened", "policy", "1st delivery", "2nd", "3rd", "charges");
    for policy in POLICIES {
        let mut bank = bank(url, policy, false).await?;
        let mut answers = Vec::new();
        for delivery in 1..=3 {
            // The first worker dies, and under `max_attempts` the second too: that message is poison.
            let fatal = delivery == 1 || (policy == "max_attempts" && delivery == 2);
            answers.push(process(policy, url, fatal).await?);
        }
        let charges = bank.charges(ORDER).await?;
        let [first, second, third] = &answers[..] else { bail!("three deliveries") };
        println!("  {policy:<14}{first:<16}{second:<16}{third:<16}{charges:<9}{}", comment(policy));
    }

    println!("\nA person asks the bank, and decides:\n");
    let key = idempotency.key("hold", &[&ORDER])?;
    let seen = idempotency.inspect(&key).await?.context("the record is held")?;
    let decision = Decision { who: "ada", why: "the bank has it as charge 1" };
    idempotency.resolve(&key, &seen, &"charge 1", Duration::from_hours(1), decision).await?;
    println!("  hold          resolve {key} as charge 1, then: {}", process("hold", url, false).await?);
    let key = idempotency.key("max_attempts", &[&ORDER])?;
    let seen = idempotency.inspect(&key).await?.context("the record is exhausted")?;
    let decision = Decision { who: "ada", why: "the worker is mended" };
    idempotency.allow_one_more(&key, &seen, decision).await?;
    println!("  max_attempts  allow one more run of {key}, then: {}", process("max_attempts", url, false).await?);
    Ok(())
}

fn comment(policy: &str) -> &'static str {
    match policy {
        "rerun" => "charged twice: the second run cannot know of the first",
        "hold" => "charged once; a person must look",
        "existing" => "charged once; the bank was asked",
        _ => "two workers died, the third was spared",
    }
}

/// One delivery in a process of its own, until it is not busy: the answer, or that it died.
async fn process(policy: &str, redis: &str, fatal: bool) -> Result<String> {
    let started = Instant::now();
    loop {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--redis", redis, "--deliver", policy]).stderr(Stdio::null());
        if fatal {
            command.arg("--fatal");
        }
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match answer.as_str() {
            "" if !output.status.success() => return Ok("dies".to_owned()),
            // The dead worker's lease has not lapsed yet.
            "busy" if started.elapsed() < 20 * LEASE => sleep(LEASE / 5).await,
            _ => return Ok(answer),
        }
    }
}

/// What a delivery's process does.
async fn delivery(policy: &str, redis: &str, fatal: bool) -> Result<()> {
    Idempotency::connect(redis).await?.install()?;
    let mut bank = bank(redis, policy, fatal).await?;
    match deliver(policy, &mut bank).await {
        Ok(receipt) => println!("{receipt}"),
        Err(Failure::NotRun(error)) if error.kind() == ErrorKind::Busy => println!("busy"),
        Err(Failure::NotRun(error)) => println!("{:?}", error.kind()),
        Err(error) => bail!(error),
    }
    Ok(())
}

async fn bank(redis: &str, policy: &str, fatal: bool) -> Result<Bank> {
    let connection = redis::Client::open(redis)?.get_multiplexed_async_connection().await?;
    Ok(Bank { connection, policy: policy.to_owned(), fatal })
}
