#[idempotent(
    prefix = "payment:create",
    keys = [tenant, request.key],
    ttl = forever,
    fingerprint = request,
    on_busy = wait(5s),
    within = tx,
    existing = payments::find(&mut *tx, &request),
)]
async fn pay(tx: &mut Transaction<'_, Postgres>, tenant: u64, request: Payment) -> Result<Receipt, PayError> {
    payments::insert(&mut **tx, tenant, request).await
}

// ---- expands to ----

async fn pay(
    tx: &mut Transaction<'_, Postgres>,
    tenant: u64,
    request: Payment,
) -> Result<Receipt, PayError> {
    ::idempotent_runtime::__private::register! {
        "pay", "payment:create", ["tenant", "request.key"], "forever"
    }
    let call = ::idempotent_runtime::__private::call(
            &::idempotent_runtime::__private::Handler::new(
                    "payment:create",
                    &["tenant", "request.key"],
                )
                .forever()
                .on_busy(
                    ::idempotent_runtime::__private::OnBusy::Wait(
                        ::core::time::Duration::from_secs(5),
                    ),
                )
                .existing(),
            &[&(tenant), &(request.key)],
            ::idempotent_runtime::__private::value(),
            ::idempotent_runtime::__private::Errors::<
                Result<Receipt, PayError>,
            >::by_from()
                .with_text(),
        )
        .fingerprint(&[&(request)]);
    let mut call = call.within(::idempotent_runtime::__private::transaction(tx)).await;
    if let ::core::option::Option::Some((scope, tx)) = call.asking() {
        let _ = &tx;
        let answer = scope
            .run(
                ::idempotent_runtime::__private::Ask::<
                    Result<Receipt, PayError>,
                >::existing_within(payments::find(&mut *tx, &request)),
            )
            .await;
        call.asked(answer).await;
    }
    if let ::core::option::Option::Some((scope, tx)) = call.running() {
        let reply = scope
            .run(async move {
                if false {
                    return ::idempotent_runtime::__private::never::<
                        Result<Receipt, PayError>,
                    >();
                }
                payments::insert(&mut **tx, tenant, request).await
            })
            .await;
        call.returned(reply).await;
    }
    call.end()
}
