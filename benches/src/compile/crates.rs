//! The source of the crates that are built: the same handlers, with one attribute or another.

use std::fmt;

use serde::Serialize;

/// What stands above each handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    /// Nothing.
    Plain,
    /// `#[idempotent(…)]`.
    Annotated,
    /// `#[tracing::instrument]`.
    Instrumented,
}

/// What does not differ between the crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Shape {
    /// Handlers in each crate.
    pub(crate) handlers: usize,
    /// Handlers that share one result type.
    pub(crate) handlers_of_a_type: usize,
}

/// The state of the source: the two differ in the body of one handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    First,
    Second,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} handlers, {} of them to a result type", self.handlers, self.handlers_of_a_type)
    }
}

impl Variant {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Annotated, Self::Instrumented];

    /// The crate's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Annotated => "annotated",
            Self::Instrumented => "instrumented",
        }
    }

    fn attribute(self, number: usize) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Annotated => format!(
                "#[idempotent_runtime::idempotent(prefix = \"handler-{number}\", keys = [message.order_id, message.activity_id], ttl = 24h)]\n"
            ),
            Self::Instrumented => "#[tracing::instrument]\n".to_owned(),
        }
    }
}

/// The whole crate: a program that can call each of its handlers, or the compiler would have nothing to do with them.
pub(super) fn source(variant: Variant, shape: Shape, revision: Revision) -> String {
    let Shape { handlers, handlers_of_a_type } = shape;
    let mut source = COMMON.to_owned();
    for number in 0..handlers {
        let result = number / handlers_of_a_type;
        if number % handlers_of_a_type == 0 {
            source += &receipt(result);
        }
        let changed = revision == Revision::Second && number == handlers / 2;
        source += &handler(variant, number, result, if changed { 13 } else { 12 });
    }
    let calls: String = (0..handlers).map(call).collect();
    source + "\nfn all(shop: &Shop) -> Vec<Call<'_>> {\n    vec![\n" + &calls + "    ]\n}\n"
}

fn call(number: usize) -> String {
    format!(
        "        Box::pin(async {{ handler_{number}(shop, Message::default()).await.map(|receipt| receipt.meal) }}),\n"
    )
}

fn receipt(result: usize) -> String {
    format!(
        "
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Receipt{result} {{
    meal: u32,
    dish: String,
}}
"
    )
}

fn handler(variant: Variant, number: usize, result: usize, most: u32) -> String {
    format!(
        "
{attribute}async fn handler_{number}(shop: &Shop, message: Message) -> Result<Receipt{result}, ShopError> {{
    let stock = shop.stock(&message).await?;
    if stock < message.amount || message.amount > {most} {{
        return Err(ShopError::OutOfStock);
    }}
    let meal = shop.prepare(&message, {number}).await?;
    Ok(Receipt{result} {{ meal, dish: message.dish }})
}}
",
        attribute = variant.attribute(number),
    )
}

/// What all handlers of all crates share.
const COMMON: &str = r#"use std::future::Future;
use std::pin::Pin;

type Call<'a> = Pin<Box<dyn Future<Output = Result<u32, ShopError>> + Send + 'a>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), idempotent_runtime::Error> {
    idempotent_runtime::Idempotency::memory().install()?;
    let shop = Shop { meals: 100 };
    for call in all(&shop) {
        let made = call.await;
        tracing::info!(?made);
    }
    Ok(())
}

#[derive(Debug)]
struct Shop {
    meals: u32,
}

#[derive(Debug, Default)]
struct Message {
    order_id: u64,
    activity_id: u64,
    amount: u32,
    dish: String,
}

#[derive(Debug)]
enum ShopError {
    OutOfStock,
    #[allow(dead_code)]
    NotRun(idempotent_runtime::Error),
}

impl std::fmt::Display for ShopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl From<idempotent_runtime::Error> for ShopError {
    fn from(error: idempotent_runtime::Error) -> Self {
        Self::NotRun(error)
    }
}

impl Shop {
    async fn stock(&self, message: &Message) -> Result<u32, ShopError> {
        tokio::task::yield_now().await;
        if message.dish == "soup" { Err(ShopError::OutOfStock) } else { Ok(self.meals) }
    }

    async fn prepare(&self, message: &Message, number: u32) -> Result<u32, ShopError> {
        tokio::task::yield_now().await;
        Ok(self.meals + message.amount + number)
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { handlers: 3, handlers_of_a_type: 2 };

    #[test]
    fn handlers_share_result_types_as_the_shape_says() {
        for (handlers_of_a_type, types) in [(1, 3), (2, 2), (3, 1), (10, 1)] {
            let source = source(Variant::Plain, Shape { handlers_of_a_type, ..SHAPE }, Revision::First);
            assert_eq!(source.matches("struct Receipt").count(), types);
            assert_eq!(source.matches("async fn handler_").count(), 3);
        }
    }

    #[test]
    fn the_crates_differ_in_one_line_a_handler() {
        let [plain, annotated, instrumented] = Variant::ALL.map(|variant| source(variant, SHAPE, Revision::First));
        let without = |source: &str, attribute| {
            source.lines().filter(|line| !line.starts_with(attribute)).collect::<Vec<_>>().join("\n") + "\n"
        };
        assert_eq!(without(&annotated, "#[idempotent_runtime::idempotent("), plain);
        assert_eq!(without(&instrumented, "#[tracing::instrument]"), plain);
        assert_eq!(annotated.lines().count(), plain.lines().count() + 3);
        assert_eq!(instrumented.lines().count(), plain.lines().count() + 3);
    }

    #[test]
    fn the_second_revision_changes_one_line() {
        let revisions = [Revision::First, Revision::Second].map(|revision| source(Variant::Annotated, SHAPE, revision));
        let changed = revisions[0].lines().zip(revisions[1].lines()).filter(|(first, second)| first != second);
        assert_eq!(changed.count(), 1);
    }
}
