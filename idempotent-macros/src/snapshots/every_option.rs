#[idempotent(
    prefix = "order:consume",
    keys = [&message.order_id, order_key(&message)],
    ttl = 1h30m,
    lease = 1500ms,
    fingerprint = [message.amount, message.currency],
    on_duplicate = skip,
    on_busy = reject,
    on_error = release,
    on_outage = run,
    via = self.idempotency,
    map_err = OrderError::from_idempotency,
    crate = crate::reexported::runtime,
)]
async fn consume(&self, message: OrderMessage) -> Result<Receipt, OrderError> {
    self.kitchen.prepare(&message).await
}

// ---- expands to ----

async fn consume(&self, message: OrderMessage) -> Result<Receipt, OrderError> {
    let call = crate::reexported::runtime::__private::call(
            const {
                &crate::reexported::runtime::__private::Handler::new(
                        "order:consume",
                        &["&message.order_id", "order_key(&message)"],
                    )
                    .ttl(::core::time::Duration::from_mins(90))
                    .lease(::core::time::Duration::from_millis(1_500))
                    .on_duplicate(
                        crate::reexported::runtime::__private::OnDuplicate::Skip,
                    )
                    .on_outage(crate::reexported::runtime::__private::OnOutage::Run)
            },
            &(self.idempotency),
            &[&(&message.order_id), &(order_key(&message))],
            crate::reexported::runtime::__private::skipped(),
            crate::reexported::runtime::__private::Errors::<
                Result<Receipt, OrderError>,
            >::by(|error| crate::reexported::runtime::__private::map_err(
                    error,
                    OrderError::from_idempotency,
                ))
                .with_text(),
        )
        .fingerprint(&[&(message.amount), &(message.currency)]);
    call.run(async move {
            if false {
                return crate::reexported::runtime::__private::never::<
                    Result<Receipt, OrderError>,
                >();
            }
            self.kitchen.prepare(&message).await
        })
        .await
}
