//! The handle: settings, the ambient one, codecs, URLs.

use std::error::Error as StdError;
use std::time::Duration;

use idempotent_runtime::{
    CallBuilder, Codec, CodecTag, Error, ErrorKind, Idempotency, MemoryStore, ResultRef, ResultSlot, idempotent,
    installed, with_outcome,
};

const MINUTE: Duration = Duration::from_mins(1);

fn call(idempotency: &Idempotency) -> CallBuilder {
    idempotency.call("order").key(1001).ttl(MINUTE)
}

async fn value(n: u32) -> Result<u32, Error> {
    Ok(n)
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("must be refused"),
        Err(error) => error.kind(),
    }
}

mod ambient {
    use super::*;

    #[idempotent(prefix = "ambient", keys = [id], ttl = 1m)]
    async fn handler(id: u32, value: u32) -> Result<u32, Error> {
        Ok(value)
    }

    // One test, for the process has one installed handle.
    #[tokio::test]
    async fn the_installed_handle_serves_where_no_scope_does() {
        assert_eq!(kind(handler(1, 10).await), ErrorKind::NotInstalled);
        assert!(installed().is_none());

        let idempotency = Idempotency::memory();
        idempotency.install().unwrap();
        assert_eq!(kind(Idempotency::memory().install()), ErrorKind::AlreadyInstalled);
        assert_eq!(handler(1, 10).await.unwrap(), 10);
        assert_eq!(handler(1, 11).await.unwrap(), 10);

        let tenant = Idempotency::memory();
        assert_eq!(tenant.scope(handler(1, 12)).await.unwrap(), 12, "another store");
        assert_eq!(handler(1, 13).await.unwrap(), 10, "back outside");
    }
}

mod settings {
    use super::*;

