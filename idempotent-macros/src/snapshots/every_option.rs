#[idempotent(
    prefix = "order:consume",
    keys = [&message.order_id, order_key(&message)],
    step = "init_token",
    ttl = forever,
    lease = 1500ms,
    timeout = 1h30m,
    fingerprint = [message.amount, message.currency],
    on_duplicate = skip,
    on_busy = wait(5s),
    on_error = record,
    on_crash = hold,
    on_outage = run,
    on_lost = finish,
    max_attempts = 5,
    existing = self.find(&message.order_id),
    verify = self.has(&message.order_id),
    fenced,
    hidden,
    via = self.idempotency,
    map_err = OrderError::from_idempotency,
    crate = crate::reexported::runtime,
)]
async fn consume(&self, message: OrderMessage) -> Result<Receipt, OrderError> {
    self.kitchen.prepare(&message).await
}

// ---- expands to ----

async fn consume(&self, message: OrderMessage) -> Result<Receipt, OrderError> {
    use crate::reexported::runtime::__private as __idempotent;
    __idempotent::register! {
        "consume", "order:consume", "init_token", ["&message.order_id",
        "order_key(&message)"], "forever"
    }
    let call = __idempotent::call_via(
            &__idempotent::Handler::new(
                    "order:consume",
                    &["&message.order_id", "order_key(&message)"],
                )
                .step("init_token")
                .forever()
                .lease(::core::time::Duration::from_millis(1_500))
                .timeout(::core::time::Duration::from_mins(90))
                .on_duplicate(__idempotent::OnDuplicate::Skip)
                .on_crash(__idempotent::OnCrash::Hold)
                .on_outage(__idempotent::OnOutage::Run)
                .on_lost(__idempotent::OnLost::Finish)
                .on_busy(
                    __idempotent::OnBusy::Wait(::core::time::Duration::from_secs(5)),
                )
                .max_attempts(5)
                .fenced()
                .hidden()
                .verify()
                .existing(),
            &(self.idempotency),
            &[&(&message.order_id), &(order_key(&message))],
            __idempotent::skipped(),
            __idempotent::recorded(
                __idempotent::Errors::<
                    Result<Receipt, OrderError>,
                >::by(|error| __idempotent::map_err(error, OrderError::from_idempotency)),
            ),
        )
        .fingerprint(&[&(message.amount), &(message.currency)]);
    call.run(async move {
            if false {
                return __idempotent::never::<Result<Receipt, OrderError>>();
            }
            if let ::core::option::Option::Some(reply) = __idempotent::Ask::<
                Result<Receipt, OrderError>,
            >::verify(self.has(&message.order_id))
                .await
            {
                return reply;
            }
            if let ::core::option::Option::Some(reply) = __idempotent::Ask::<
                Result<Receipt, OrderError>,
            >::existing(self.find(&message.order_id))
                .await
            {
                return reply;
            }
            self.kitchen.prepare(&message).await
        })
        .await
}
