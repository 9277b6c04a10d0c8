//! How much larger a future becomes by the attribute.

use benches::{FIRST_ORDER, held_annotated, held_plain};
use idempotent_runtime::Idempotency;

/// Bytes of the annotated future over the plain one, whose body holds 1 KiB while it waits.
pub(crate) fn measure() -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let idempotency = runtime.block_on(async { Idempotency::memory() });
    let plain = size_of_val(&held_plain(&idempotency, FIRST_ORDER));
    let annotated = size_of_val(&held_annotated(&idempotency, FIRST_ORDER));
    anyhow::ensure!(plain >= 1024, "the plain future has only {plain} bytes: its local is not held");
    Ok(u32::try_from(annotated - plain)?.into())
}