    #[tokio::test]
    async fn a_mistake_is_found_before_anything_runs() {
        let memory = MemoryStore::new;
        for (mistake, built) in [
            ("namespace", Idempotency::builder().namespace("shop{1}").build(memory())),
            ("namespace", Idempotency::builder().namespace("").build(memory())),
            ("owner", Idempotency::builder().owner("two words").build(memory())),
            ("owner", Idempotency::builder().owner(&"x".repeat(65)).build(memory())),
            ("store_timeout", Idempotency::builder().store_timeout(Duration::ZERO).build(memory())),
            ("settle_timeout", Idempotency::builder().settle_timeout(Duration::ZERO).build(memory())),
        ] {
            let error = built.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(mistake), "{error}");
        }
        let control = Idempotency::builder().namespace("shop:eu").owner(&"x".repeat(64)).build(memory());
        assert!(control.is_ok());
    }

    #[tokio::test]
    async fn durations_of_a_call_are_checked() {
        let idempotency = Idempotency::memory();
        let short = Duration::from_millis(9);
        assert_eq!(kind(idempotency.call("order").key(1).run(value(1)).await), ErrorKind::Configuration, "no ttl");
        assert_eq!(kind(call(&idempotency).ttl(short).run(value(1)).await), ErrorKind::Configuration);
        assert_eq!(kind(call(&idempotency).lease(short).run(value(1)).await), ErrorKind::Configuration);
        let long = Duration::from_hours(24) + Duration::from_millis(1);
        assert_eq!(kind(call(&idempotency).lease(long).run(value(1)).await), ErrorKind::Configuration);
        assert_eq!(kind(call(&idempotency).timeout(Duration::ZERO).run(value(1)).await), ErrorKind::Configuration);
        assert_eq!(kind(idempotency.call("order{1}").key(1).ttl(MINUTE).run(value(1)).await), ErrorKind::Configuration);
        let control = call(&idempotency).ttl(Duration::from_millis(10)).lease(Duration::from_hours(24));
        assert_eq!(control.run(value(1)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_namespace_keeps_applications_apart() {
        let store = MemoryStore::new();
        let shop = Idempotency::builder().namespace("shop").build(store.clone()).unwrap();
        let bar = Idempotency::builder().namespace("bar").build(store).unwrap();
        let (result, outcome) = with_outcome(call(&shop).run(value(1))).await;
        assert_eq!((result.unwrap(), outcome.key()), (1, Some("shop:order:1001")));
        assert_eq!(call(&bar).run(value(2)).await.unwrap(), 2);
        assert_eq!(call(&shop).run(value(3)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn an_owner_is_host_and_process_unless_it_is_named() {
        let owner = Idempotency::memory().owner().to_owned();
        assert!(owner.ends_with(&format!(":{}", std::process::id())), "{owner}");
        let named = Idempotency::builder().owner("consumer-3").build(MemoryStore::new()).unwrap();
        assert_eq!(named.owner(), "consumer-3");
    }

    #[tokio::test]
    async fn urls_that_name_no_store_are_refused() {
        for url in ["", "order.db", "http://localhost", "mysql://localhost"] {
            assert_eq!(kind(Idempotency::connect(url).await), ErrorKind::Configuration, "{url:?}");
        }
        assert!(Idempotency::connect("memory:").await.is_ok(), "the control");
    }
}

mod codecs {
    use super::*;

    type Failure = Box<dyn StdError + Send + Sync>;

    /// JSON with every byte turned over.
    #[derive(Debug)]
    struct Turned;

    impl Codec for Turned {
        fn tag(&self) -> CodecTag {
            const { CodecTag::new("turned") }
        }

        fn encode(&self, result: ResultRef<'_>) -> Result<Vec<u8>, Failure> {
            Ok(serde_json::to_vec(&result)?.into_iter().map(|byte| !byte).collect())
        }

        fn decode(&self, bytes: &[u8], slot: ResultSlot<'_>) -> Result<(), Failure> {
            let bytes: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            Ok(slot.fill(&mut serde_json::Deserializer::from_slice(&bytes))?)
        }
    }

    #[tokio::test]
    async fn a_codec_of_ones_own_writes_and_reads() {
        let idempotency = Idempotency::builder().codec(Turned).build(MemoryStore::new()).unwrap();
        assert_eq!(call(&idempotency).run(value(1)).await.unwrap(), 1);
        assert_eq!(call(&idempotency).run(value(2)).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn old_and_new_binaries_read_each_others_records() {
        let store = MemoryStore::new();
        let old = Idempotency::with_store(store.clone());
        let new =
            Idempotency::builder().codec(Turned).also_reads(idempotent_runtime::Json).build(store.clone()).unwrap();
        assert_eq!(call(&old).run(value(1)).await.unwrap(), 1);
        assert_eq!(call(&new).run(value(2)).await.unwrap(), 1, "the new one reads what the old one wrote");

        let (result, _) = with_outcome(new.call("order").key(1002).ttl(MINUTE).run(value(3))).await;
        assert_eq!(result.unwrap(), 3);
        let unknown = old.call("order").key(1002).ttl(MINUTE).run(value(4)).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::Unreadable, "the old one does not, and never runs");
        assert!(unknown.to_string().contains("turned"), "{unknown}");
    }

    #[tokio::test]
    async fn a_result_over_the_bound_is_not_recorded_and_never_runs_again() {
        let idempotency = Idempotency::builder().max_result_bytes(10).build(MemoryStore::new()).unwrap();
        let text = |text: &'static str| async move { Ok::<_, Error>(text.to_owned()) };
        assert_eq!(call(&idempotency).run(text("twelve bytes")).await.unwrap(), "twelve bytes");
        assert_eq!(kind(call(&idempotency).run(text("")).await), ErrorKind::ResultUnavailable);
        let control = || idempotency.call("order").key("short").ttl(MINUTE);
        assert_eq!(control().run(text("12345678")).await.unwrap(), "12345678");
        assert_eq!(control().run(text("")).await.unwrap(), "12345678");
    }
}
