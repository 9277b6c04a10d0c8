//! The registry: every annotated handler of a program, wherever it stands, and those that share their records.

// What the attribute leaves behind compiles where `unsafe` is forbidden.
#![forbid(unsafe_code)]

mod elsewhere;

use std::fmt::Display;
use std::time::Duration;

use idempotent_runtime::admin::Severity;
use idempotent_runtime::registry::{self, Handler};
use idempotent_runtime::{Error, Idempotency, idempotent};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The line of the attribute below.
const PLAIN: u32 = line!() + 2;

#[idempotent(prefix = "registry:plain", keys = [order, *activity], ttl = 24h)]
async fn plain(order: u64, activity: &&str) -> Result<usize, Error> {
    Ok(activity.len() + usize::try_from(order).unwrap_or_default())
}

#[idempotent(prefix = "registry:generic", keys = [id.to_string()], ttl = "1h 30m")]
async fn generic<T: Display, R: Serialize + DeserializeOwned + Default + Send>(id: T) -> Result<R, Error> {
    drop(id);
    Ok(R::default())
}

struct Kitchen {
    ttl: Duration,
}

impl Kitchen {
    #[idempotent(prefix = "registry:steps", step = "cook", keys = [order], ttl = self.ttl)]
    async fn cook(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }

    #[idempotent(prefix = "registry:steps", step = "serve", keys = [order], ttl = forever)]
    async fn serve(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

#[async_trait::async_trait]
trait Waiter {
    async fn bring(&self, order: u64) -> Result<u64, Error>;
}

#[async_trait::async_trait]
impl Waiter for Kitchen {
    #[idempotent(prefix = "registry:trait", keys = [order], ttl = 1h)]
    async fn bring(&self, order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

/// The one of this prefix, which there is once.
#[track_caller]
fn only(prefix: &str) -> &'static Handler {
    let found: Vec<&Handler> = registry::handlers().filter(|handler| handler.prefix() == prefix).collect();
    let [handler] = found[..] else { panic!("one handler of {prefix}: {found:?}") };
    handler
}

#[test]
fn a_handler_is_listed_with_all_that_is_known_of_it() {
    drop(plain(7, &"spring"));
    let handler = only("registry:plain");
    assert_eq!((handler.keys(), handler.ttl(), handler.step()), (&["order", "*activity"][..], "24h", None));
    assert_eq!((handler.function(), handler.module()), ("plain", module_path!()));
    assert_eq!((handler.file(), handler.line()), (file!(), PLAIN));
    let place = format!("`plain` of {} at {}:{PLAIN}", module_path!(), file!());
    assert_eq!(handler.to_string(), format!("registry:plain [order, *activity] for 24h: {place}"));
}

#[test]
fn a_generic_handler_is_listed_once() {
    drop((generic::<u8, u8>(1), generic::<String, String>("1".to_owned())));
    assert_eq!((only("registry:generic").keys(), only("registry:generic").ttl()), (&["id.to_string()"][..], "1h 30m"));
}

#[test]
fn handlers_are_listed_wherever_they_stand() {
    let kitchen = Kitchen { ttl: Duration::from_mins(1) };
    drop((kitchen.cook(1), kitchen.serve(1), kitchen.bring(1)));
    let steps = registry::handlers().filter(|handler| handler.prefix() == "registry:steps");
    let steps: Vec<_> = steps.map(|handler| (handler.step(), handler.ttl())).collect();
    assert_eq!(steps, [(Some("cook"), "self.ttl"), (Some("serve"), "forever")]);
    assert_eq!(only("registry:trait").function(), "bring");

    // In a function, which nobody calls; by a macro; and in another crate, which is linked because one of it is used.
    assert_eq!(only("registry:inner").module(), elsewhere::MODULE);
    assert_eq!((only("registry:macro").function(), only("registry:macro").line()), ("by_macro", elsewhere::BY_MACRO));
    drop(tests::archived(7));
    assert_eq!(only("tests:archived").module(), "tests");
}

#[tokio::test]
async fn handlers_that_share_their_records_are_told_with_both_places_and_no_others() {
    let told = registry::check();
    let [mixed, shared] = &told[..] else { panic!("two concerns: {told:#?}") };
    assert_eq!((mixed.severity, shared.severity), (Severity::Serious, Severity::Serious));
    for place in [elsewhere::FIRST, elsewhere::SECOND] {
        let place = format!("at {}:{place}", elsewhere::FILE);
        assert!(shared.what.contains(&place) && shared.what.contains("prefix `registry:shared`"), "{shared}");
    }
    assert!(
        mixed.what.contains("prefix `registry:mixed`")
            && mixed.what.contains("some handlers are steps and some are not"),
        "{mixed}"
    );

    // And whoever asks the handle is told too.
    let concerns = Idempotency::memory().check().await.expect("it has an administration");
    assert!(told.iter().all(|concern| concerns.contains(concern)), "{concerns:#?}");
}
