//! A user whose runtime crate has another name. All is in its test.
