//! Methods: every form of `self`, traits and their implementations, `#[async_trait]`.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Error, Idempotency, idempotent};

use crate::{Order, OrderError, order, ran, runs_once};

pub(crate) struct Kitchen {
    tenant: u64,
    prepared: u32,
    ttl: Duration,
    idempotency: Idempotency,
}

impl Kitchen {
    const LEASE: Duration = Duration::from_secs(5);

    pub(crate) fn new() -> Self {
        Self { tenant: 1, prepared: 0, ttl: Duration::from_mins(1), idempotency: Idempotency::memory() }
    }

    #[idempotent(prefix = "by-reference", keys = [self.tenant, id], ttl = self.ttl, lease = Self::LEASE)]
    pub(crate) async fn by_reference(&self, id: u64) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant + id)
    }

    #[idempotent(prefix = "by-mutable-reference", keys = [self.tenant], ttl = 1h, via = self.idempotency)]
    async fn by_mutable_reference(&mut self) -> Result<u32, Error> {
        ran().await;
        self.prepared += 1;
        Ok(self.prepared)
    }

    #[idempotent(prefix = "by-value", keys = [self.tenant], ttl = 1h)]
    async fn by_value(mut self) -> Result<u32, Error> {
        ran().await;
        self.prepared += 1;
        Ok(self.prepared)
    }

    #[idempotent(prefix = "by-mutable-value", keys = [self.tenant], ttl = 1h)]
    async fn by_box(self: Box<Self>) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant)
    }

    #[idempotent(prefix = "by-arc", keys = [self.tenant], ttl = 1h)]
    async fn by_arc(self: Arc<Self>) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant)
    }

    #[idempotent(prefix = "by-reference-to-arc", keys = [self.tenant], ttl = 1h, via = &self.idempotency)]
    async fn by_reference_to_arc(self: &Arc<Self>) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant)
    }

    #[idempotent(prefix = "by-pin", keys = [self.tenant], ttl = 1h)]
    async fn by_pin(self: Pin<&mut Self>) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant)
    }

    #[idempotent(prefix = "without-self", keys = [id], ttl = 1h)]
    async fn without_self(id: u64) -> Result<u64, Error> {
        ran().await;
        Ok(Self::new().tenant + id)
    }
}

#[tokio::test]
async fn methods_with_every_form_of_self() {
    let kitchen = Kitchen::new();
    assert_eq!(runs_once(|| kitchen.by_reference(2)).await, 3);
    assert_eq!(runs_once(|| Kitchen::new().by_value()).await, 1);
    assert_eq!(runs_once(|| Box::new(Kitchen::new()).by_box()).await, 1);
    let shared = Arc::new(Kitchen::new());
    assert_eq!(runs_once(|| Arc::clone(&shared).by_arc()).await, 1);
    assert_eq!(runs_once(|| shared.by_reference_to_arc()).await, 1);
    assert_eq!(runs_once(|| async { Pin::new(&mut Kitchen::new()).by_pin().await }).await, 1);
    assert_eq!(runs_once(|| Kitchen::without_self(2)).await, 3);
}

#[tokio::test]
async fn a_mutable_reference_is_free_again_afterwards() {
    let mut kitchen = Kitchen::new();
    assert_eq!(kitchen.by_mutable_reference().await.unwrap(), 1);
    assert_eq!(kitchen.by_mutable_reference().await.unwrap(), 1);
    assert_eq!(kitchen.prepared, 1);
}

trait Prepare {
    async fn prepare(&self, id: u64) -> Result<u64, Error>;

    #[idempotent(prefix = "default-body", keys = [id], ttl = 1h)]
    async fn default_body(&self, id: u64) -> Result<u64, Error> {
        ran().await;
        Ok(id)
    }
}

impl Prepare for Kitchen {
    #[idempotent(prefix = "trait", keys = [self.tenant, id], ttl = 1h)]
    async fn prepare(&self, id: u64) -> Result<u64, Error> {
        ran().await;
        Ok(self.tenant + id)
    }
}

#[tokio::test]
async fn traits_and_their_implementations() {
    let kitchen = Kitchen::new();
    assert_eq!(runs_once(|| Prepare::prepare(&kitchen, 2)).await, 3);
    assert_eq!(runs_once(|| Prepare::default_body(&kitchen, 2)).await, 2);
}

#[async_trait::async_trait]
trait DynPrepare: Send + Sync {
    async fn prepare(&self, order: Order) -> Result<u64, OrderError>;

    #[idempotent(prefix = "dyn-default-body", keys = [id], ttl = 1h)]
    async fn default_body(&self, id: u64) -> Result<u64, OrderError> {
        ran().await;
        Ok(id)
    }
}

#[async_trait::async_trait]
impl DynPrepare for Kitchen {
    #[idempotent(prefix = "dyn", keys = [self.tenant, order.id], ttl = 1h)]
    async fn prepare(&self, order: Order) -> Result<u64, OrderError> {
        ran().await;
        if order.id == 0 {
            return Ok(0);
        }
        Ok(self.tenant + "7".parse::<u64>()?)
    }
}

#[async_trait::async_trait(?Send)]
trait LocalPrepare {
    async fn prepare(&mut self, id: &str) -> Result<String, Error>;
}

#[async_trait::async_trait(?Send)]
impl LocalPrepare for Rc<str> {
    #[idempotent(prefix = "local", keys = [self, id], ttl = 1h)]
    async fn prepare(&mut self, id: &str) -> Result<String, Error> {
        ran().await;
        Ok([&**self, id].join(" "))
    }
}

#[tokio::test]
async fn async_trait_with_the_attribute_in_trait_and_implementation() {
    let kitchen: Box<dyn DynPrepare> = Box::new(Kitchen::new());
    assert_eq!(runs_once(|| kitchen.prepare(order())).await, 8);
    assert_eq!(runs_once(|| kitchen.default_body(2)).await, 2);
    let local: Rc<str> = "eu".into();
    assert_eq!(runs_once(|| async { local.clone().prepare("7").await }).await, "eu 7");
}
