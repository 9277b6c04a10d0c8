#[idempotent(prefix = "order:consume", keys = [self.tenant, id], ttl = self.config.ttl, lease = Self::lease(), timeout = TIMEOUT, on_busy = wait(self.patience))]
async fn consume(&mut self, id: u64) -> OrderResult {
    self.kitchen.prepare(id).await
}

// ---- expands to ----

async fn consume(&mut self, id: u64) -> OrderResult {
    ::idempotent_runtime::__private::register! {
        "consume", "order:consume", ["self.tenant", "id"], "self.config.ttl"
    }
    let call = ::idempotent_runtime::__private::call(
            &::idempotent_runtime::__private::Handler::new(
                "order:consume",
                &["self.tenant", "id"],
            ),
            &[&(self.tenant), &(id)],
            ::idempotent_runtime::__private::value(),
            ::idempotent_runtime::__private::Errors::<OrderResult>::by_from().with_text(),
        )
        .ttl(self.config.ttl)
        .lease(Self::lease())
        .timeout(TIMEOUT)
        .wait(self.patience);
    call.run(async move {
            if false {
                return ::idempotent_runtime::__private::never::<OrderResult>();
            }
            self.kitchen.prepare(id).await
        })
        .await
}
