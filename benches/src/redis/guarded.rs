//! The same call under the attribute.

use benches::{NAMESPACE, Receipt, dispatch, dispatch_step};
use idempotent_runtime::Idempotency;

use super::turns::Caller;

/// Its records are strings.
pub(super) struct Guarded(Idempotency);

impl Guarded {
    pub(super) async fn connect(url: &str) -> anyhow::Result<Self> {
        Ok(Self(Idempotency::builder().namespace(NAMESPACE).connect(url).await?))
    }
}

impl Caller for Guarded {
    async fn call(&self, order: u64) -> anyhow::Result<Receipt> {
        Ok(dispatch(&self.0, order).await?)
    }
}

/// Its records are fields of Hashes.
pub(super) struct GuardedStep(Idempotency);

impl GuardedStep {
    pub(super) async fn connect(url: &str) -> anyhow::Result<Self> {
        Ok(Self(Idempotency::builder().namespace("step").connect(url).await?))
    }
}

impl Caller for GuardedStep {
    async fn call(&self, order: u64) -> anyhow::Result<Receipt> {
        Ok(dispatch_step(&self.0, order).await?)
    }
}
