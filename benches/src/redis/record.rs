//! What a record takes in Redis, against the bare result.

use anyhow::{Context as _, ensure};
use benches::{FIRST_ORDER, NAMESPACE, PREFIX, Receipt, TTL, dispatch_for};
use idempotent_runtime::Idempotency;
use servers::Redis;

use super::start;
use crate::figures::Figures;

/// An owner as a container gives it: the host's twelve digits, and the process.
const OWNER: &str = "9f86d081884c:17";

pub(crate) fn record_bytes(figures: &mut Figures) -> anyhow::Result<()> {
    let (redis, _) = start()?;
    let key = format!("{NAMESPACE}:{PREFIX}:{FIRST_ORDER}");
    let result = serde_json::to_string(&Receipt::of(FIRST_ORDER))?;
    ensure!((key.len(), result.len()) == (30, 40), "{key} has {} bytes, {result} {}", key.len(), result.len());

    redis.cli(&["SET", &key, &result, "PX", &TTL.as_millis().to_string()])?;
    figures.plain_set_bytes = Some(memory_usage(&redis, &key)?);
    redis.cli(&["DEL", &key])?;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let handle = Idempotency::builder().namespace(NAMESPACE).owner(OWNER).connect(&redis.url()).await?;
        dispatch_for(&handle, FIRST_ORDER, 1200).await
    })?;
    figures.record_bytes = Some(memory_usage(&redis, &key)?);
    Ok(())
}

fn memory_usage(redis: &Redis, key: &str) -> anyhow::Result<f64> {
    let bytes = redis.cli(&["MEMORY", "USAGE", key])?.integer().with_context(|| format!("there is no {key}"))?;
    Ok(i32::try_from(bytes)?.into())
}
