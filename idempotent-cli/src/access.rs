//! From options to a handle.

use idempotent_runtime::admin::Access;
use idempotent_runtime::{Builder, Idempotency};

use crate::cli::Global;
use crate::exit::Failure;

/// The way to the records.
pub(crate) fn access(global: &Global) -> Result<Access, Failure> {
    let url = global.url.as_deref().ok_or_else(|| {
        Failure::Usage("say where the records are: --url redis://…, or set IDEMPOTENT_URL".to_owned())
    })?;
    let access = global.schema.iter().fold(Access::to(url), |access, schema| access.schema(schema));
    Ok(global.table.iter().fold(access, |access, table| access.table(table)))
}

/// Settings of the handle.
pub(crate) fn settings(global: &Global) -> Builder {
    global.namespace.iter().fold(Idempotency::builder(), |settings, namespace| settings.namespace(namespace))
}

/// A handle on the records.
pub(crate) async fn open(global: &Global) -> Result<Idempotency, Failure> {
    Ok(access(global)?.open(settings(global)).await?)
}
