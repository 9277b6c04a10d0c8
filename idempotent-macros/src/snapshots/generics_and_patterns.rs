#[idempotent(prefix = "order:consume", keys = [id, kind], ttl = 24h)]
async fn consume<'a, K: Kitchen + 'a>(
    Path(id): Path<u64>,
    Order { kind, mut lines, .. }: Order,
    kitchen: &'a K,
    #[cfg(feature = "trace")] trace: impl Trace,
) -> Result<K::Receipt, K::Error>
where
    K::Receipt: Storable,
{
    kitchen.prepare(id, kind, &mut lines).await
}

// ---- expands to ----

async fn consume<'a, K: Kitchen + 'a>(
    Path(id): Path<u64>,
    Order { kind, mut lines, .. }: Order,
    kitchen: &'a K,
    #[cfg(feature = "trace")]
    trace: impl Trace,
) -> Result<K::Receipt, K::Error>
where
    K::Receipt: Storable,
{
    ::idempotent_runtime::__private::register! {
        "consume", "order:consume", ["id", "kind"], "24h"
    }
    let call = ::idempotent_runtime::__private::call(
        &::idempotent_runtime::__private::Handler::new("order:consume", &["id", "kind"])
            .ttl(::core::time::Duration::from_hours(24)),
        &[&(id), &(kind)],
        ::idempotent_runtime::__private::value(),
        ::idempotent_runtime::__private::Errors::<
            Result<K::Receipt, K::Error>,
        >::by_from()
            .with_text(),
    );
    call.run(async move {
            if false {
                return ::idempotent_runtime::__private::never::<
                    Result<K::Receipt, K::Error>,
                >();
            }
            kitchen.prepare(id, kind, &mut lines).await
        })
        .await
}
