//! Every kind of function that the attribute works on: called twice, it runs once, and both calls get the same value.

#![warn(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(unused, clippy::unused_async)]
// These are as true of the plain functions, or have nothing to do with them.
#![allow(clippy::manual_async_fn, clippy::future_not_send, clippy::redundant_pub_crate)]

use std::cell::Cell;
use std::fmt::Debug;
use std::future::Future;
use std::num::ParseIntError;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use idempotent_runtime::admin::State;
use idempotent_runtime::{Error, ErrorKind, Idempotency, OutcomeKind, idempotent, with_outcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

thread_local! {
    /// Runs of bodies in the test that this thread is.
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// What every body does once.
async fn ran() {
    tokio::task::yield_now().await;
    RUNS.set(RUNS.get() + 1);
}

/// Calls twice: the body runs once.
async fn runs_once<T, E, F>(mut call: impl FnMut() -> F) -> T
where
    T: PartialEq + Debug,
    E: Debug,
    F: Future<Output = Result<T, E>>,
{
    Idempotency::memory().scope(runs_once_here(&mut call)).await
}

async fn runs_once_here<T, E, F>(call: &mut impl FnMut() -> F) -> T
where
    T: PartialEq + Debug,
    E: Debug,
    F: Future<Output = Result<T, E>>,
{
    let before = RUNS.get();
    let (first, outcome) = with_outcome(call()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Executed);
    let (second, outcome) = with_outcome(call()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Replayed);
    assert_eq!(RUNS.get(), before + 1);
    let first = first.expect("the first call succeeds");
    assert_eq!(first, second.expect("the duplicate succeeds"));
    first
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Receipt(u64);

#[derive(Clone)]
struct Order {
    id: u64,
    lines: Vec<u32>,
}

const fn order() -> Order {
    Order { id: 7, lines: Vec::new() }
}

#[derive(Debug)]
enum OrderError {
    Number,
    Idempotency(ErrorKind),
}

impl From<Error> for OrderError {
    fn from(error: Error) -> Self {
        Self::Idempotency(error.kind())
    }
}

impl From<ParseIntError> for OrderError {
    fn from(_: ParseIntError) -> Self {
        Self::Number
    }
}

#[idempotent(prefix = "free", keys = [order.id], ttl = 24h)]
async fn free(order: Order) -> Result<Receipt, OrderError> {
    ran().await;
    Ok(Receipt(order.id))
}

#[tokio::test]
async fn free_functions() {
    assert_eq!(runs_once(|| free(order())).await, Receipt(7));
}

struct Kitchen {
    tenant: u64,
    prepared: u32,
    ttl: Duration,
    idempotency: Idempotency,
}

impl Kitchen {
    const LEASE: Duration = Duration::from_secs(5);

    fn new() -> Self {
        Self { tenant: 1, prepared: 0, ttl: Duration::from_mins(1), idempotency: Idempotency::memory() }
    }

    #[idempotent(prefix = "by-reference", keys = [self.tenant, id], ttl = self.ttl, lease = Self::LEASE)]
    async fn by_reference(&self, id: u64) -> Result<u64, Error> {
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

#[idempotent(prefix = "impl-future", keys = [order.id], ttl = 1h)]
fn impl_future(order: &Order) -> impl Future<Output = Result<usize, OrderError>> + Send {
    async move {
        ran().await;
        Ok(order.lines.len())
    }
}

#[idempotent(prefix = "without-move", keys = [order.id], ttl = 1h)]
fn without_move(order: &Order) -> impl Future<Output = Result<usize, OrderError>> {
    async {
        ran().await;
        Ok(order.lines.len())
    }
}

#[idempotent(prefix = "boxed", keys = [id], ttl = 1h)]
fn boxed(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, OrderError>> + Send>> {
    Box::pin(async move {
        ran().await;
        Ok(id)
    })
}

#[idempotent(prefix = "boxed-borrowing", keys = [name], ttl = 1h)]
fn boxed_borrowing<'a>(name: &'a str) -> Pin<Box<dyn Future<Output = Result<usize, OrderError>> + Send + 'a>> {
    Box::pin(async move {
        ran().await;
        Ok(name.len())
    })
}

#[idempotent(prefix = "box-future", keys = [name], ttl = 1h)]
fn box_future(name: &str) -> BoxFuture<'_, Result<usize, OrderError>> {
    async move {
        ran().await;
        Ok(name.len())
    }
    .boxed()
}

#[idempotent(prefix = "local-box-future", keys = [name], ttl = 1h)]
fn local_box_future(name: Rc<str>) -> LocalBoxFuture<'static, Result<usize, OrderError>> {
    Box::pin(async move {
        ran().await;
        Ok(name.len())
    })
}

#[tokio::test]
async fn functions_that_return_a_future() {
    let order = order();
    assert_eq!(runs_once(|| impl_future(&order)).await, 0);
    assert_eq!(runs_once(|| without_move(&order)).await, 0);
    assert_eq!(runs_once(|| boxed(7)).await, 7);
    assert_eq!(runs_once(|| boxed_borrowing("four")).await, 4);
    assert_eq!(runs_once(|| box_future("four")).await, 4);
    assert_eq!(runs_once(|| local_box_future("four".into())).await, 4);
}

#[idempotent(prefix = "generic", keys = [id.to_string(), N.min(id.into())], ttl = 1h)]
async fn generic<'a, T, const N: u64>(id: u32, values: &'a [T]) -> Result<Vec<T>, OrderError>
where
    T: Serialize + DeserializeOwned + Clone + 'a,
{
    ran().await;
    Ok(values.to_vec())
}

#[idempotent(prefix = "impl-trait", keys = [name.as_ref()], ttl = 1h)]
async fn impl_trait_argument(name: impl AsRef<str> + Clone, twice: impl Fn(usize) -> usize) -> Result<usize, Error> {
    ran().await;
    Ok(twice(name.as_ref().len()))
}

#[idempotent(prefix = "patterns", keys = [id, first], ttl = 1h)]
async fn patterns(
    Order { id, mut lines }: Order,
    (first, _): (u8, u8),
    [.., last]: [u32; 3],
) -> Result<Vec<u32>, Error> {
    ran().await;
    lines.push(last);
    lines.push(u32::from(first));
    lines.push(u32::try_from(id).unwrap_or_default());
    Ok(lines)
}

#[tokio::test]
async fn generics_lifetimes_impl_trait_and_patterns() {
    assert_eq!(runs_once(|| async { generic::<_, 9>(7, &["a".to_owned()]).await }).await, ["a"]);
    assert_eq!(runs_once(|| impl_trait_argument("four", |n| 2 * n)).await, 8);
    assert_eq!(runs_once(|| patterns(order(), (1, 2), [3, 4, 5])).await, [5, 1, 7]);
}

#[idempotent(prefix = "early-return", keys = [text], ttl = 1h)]
async fn early_return(text: &str) -> Result<u64, OrderError> {
    ran().await;
    if text == "none" {
        return Ok(0);
    }
    let number: u64 = text.parse()?;
    for n in 0.. {
        if n == number {
            return Ok(n);
        }
    }
    unreachable!()
}

#[idempotent(prefix = "recursion", keys = [n], ttl = 1h)]
async fn factorial(n: u64) -> Result<u64, Error> {
    ran().await;
    if n == 0 { Ok(1) } else { Ok(n * Box::pin(factorial(n - 1)).await?) }
}

#[tokio::test]
async fn early_returns_question_marks_and_recursion() {
    assert_eq!(runs_once(|| early_return("none")).await, 0);
    assert_eq!(runs_once(|| early_return("7")).await, 7);
    Idempotency::memory()
        .scope(async {
            assert!(matches!(early_return("seven").await, Err(OrderError::Number)));
            let before = RUNS.get();
            assert_eq!(factorial(3).await.unwrap(), 6);
            assert_eq!(factorial(5).await.unwrap(), 120);
            assert_eq!(RUNS.get(), before + 6, "0 to 3, then 4 and 5");
        })
        .await;
}

type OrderResult = Result<Receipt, OrderError>;
type Answer<T = ()> = std::result::Result<T, OrderError>;

#[idempotent(prefix = "alias", keys = [id], ttl = 1h)]
async fn alias(id: u64) -> OrderResult {
    ran().await;
    Ok(Receipt(id))
}

#[idempotent(prefix = "alias-without-the-word", keys = [id], ttl = 1h)]
async fn alias_without_the_word(id: u64) -> Answer {
    ran().await;
    let _ = id;
    Ok(())
}

#[idempotent(prefix = "anyhow", keys = [text], ttl = 1h)]
async fn any_error(text: &str) -> anyhow::Result<u64> {
    ran().await;
    anyhow::ensure!(!text.is_empty(), "empty");
    Ok(text.parse()?)
}

#[tokio::test]
async fn aliases_of_result() {
    assert_eq!(runs_once(|| alias(7)).await, Receipt(7));
    runs_once(|| alias_without_the_word(7)).await;
    assert_eq!(runs_once(|| any_error("7")).await, 7);
    let without_runtime = any_error("7").await.unwrap_err();
    assert_eq!(without_runtime.downcast_ref::<Error>().unwrap().kind(), ErrorKind::NotInstalled);
}

#[idempotent(prefix = "cfg", keys = [id], ttl = 1h)]
async fn cfg_on_arguments(
    id: u64,
    #[cfg(any())] _absent: u64,
    #[allow(clippy::needless_pass_by_value)] name: String,
) -> Result<usize, Error> {
    ran().await;
    Ok(name.len())
}

/// Doc comments stay.
#[allow(clippy::missing_errors_doc)]
#[tracing::instrument(skip_all, fields(id))]
#[idempotent(prefix = "above", keys = [id], ttl = 1h)]
#[must_use = "so does this"]
async fn attributes_above(id: u64, name: &str) -> Result<usize, OrderError> {
    ran().await;
    Ok(name.parse::<usize>()?)
}

#[idempotent(prefix = "below", keys = [id], ttl = 1h)]
#[tracing::instrument(skip_all, fields(id), err(Debug))]
#[must_use = "so does this"]
async fn attributes_below(id: u64, name: &str) -> Result<usize, OrderError> {
    #![allow(clippy::let_and_return)]
    ran().await;
    let number = name.parse::<usize>()?;
    number.checked_sub(1).map_or(Ok(0), Ok)
}

#[tokio::test]
async fn other_attributes() {
    assert_eq!(runs_once(|| cfg_on_arguments(7, "four".to_owned())).await, 4);
    assert_eq!(runs_once(|| attributes_above(7, "4")).await, 4);
    assert_eq!(runs_once(|| attributes_below(7, "4")).await, 3);
}

mod platform {
    pub(crate) mod again {
        pub(crate) use idempotent_runtime as renamed;
    }

    /// A macro of a platform crate: its users need not know the runtime.
    macro_rules! handler {
        ($name:ident($id:ident) $body:block) => {
            #[$crate::platform::again::renamed::idempotent(
                prefix = "platform",
                keys = [$id],
                ttl = 1h,
                crate = $crate::platform::again::renamed,
            )]
            async fn $name($id: u64) -> Result<u64, $crate::platform::again::renamed::Error> $body
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

/// The names that the expansion uses are the user's too.
#[idempotent(prefix = "names", keys = [call, error], ttl = 1h, map_err = |error| error.to_string())]
async fn names_of_the_expansion(call: u64, error: u64) -> Result<u64, String> {
    ran().await;
    Ok(call + error)
}

#[tokio::test]
async fn names_do_not_collide() {
    assert_eq!(runs_once(|| names_of_the_expansion(3, 4)).await, 7);
}

#[tokio::test]
async fn the_future_is_send_where_the_body_is() {
    const fn is_send<T: Send>(_: &T) {}
    let kitchen = Kitchen::new();
    is_send(&free(order()));
    is_send(&kitchen.by_reference(1));
    is_send(&impl_future(&order()));
    is_send(&generic::<_, 1>(1, &[0_u8]));
    is_send(&factorial(3));
    let spawned = tokio::spawn(free(order())).await.expect("it does not panic");
    assert!(matches!(spawned, Err(OrderError::Idempotency(ErrorKind::NotInstalled))));
}

#[tokio::test]
async fn the_future_holds_no_more_than_the_plain_one() {
    const fn is_static<T: 'static>(_: &T) {}

    // The key borrows `name` only while it is built: it can be moved into the body, and out of it.
    #[idempotent(prefix = "moves", keys = [name], ttl = 1h, fingerprint = [name, lines])]
    async fn moves(name: String, lines: Vec<u32>) -> Result<(String, Vec<u32>), Error> {
        ran().await;
        drop(lines.clone());
        Ok((name, lines))
    }
    assert_eq!(runs_once(|| moves("four".to_owned(), vec![1])).await, ("four".to_owned(), vec![1]));
    is_static(&moves(String::new(), Vec::new()));
}

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
