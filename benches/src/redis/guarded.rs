//! The same call under the attribute.

use benches::{NAMESPACE, Receipt, dispatch, dispatch_in_steps};
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

/// Its records are fields of Hashes: an order has four.
pub(super) struct GuardedSteps(Idempotency);

impl GuardedSteps {
    pub(super) async fn connect(url: &str) -> anyhow::Result<Self> {
        Ok(Self(Idempotency::builder().namespace("step").connect(url).await?))
    }
}

impl Caller for GuardedSteps {
    async fn call(&self, order: u64) -> anyhow::Result<Receipt> {
        Ok(dispatch_in_steps(&self.0, order / 4, order % 4).await?)
    }
}
