//! `idempotent dashboard`: the page for whoever is on duty.

use std::net::SocketAddr;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use clap::Args;
use idempotent_runtime::dashboard::Dashboard;
use tokio::net::TcpListener;

use crate::access;
use crate::cli::Global;
use crate::exit::Failure;
use crate::output::Out;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where to listen; there is no authentication, so another address than a loopback one needs a proxy that has one
    #[arg(long, default_value = "127.0.0.1:7077", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Let whoever can reach the page release and resolve records
    #[arg(long)]
    write: bool,
    /// Show the results that are recorded
    #[arg(long)]
    show_results: bool,
}

pub(crate) async fn run(options: &Options, global: &Global, out: Out) -> Result<(), Failure> {
    let idempotency = access::open(global).await?;
    let mut dashboard = Dashboard::of(&idempotency);
    if options.write {
        dashboard = dashboard.writable();
    }
    if options.show_results {
        dashboard = dashboard.show_results();
    }
    let mut pages = dashboard.router();
    if options.listen.ip().is_loopback() {
        pages = pages.layer(from_fn(asked_here));
    }
    let listener = TcpListener::bind(options.listen).await.map_err(anyhow::Error::from)?;
    let address = listener.local_addr().map_err(anyhow::Error::from)?;
    out.text(&format!("listening on http://{address}/\n"))?;
    let ended = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, pages).with_graceful_shutdown(ended).await.map_err(anyhow::Error::from)?;
    Ok(())
}

/// A name that somebody else made to point here is no way in: a page of theirs could read what comes back.
async fn asked_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if ["localhost", "127.0.0.1", "[::1]"].contains(&name) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "this page is served to this machine alone, as localhost\n").into_response()
}
