//! What a function returns, and how it comes to that.

use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};

use crate::{OrderError, RUNS, Receipt, ran, runs_once};

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
pub(crate) async fn factorial(n: u64) -> Result<u64, Error> {
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
