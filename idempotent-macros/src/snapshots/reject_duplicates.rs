#[idempotent(prefix = "order:consume", keys = [id], ttl = 24h, on_duplicate = reject)]
async fn consume(id: u64) -> anyhow::Result<()> {
    #![allow(clippy::unused_async)]
    if id == 0 {
        return Ok(());
    }
    prepare(id)?;
    Ok(())
}

// ---- expands to ----

async fn consume(id: u64) -> anyhow::Result<()> {
    #![allow(clippy::unused_async)]
    ::idempotent_runtime::__private::register! {
        "consume", "order:consume", ["id"], "24h"
    }
    let call = ::idempotent_runtime::__private::call(
        &::idempotent_runtime::__private::Handler::new("order:consume", &["id"])
            .ttl(::core::time::Duration::from_hours(24))
            .on_duplicate(::idempotent_runtime::__private::OnDuplicate::Reject),
        &[&(id)],
        ::idempotent_runtime::__private::unrecorded(),
        ::idempotent_runtime::__private::Errors::<anyhow::Result<()>>::by_from()
            .with_text(),
    );
    call.run(async move {
            if false {
                return ::idempotent_runtime::__private::never::<anyhow::Result<()>>();
            }
            if id == 0 {
                return Ok(());
            }
            prepare(id)?;
            Ok(())
        })
        .await
}
