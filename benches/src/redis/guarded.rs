//! The same call under the attribute.

use benches::{NAMESPACE, Receipt, dispatch};
use idempotent_runtime::Idempotency;

use super::turns::Caller;

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
