//! Functions that return a future.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use idempotent_runtime::idempotent;

use crate::{Order, OrderError, order, ran, runs_once};

#[idempotent(prefix = "impl-future", keys = [order.id], ttl = 1h)]
pub(crate) fn impl_future(order: &Order) -> impl Future<Output = Result<usize, OrderError>> + Send {
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
