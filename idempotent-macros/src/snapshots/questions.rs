#[idempotent(
    prefix = "order:consume",
    keys = [message.id],
    ttl = 24h,
    on_crash = hold,
    existing = receipts.find(&message.id),
    verify = async { receipts.has(&message.id).await },
)]
fn consume(receipts: &Receipts, message: OrderMessage) -> impl Future<Output = OrderResult> {
    async move { receipts.write(message).await }
}

// ---- expands to ----

fn consume(
    receipts: &Receipts,
    message: OrderMessage,
) -> impl Future<Output = OrderResult> {
    async move {
        ::idempotent_runtime::__private::register! {
            "consume", "order:consume", ["message.id"], "24h"
        }
        let call = ::idempotent_runtime::__private::call(
            &::idempotent_runtime::__private::Handler::new(
                    "order:consume",
                    &["message.id"],
                )
                .ttl(::core::time::Duration::from_hours(24))
                .on_crash(::idempotent_runtime::__private::OnCrash::Hold)
                .verify()
                .existing(),
            &[&(message.id)],
            ::idempotent_runtime::__private::value(),
            ::idempotent_runtime::__private::Errors::<OrderResult>::by_from().with_text(),
        );
        call.run(async move {
                if false {
                    return ::idempotent_runtime::__private::never::<OrderResult>();
                }
                if let ::core::option::Option::Some(reply) = ::idempotent_runtime::__private::Ask::<
                    OrderResult,
                >::verify(async { receipts.has(&message.id).await })
                    .await
                {
                    return reply;
                }
                if let ::core::option::Option::Some(reply) = ::idempotent_runtime::__private::Ask::<
                    OrderResult,
                >::existing(receipts.find(&message.id))
                    .await
                {
                    return reply;
                }
                receipts.write(message).await
            })
            .await
    }
}
