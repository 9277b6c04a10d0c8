#[idempotent(prefix = "order:consume", keys = [message.order_id], ttl = 24h)]
fn consume<'life0, 'async_trait>(
    &'life0 self,
    message: OrderMessage,
) -> ::core::pin::Pin<Box<dyn ::core::future::Future<Output = Result<Receipt, OrderError>> + ::core::marker::Send + 'async_trait>>
where
    'life0: 'async_trait,
    Self: 'async_trait,
{
    Box::pin(async move {
        let __self = self;
        let message = message;
        let __ret: Result<Receipt, OrderError> = { __self.kitchen.prepare(&message).await };
        #[allow(unreachable_code)]
        __ret
    })
}

// ---- expands to ----

fn consume<'life0, 'async_trait>(
    &'life0 self,
    message: OrderMessage,
) -> ::core::pin::Pin<
    Box<
        dyn ::core::future::Future<
            Output = Result<Receipt, OrderError>,
        > + ::core::marker::Send + 'async_trait,
    >,
>
where
    'life0: 'async_trait,
    Self: 'async_trait,
{
    Box::pin(async move {
        ::idempotent_runtime::__private::register! {
            "consume", "order:consume", ["message.order_id"], "24h"
        }
        let call = ::idempotent_runtime::__private::call(
            &::idempotent_runtime::__private::Handler::new(
                    "order:consume",
                    &["message.order_id"],
                )
                .ttl(::core::time::Duration::from_hours(24)),
            &[&(message.order_id)],
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
                let __self = self;
                let message = message;
                let __ret: Result<Receipt, OrderError> = {
                    __self.kitchen.prepare(&message).await
                };
                #[allow(unreachable_code)] __ret
            })
            .await
    })
}
