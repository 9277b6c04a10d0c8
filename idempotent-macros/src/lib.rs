//! The `#[idempotent]` attribute.
