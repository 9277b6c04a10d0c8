//! HTTP: a request runs once per `Idempotency-Key`, and every retry gets the first one's response.
//!
//! An implementation of draft-ietf-httpapi-idempotency-key-header-07 as a `tower` layer, for axum and hyper, on any store.
//! It runs on the guard that annotated handlers run on: the same claims, leases, records and outcomes. Which point is shown
//! by which test, and what the draft leaves open, is in the [guide](crate::guide::http).
//!
//! ```
//! use axum::http::Request;
//! use axum::{Router, body::Body, extract::Extension, routing::post};
//! use idempotent_runtime::Idempotency;
//! use idempotent_runtime::http::IdempotencyLayer;
//! use tower::ServiceExt as _;
//!
//! /// What authentication has found, and put into the request's extensions.
//! #[derive(Clone)]
//! struct User(String);
//!
//! async fn pay(body: String) -> String {
//!     format!("paid {body}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let idempotency = Idempotency::memory();
//! let layer = IdempotencyLayer::builder(&idempotency)
//!     .scope(|request| Some(request.extensions.get::<User>()?.0.clone()))
//!     .required()
//!     .build()?;
//! let app = Router::new()
//!     .route("/payments", post(pay))
//!     .layer(layer)
//!     .layer(Extension(User("ada".into()))); // stands for authentication: further out, so it runs first
//!
//! for replayed in [false, true] {
//!     let request = Request::post("/payments").header("idempotency-key", r#""8e03978e""#).body(Body::from("12 EUR"))?;
//!     let response = app.clone().oneshot(request).await?;
//!     assert_eq!(response.status(), 200);
//!     assert_eq!(response.headers().contains_key("idempotent-replayed"), replayed);
//! }
//! # Ok(()) }
//! ```
//!
//! | to | see |
//! |---|---|
//! | choose the rules | [`LayerBuilder`] |
//! | say what is stored, per response | [`Keep`] |
//! | know what else is answered | [`Problem`] |
//! | log what a request came to | [`Outcome`](crate::Outcome) in the response's extensions, of each that was guarded; [`Problem`], of each that was answered with one |
//! | resolve a request that stopped half way | [`IdempotencyLayer::recorded`] |
//! | know the claim inside a handler | [`current`](crate::current) |
//! | publish the rules | [`IdempotencyLayer::policy`], [`IdempotencyLayer::openapi`] |
//! | answer with the runtime's own errors | `IntoResponse` for [`Error`](crate::Error) (feature `axum`) |
//! | send requests | [`client`] (`Resend` with the feature `reqwest`) |

mod answer;
#[cfg(feature = "axum")]
mod axum;
mod body;
mod budget;
mod builder;
mod call;
pub mod client;
mod fingerprint;
mod future;
#[cfg(any(test, fuzzing))]
mod fuzzed;
mod gathered;
mod identity;
mod json;
mod keep;
mod key;
mod layer;
mod pattern;
mod problem;
mod published;
mod receive;
mod replayed;
mod serve;
mod settings;
mod stored;

use ::http::HeaderName;

pub use body::Body;
pub use builder::{LayerBuilder, NoScope, Scoped};
pub use fingerprint::FingerprintBy;
pub use future::ResponseFuture;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub use fuzzed::{header as fuzzed_header, record as fuzzed_record};
pub use keep::{Keep, ServerErrors};
pub use layer::{IdempotencyLayer, IdempotencyService};
pub use problem::Problem;
pub use published::{PublishedKey, PublishedPolicy, PublishedProblem};
pub use stored::StoredResponse;

/// `Idempotency-Key`, the request header.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// `Idempotent-Replayed`, which marks a response as given again.
pub const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
