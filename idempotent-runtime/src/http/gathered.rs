//! A body's chunks, put together.

use bytes::{Bytes, BytesMut};

/// Chunks put together; one chunk, which is the usual case, is not copied.
#[derive(Default)]
pub(super) struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    pub(super) fn push(&mut self, chunk: Bytes) {
        if self.first.is_empty() && self.all.is_empty() {
            self.first = chunk;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&chunk);
    }

    pub(super) fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}
