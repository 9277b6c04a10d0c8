#[idempotent(prefix = "order:consume", keys = [id], ttl = 24h)]
fn consume(id: u64) -> impl Future<Output = Result<Receipt, OrderError>> + Send {
    async move { prepare(id).await }
}

// ---- expands to ----

fn consume(id: u64) -> impl Future<Output = Result<Receipt, OrderError>> + Send {
    async move {
        ::idempotent_runtime::__private::register! {
            "consume", "order:consume", ["id"], "24h"
        }
        let call = ::idempotent_runtime::__private::call(
            &::idempotent_runtime::__private::Handler::new("order:consume", &["id"])
                .ttl(::core::time::Duration::from_hours(24)),
            &[&(id)],
            ::idempotent_runtime::__private::value(),
            ::idempotent_runtime::__private::Errors::<
                Result<Receipt, OrderError>,
            >::by_from()
                .with_text(),
        );
        call.run(async move {
                if false {
                    return ::idempotent_runtime::__private::never::<
                        Result<Receipt, OrderError>,
                    >();
                }
                prepare(id).await
            })
            .await
    }
}
