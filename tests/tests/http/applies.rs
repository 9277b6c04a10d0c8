//! Points 8, 9 and 41: which requests the layer guards, and where it can stand.

use axum::Router;
use axum::http::Method;
use axum::routing::post;
use idempotent_runtime::http::IdempotencyLayer;
use idempotent_runtime::{ErrorKind, Idempotency};
use tower::ServiceBuilder;
use tower_http::trace::TraceLayer;

use crate::support::{Answer, Ask, Runs, Shop, Via, both, layer, payments, scoped};

both![
    point_08_post_and_patch_are_guarded_and_others_by_choice,
    point_09_a_missing_key_passes_unless_it_is_required,
    point_41_it_stands_wherever_a_tower_layer_can,
    point_41_each_route_has_its_own_settings,
];

async fn twice(shop: &Shop, ask: &Ask) -> (Answer, Answer) {
    (ask.to(shop).await, ask.to(shop).await)
}

async fn point_08_post_and_patch_are_guarded_and_others_by_choice(via: Via) {
    let all = [Method::POST, Method::PATCH, Method::PUT, Method::DELETE, Method::GET, Method::HEAD, Method::OPTIONS];
    let more = scoped(&Idempotency::memory()).methods([Method::PUT, Method::DELETE]).build().unwrap();
    for (layer, guarded) in [(layer(), [Method::POST, Method::PATCH]), (more, [Method::PUT, Method::DELETE])] {
        for method in &all {
            let runs = Runs::default();
            let shop = via.shop(payments(&runs).layer(layer.clone())).await;
            let (_, second) = twice(&shop, &Ask::new(method.clone(), "/payments").key("\"k\"")).await;
            assert_eq!(second.is_replay(), guarded.contains(method), "{method}");
            assert_eq!(runs.count(), if guarded.contains(method) { 1 } else { 2 }, "{method}");
        }
    }
    let safe = scoped(&Idempotency::memory()).methods([Method::POST, Method::GET]).build();
    assert_eq!(safe.unwrap_err().kind(), ErrorKind::Configuration, "a safe method has no effect to be guarded");
}

async fn point_09_a_missing_key_passes_unless_it_is_required(via: Via) {
    let ask = Ask::new(Method::POST, "/payments");
    let runs = Runs::default();
    let (first, second) = twice(&via.shop(payments(&runs).layer(layer())).await, &ask).await;
    assert_eq!((first.status, second.is_replay(), runs.count()), (201, false, 2), "optional");

    let runs = Runs::default();
    let required = scoped(&Idempotency::memory()).required().build().unwrap();
    let refused = ask.to(&via.shop(payments(&runs).layer(required)).await).await;
    assert_eq!((refused.status, &*refused.problem(), runs.count()), (400, "key-missing", 0), "required");

    let (runs, free) = (Runs::default(), Runs::default());
    let guarded = payments(&runs).layer(layer());
    let handler = free.clone();
    let shop = via.shop(guarded.route("/free", post(move || async move { handler.run().to_string() }))).await;
    let (_, second) = twice(&shop, &Ask::new(Method::POST, "/free").key("no key at all")).await;
    assert_eq!((second.status, free.count()), (200, 2), "a route without the layer");
}

async fn point_41_it_stands_wherever_a_tower_layer_can(via: Via) {
    type Place = fn(Router, IdempotencyLayer) -> Router;
    let places: [(&str, Place); 4] = [
        ("Router::layer", |router, layer| router.layer(layer)),
        ("Router::route_layer", |router, layer| router.route_layer(layer)),
        ("ServiceBuilder", |router, layer| {
            router.layer(ServiceBuilder::new().layer(TraceLayer::new_for_http()).layer(layer))
        }),
        ("a layer inside a layer", |router, layer| router.layer(layer.clone()).layer(layer)),
    ];
    for (place, put) in places {
        let runs = Runs::default();
        let shop = via.shop(put(payments(&runs), layer())).await;
        let (first, second) = twice(&shop, &Ask::pay("k")).await;
        assert_eq!((first.status, second.is_replay(), runs.count()), (201, true, 1), "{place}");
        assert_eq!(first.body, second.body, "{place}");
    }
}

async fn point_41_each_route_has_its_own_settings(via: Via) {
    let (idempotency, runs) = (Idempotency::memory(), Runs::default());
    let (strict, lenient) = (scoped(&idempotency).required().strict(), scoped(&idempotency));
    let run = |runs: &Runs| {
        let runs = runs.clone();
        post(move || async move { runs.run().to_string() })
    };
    let router = Router::new()
        .route("/payments", run(&runs).layer(strict.build().unwrap()))
        .route("/notes", run(&runs).layer(lenient.build().unwrap()));
    let shop = via.shop(router).await;
    assert_eq!(Ask::new(Method::POST, "/payments").key("bare").to(&shop).await.status, 400);
    assert_eq!(Ask::new(Method::POST, "/notes").key("bare").to(&shop).await.status, 200);
    assert_eq!(Ask::new(Method::POST, "/payments").to(&shop).await.status, 400);
    assert_eq!(Ask::new(Method::POST, "/notes").to(&shop).await.status, 200);
}

// On a socket alone: it is about hyper's server.
#[tokio::test]
async fn point_41_a_service_of_plain_hyper_is_guarded_too() {
    use std::convert::Infallible;

    use axum::http::{Request, Response};
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::body::Incoming;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use hyper_util::service::TowerToHyperService;
    use idempotent_runtime::http::Body;

    let runs = Runs::default();
    let handler = runs.clone();
    let service = ServiceBuilder::new()
        .map_request(|request: Request<Incoming>| request.map(Body::new))
        .layer(layer())
        .service_fn(move |_: Request<Body<Incoming>>| {
            let run = handler.run();
            async move { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(run.to_string())))) }
        });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/payments", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    for replayed in [false, true] {
        let request =
            reqwest::Client::new().post(&url).header("authorization", "ada").header("idempotency-key", "\"k\"");
        let answer = Answer::of_reqwest(request.body("x").send().await.unwrap()).await;
        assert_eq!((answer.status, &*answer.body, answer.is_replay()), (200, "1", replayed));
    }
    assert_eq!(runs.count(), 1);
}
