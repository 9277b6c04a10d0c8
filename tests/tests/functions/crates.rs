//! A runtime crate that is re-exported; one that is renamed is in the package `renamed`.

use idempotent_runtime::{Error, idempotent};

use crate::{ran, runs_once};

pub(crate) mod platform {
    pub(crate) mod again {
        pub(crate) use idempotent_runtime as renamed;
    }

    /// A macro of a platform crate: its users need not know the runtime.
    macro_rules! handler {
        ($name:ident($id:ident) $body:block) => {
            #[$crate::crates::platform::again::renamed::idempotent(
                prefix = "platform",
                keys = [$id],
                ttl = 1h,
                crate = $crate::crates::platform::again::renamed,
            )]
            async fn $name($id: u64) -> Result<u64, $crate::crates::platform::again::renamed::Error> $body
        };
    }
    pub(crate) use handler;
}

platform::handler!(by_a_macro(id) {
    ran().await;
    Ok(id)
});

#[idempotent(prefix = "renamed", keys = [id], ttl = 1h, crate = platform::again::renamed)]
async fn renamed(id: u64) -> Result<u64, Error> {
    ran().await;
    Ok(id)
}

#[tokio::test]
async fn a_runtime_crate_by_another_path() {
    assert_eq!(runs_once(|| by_a_macro(7)).await, 7);
    assert_eq!(runs_once(|| renamed(7)).await, 7);
}
