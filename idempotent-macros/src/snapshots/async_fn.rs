#[idempotent(prefix = "order:consume", keys = [message.order_id, message.activity_id], ttl = 24h)]
/// Prepares an order.
pub async fn consume(message: OrderMessage) -> Result<Receipt, OrderError> {
    kitchen.prepare(&message).await
}

// ---- expands to ----

/// Prepares an order.
pub async fn consume(message: OrderMessage) -> Result<Receipt, OrderError> {
    ::idempotent_runtime::__private::register! {
        "consume", "order:consume", ["message.order_id", "message.activity_id"], "24h"
    }
    let call = ::idempotent_runtime::__private::call(
        &::idempotent_runtime::__private::Handler::new(
                "order:consume",
                &["message.order_id", "message.activity_id"],
            )
            .ttl(::core::time::Duration::from_hours(24)),
        &[&(message.order_id), &(message.activity_id)],
        ::idempotent_runtime::__private::value(),
        ::idempotent_runtime::__private::Errors::<Result<Receipt, OrderError>>::by_from()
            .with_text(),
    );
    call.run(async move {
            if false {
                return ::idempotent_runtime::__private::never::<
                    Result<Receipt, OrderError>,
                >();
            }
            kitchen.prepare(&message).await
        })
        .await
}
