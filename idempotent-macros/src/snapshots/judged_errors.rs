#[idempotent(prefix = "order:consume", keys = [id], ttl = 24h, on_error = OrderError::judge)]
async fn consume(id: u64) -> Result<Receipt, OrderError> {
    prepare(id).await
}

// ---- expands to ----

async fn consume(id: u64) -> Result<Receipt, OrderError> {
    ::idempotent_runtime::__private::register! {
        "consume", "order:consume", ["id"], "24h"
    }
    let call = ::idempotent_runtime::__private::call(
        &::idempotent_runtime::__private::Handler::new("order:consume", &["id"])
            .ttl(::core::time::Duration::from_hours(24)),
        &[&(id)],
        ::idempotent_runtime::__private::value(),
        ::idempotent_runtime::__private::Errors::<Result<Receipt, OrderError>>::by_from()
            .with_text()
            .judged(|reply| ::idempotent_runtime::__private::judge(
                reply,
                OrderError::judge,
            )),
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
