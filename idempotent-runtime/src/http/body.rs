//! Bodies: held in memory, or passed through.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::HeaderMap;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use super::budget::Held;

pin_project! {
    /// A body that is held in memory, or is passed through as it comes: what the layer's responses have. `B` is the body
    /// of the service inside.
    ///
    /// It is also a request's body for services of plain `hyper`, whose own `Incoming` cannot be made from bytes:
    ///
    /// ```
    /// use idempotent_runtime::http::Body;
    ///
    /// // In front of the layer: `service.map_request(|request: Request<Incoming>| request.map(Body::new))`.
    /// let body = Body::new(http_body_util::Empty::<bytes::Bytes>::new());
    /// # drop(body);
    /// ```
    pub struct Body<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = Projected]
    enum Kind<B> {
        Whole { bytes: Bytes, trailers: Option<HeaderMap> },
        Passed { #[pin] body: B },
        Broken { error: Option<BoxError> },
    }
}

/// What a body of any kind fails with.
pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

impl<B> Body<B> {
    /// Passes a body through.
    pub fn new(body: B) -> Self {
        Self { kind: Kind::Passed { body } }
    }

    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::with_trailers(bytes, None)
    }

    pub(super) fn with_trailers(bytes: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self { kind: Kind::Whole { bytes, trailers } }
    }

    /// A body that breaks off at once: what came of it before has been read, and cannot be told from the whole.
    pub(super) fn broken(error: BoxError) -> Self {
        Self { kind: Kind::Broken { error: Some(error) } }
    }

    /// Counts the body's bytes as held until they are gone.
    pub(super) fn holding(self, held: Held) -> Self {
        match self.kind {
            Kind::Whole { bytes, trailers } => Self::with_trailers(held.keep(bytes), trailers),
            kind => Self { kind },
        }
    }

    /// How many bytes are in memory.
    pub(super) fn in_memory(&self) -> usize {
        match &self.kind {
            Kind::Whole { bytes, .. } => bytes.len(),
            Kind::Passed { .. } | Kind::Broken { .. } => 0,
        }
    }
}

impl<B> From<Bytes> for Body<B> {
    fn from(bytes: Bytes) -> Self {
        Self::whole(bytes)
    }
}

impl<B: http_body::Body<Data = Bytes, Error: Into<BoxError>>> http_body::Body for Body<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        match this.kind.project() {
            Projected::Passed { body } => body.poll_frame(cx).map_err(Into::into),
            Projected::Broken { error } => Poll::Ready(error.take().map(Err)),
            Projected::Whole { bytes, trailers } => {
                let frame = if bytes.is_empty() {
                    trailers.take().map(Frame::trailers)
                } else {
                    Some(Frame::data(std::mem::take(bytes)))
                };
                Poll::Ready(frame.map(Ok))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole { bytes, trailers } => bytes.is_empty() && trailers.is_none(),
            Kind::Passed { body } => body.is_end_stream(),
            Kind::Broken { error } => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Kind::Passed { body } => body.size_hint(),
            Kind::Broken { .. } => SizeHint::default(),
        }
    }
}

impl<B> fmt::Debug for Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Whole { bytes, .. } => write!(f, "Body({} bytes)", bytes.len()),
            Kind::Passed { .. } => f.write_str("Body(passed through)"),
            Kind::Broken { .. } => f.write_str("Body(broken off)"),
        }
    }
}
