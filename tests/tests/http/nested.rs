//! Points 10, 13 and 41 where routers are nested: a router shows what it nests a path without its own prefix.

use axum::Router;
use axum::http::Method;
use axum::routing::any_service;
use tower::Layer as _;

use crate::support::{Ask, Runs, Via, both, layer, payments};

both![
    point_13_another_path_through_a_nesting_parameter_is_another_request,
    point_10_nested_services_have_records_of_their_own,
    point_41_the_layer_around_a_nesting_router_tells_paths_apart_too,
];

fn pay(path: &str) -> Ask {
    Ask::new(Method::POST, path).key("\"k\"")
}

async fn point_13_another_path_through_a_nesting_parameter_is_another_request(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(Router::new().nest("/{tenant}/shop", payments(&runs).layer(layer()))).await;
    assert_eq!(pay("/acme/shop/payments").to(&shop).await.status, 201);
    assert!(pay("/acme/shop/payments").to(&shop).await.is_replay(), "the control");
    let other = pay("/globex/shop/payments").to(&shop).await;
    assert_eq!((other.status, &*other.problem(), runs.count()), (422, "key-reused", 1));
}

async fn point_10_nested_services_have_records_of_their_own(via: Via) {
    let (first, second, layer) = (Runs::default(), Runs::default(), layer());
    // Services that are no routers see neither the whole path nor the route.
    let service = |runs: &Runs| {
        let runs = runs.clone();
        layer.layer(tower::service_fn(move |_: axum::extract::Request| {
            let run = runs.run();
            async move { Ok::<_, std::convert::Infallible>(axum::response::IntoResponse::into_response(run.to_string())) }
        }))
    };
    let shop = via
        .shop(Router::new().nest_service("/v1", service(&first)).nest_service("/v2", any_service(service(&second))))
        .await;
    assert_eq!(pay("/v1/payments").to(&shop).await.body, "1");
    let other = pay("/v2/payments").to(&shop).await;
    assert!(!other.is_replay(), "{other:?}");
    assert!(pay("/v1/payments").to(&shop).await.is_replay(), "the control");
    assert!(pay("/v2/payments").to(&shop).await.is_replay(), "the control");
    assert_eq!((first.count(), second.count()), (1, 1));
}

async fn point_41_the_layer_around_a_nesting_router_tells_paths_apart_too(via: Via) {
    let runs = Runs::default();
    let shop = via.shop(Router::new().nest("/{tenant}/shop", payments(&runs)).layer(layer())).await;
    assert_eq!(pay("/acme/shop/payments").to(&shop).await.status, 201);
    assert!(pay("/acme/shop/payments").to(&shop).await.is_replay(), "the control");
    assert_eq!(pay("/globex/shop/payments").to(&shop).await.status, 422);
    assert_eq!(runs.count(), 1);
}
