//! Idempotent handlers.
