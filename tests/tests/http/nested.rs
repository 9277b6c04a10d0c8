//! Points 10, 13 and 41 where routers are nested: a router shows what it nests a path without its own prefix.

use axum::Router;
use axum::http::Method;
use axum::routing::any_service;
use tower::Layer as _;

use crate::support::{Ask, Runs, layer, payments};

fn pay(path: &str) -> Ask {
    Ask::new(Method::POST, path).key("\"k\"")
}

#[tokio::test]
async fn point_13_another_path_through_a_nesting_parameter_is_another_request() {
    let runs = Runs::default();
    let router = Router::new().nest("/{tenant}/shop", payments(&runs).layer(layer()));
    assert_eq!(pay("/acme/shop/payments").to(&router).await.status, 201);
    assert!(pay("/acme/shop/payments").to(&router).await.is_replay(), "the control");
    let other = pay("/globex/shop/payments").to(&router).await;
    assert_eq!((other.status, &*other.problem(), runs.count()), (422, "key-reused", 1));
}

#[tokio::test]
async fn point_10_nested_services_have_records_of_their_own() {
    let (first, second, layer) = (Runs::default(), Runs::default(), layer());
    // Services that are no routers see neither the whole path nor the route.
    let service = |runs: &Runs| {
        let runs = runs.clone();
        layer.layer(tower::service_fn(move |_: axum::extract::Request| {
            let run = runs.run();
            async move { Ok::<_, std::convert::Infallible>(axum::response::IntoResponse::into_response(run.to_string())) }
        }))
    };
    let router = Router::new().nest_service("/v1", service(&first)).nest_service("/v2", any_service(service(&second)));
    assert_eq!(pay("/v1/payments").to(&router).await.body, "1");
    let other = pay("/v2/payments").to(&router).await;
    assert!(!other.is_replay(), "{other:?}");
    assert!(pay("/v1/payments").to(&router).await.is_replay(), "the control");
    assert!(pay("/v2/payments").to(&router).await.is_replay(), "the control");
    assert_eq!((first.count(), second.count()), (1, 1));
}

#[tokio::test]
async fn point_41_the_layer_around_a_nesting_router_tells_paths_apart_too() {
    let runs = Runs::default();
    let router = Router::new().nest("/{tenant}/shop", payments(&runs)).layer(layer());
    assert_eq!(pay("/acme/shop/payments").to(&router).await.status, 201);
    assert!(pay("/acme/shop/payments").to(&router).await.is_replay(), "the control");
    assert_eq!(pay("/globex/shop/payments").to(&router).await.status, 422);
    assert_eq!(runs.count(), 1);
}
