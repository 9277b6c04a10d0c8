//! Many records in Redis, each a copy of a real one under a key of its own.

use anyhow::Context as _;
use benches::{FIRST_ORDER, NAMESPACE, PREFIX, TTL, dispatch_for};
use idempotent_runtime::Idempotency;
use servers::Redis;

/// So many in one go.
const AT_ONCE: u64 = 1_000;

pub(super) async fn fill(redis: &Redis, records: u64) -> anyhow::Result<()> {
    let idempotency = Idempotency::builder().namespace(NAMESPACE).connect(&redis.url()).await?;
    dispatch_for(&idempotency, FIRST_ORDER, 1200).await?;
    let key = |order: u64| format!("{NAMESPACE}:{PREFIX}:{order}");
    let client = redis::Client::open(redis.url())?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let record: Option<Vec<u8>> = redis::cmd("GET").arg(key(FIRST_ORDER)).query_async(&mut connection).await?;
    let record = record.context("the first record is not where it should be")?;
    let end = FIRST_ORDER + records;
    let mut next = FIRST_ORDER + 1;
    while next < end {
        let upto = end.min(next + AT_ONCE);
        let mut pipeline = redis::pipe();
        for order in next..upto {
            let ttl = u64::try_from(TTL.as_millis())?;
            pipeline.cmd("SET").arg(key(order)).arg(&record).arg("PX").arg(ttl).ignore();
        }
        pipeline.exec_async(&mut connection).await?;
        next = upto;
    }
    Ok(())
}
