//! What becomes of a result.

use std::rc::Rc;

use idempotent_runtime::admin::State;
use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};

use crate::{Order, OrderError, order, ran};

#[tokio::test]
async fn options_reach_the_runtime() {
    #[idempotent(prefix = "skips", keys = [id], ttl = 1h, on_duplicate = skip)]
    async fn skips(id: u64) -> Result<Option<Rc<u64>>, Error> {
        ran().await;
        Ok(Some(Rc::new(id)))
    }

    #[idempotent(prefix = "rejects", keys = [id], ttl = 1h, on_duplicate = reject, lease = 5s, on_outage = run)]
    async fn rejects(id: u64) -> Result<Rc<u64>, Error> {
        ran().await;
        Ok(Rc::new(id))
    }

    #[idempotent(prefix = "compares", keys = [id], ttl = 1h, fingerprint = amount)]
    async fn compares(id: u64, amount: u64) -> Result<u64, OrderError> {
        ran().await;
        Ok(id + amount)
    }

    #[idempotent(prefix = "missing", keys = [id, order.lines.first()], ttl = 1h)]
    async fn missing(id: u64, order: Order) -> Result<(), Error> {
        ran().await;
        drop((id, order));
        Ok(())
    }

    Idempotency::memory()
        .scope(async {
            assert_eq!(skips(7).await.unwrap().as_deref(), Some(&7));
            assert_eq!(skips(7).await.unwrap(), None);
            assert_eq!(*rejects(7).await.unwrap(), 7);
            assert_eq!(rejects(7).await.unwrap_err().kind(), ErrorKind::Duplicate);
            assert_eq!(compares(7, 1).await.unwrap(), 8);
            assert!(matches!(compares(7, 2).await, Err(OrderError::Idempotency(ErrorKind::Mismatch))));
            let error = missing(7, order()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::MissingKeyPart);
            assert!(error.to_string().contains("`order.lines.first()`"), "{error}");
        })
        .await;
}

#[tokio::test]
async fn the_record_of_a_failure_shows_an_error_that_can_be_shown() {
    /// Has no `Display`.
    struct Opaque;

    impl From<Error> for Opaque {
        fn from(_: Error) -> Self {
            Self
        }
    }

    #[idempotent(prefix = "shown", keys = [id], ttl = 1h)]
    async fn shown(id: u64) -> anyhow::Result<()> {
        anyhow::bail!("oven {id}\nis cold")
    }

    #[idempotent(prefix = "mapped", keys = [id], ttl = 1h, map_err = |error| error.to_string())]
    async fn mapped(id: u64) -> Result<(), String> {
        Err(format!("oven {id} is cold"))
    }

    #[idempotent(prefix = "opaque", keys = [id], ttl = 1h)]
    async fn opaque(id: u64) -> Result<(), Opaque> {
        let _ = id;
        Err(Opaque)
    }

    #[idempotent(prefix = "generic-error", keys = [id], ttl = 1h)]
    async fn generic<E: From<Error> + From<Opaque>>(id: u64) -> Result<(), E> {
        let _ = id;
        Err(Opaque.into())
    }

    let idempotency = Idempotency::memory();
    let last_error = async |prefix: &str| {
        let key = idempotency.key(prefix, &[&7]).unwrap();
        match idempotency.inspect(&key).await.unwrap().expect("a record").state {
            State::Failed { last_error } => last_error,
            other => panic!("{other:?}"),
        }
    };
    idempotency
        .scope(async {
            assert!(shown(7).await.is_err());
            assert!(mapped(7).await.is_err());
            assert!(opaque(7).await.is_err());
            assert!(generic::<Opaque>(7).await.is_err());
            assert_eq!(&*last_error("shown").await, "oven 7 is cold");
            assert_eq!(&*last_error("mapped").await, "oven 7 is cold");
            assert_eq!(&*last_error("opaque").await, "the handler returned an error");
            assert_eq!(&*last_error("generic-error").await, "the handler returned an error");
        })
        .await;
}
