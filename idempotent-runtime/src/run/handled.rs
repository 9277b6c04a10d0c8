//! What can be done with a handler, whatever its types.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use erased_serde::Serialize;

use crate::error::Error;
use crate::read::Reader;
use crate::record::CodecTag;
use crate::reply::{ErrorOps, Judgement, ValueOps};

/// A body in its place, which it leaves before its claim ends.
pub(super) trait Body<R> {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R>;
    fn drop_body(self: Pin<&mut Self>);
}

impl<R, F: Future<Output = R>> Body<R> for Option<F> {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        match self.as_pin_mut() {
            Some(body) => body.poll(cx),
            None => panic!("`Run` was polled after a panic"),
        }
    }

    fn drop_body(mut self: Pin<&mut Self>) {
        self.set(None);
    }
}

/// A side of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Value,
    Error,
}

/// A handler in a call, without its types. It keeps the reply once there is one.
pub(super) trait Handled {
    /// Polls the body.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    fn drop_body(&mut self);

    /// Which side the reply is of, if there is one.
    fn replied(&self) -> Option<Side>;
    /// The value in the reply, where it is to be recorded.
    fn value(&self) -> Option<&dyn Serialize>;
    /// The bytes that the value in the reply writes itself, where it does, and the name of that form.
    fn plain(&self) -> Option<(CodecTag, Arc<[u8]>)>;
    /// For how long the reply is kept, where it says so itself.
    fn ttl(&self) -> Option<Duration>;
    /// What is to be done about the error in the reply.
    fn judgement(&self) -> Judgement<'_>;
    /// What people are shown of the error in the reply; nothing where it cannot be shown.
    fn text(&self) -> Option<String>;

    /// Replies with a side that was recorded. `None` where this handler records no such side.
    fn read(&mut self, side: Side, from: Reader<'_, '_>) -> Option<Result<(), erased_serde::Error>>;
    /// Replies with a value that wrote its own bytes. `None` where this handler's values do not.
    fn read_plain(&mut self, codec: CodecTag, bytes: &Arc<[u8]>)
    -> Option<Result<(), Box<dyn StdError + Send + Sync>>>;
    /// Replies with the default value. `None` unless the handler has one for duplicates.
    fn skip(&mut self) -> Option<()>;
    /// Replies with an error of the runtime.
    fn fail(&mut self, error: Error);
}

/// A handler of known types.
pub(super) struct Typed<'a, R> {
    pub(super) body: Pin<&'a mut dyn Body<R>>,
    pub(super) value: &'a ValueOps<R>,
    pub(super) error: &'a ErrorOps<R>,
    pub(super) reply: &'a mut Option<R>,
}

// `match` rather than the methods of `Option` and `Result`: each of those, and its closure, would be compiled for every
// type once more.
impl<R> Handled for Typed<'_, R> {
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.body.as_mut().poll(cx) {
            Poll::Ready(reply) => {
                *self.reply = Some(reply);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn drop_body(&mut self) {
        self.body.as_mut().drop_body();
    }

    fn replied(&self) -> Option<Side> {
        match &*self.reply {
            Some(reply) if self.value.is_ok(reply) => Some(Side::Value),
            Some(_) => Some(Side::Error),
            None => None,
        }
    }

    fn value(&self) -> Option<&dyn Serialize> {
        match &*self.reply {
            Some(reply) => self.value.encode(reply),
            None => None,
        }
    }

    fn plain(&self) -> Option<(CodecTag, Arc<[u8]>)> {
        match (&*self.reply, self.value.plain()) {
            (Some(reply), Some(plain)) => Some((plain.tag, (plain.write)(reply)?)),
            _ => None,
        }
    }

    fn ttl(&self) -> Option<Duration> {
        match &*self.reply {
            Some(reply) => self.value.ttl(reply),
            None => None,
        }
    }

    fn judgement(&self) -> Judgement<'_> {
        match &*self.reply {
            Some(reply) => self.error.judge(reply),
            None => Judgement::Release,
        }
    }

    fn text(&self) -> Option<String> {
        match &*self.reply {
            Some(reply) => self.error.text(reply),
            None => None,
        }
    }

    fn read(&mut self, side: Side, from: Reader<'_, '_>) -> Option<Result<(), erased_serde::Error>> {
        let reply = match side {
            Side::Value => self.value.decode(from),
            Side::Error => self.error.decode(from),
        };
        match reply? {
            Ok(reply) => {
                *self.reply = Some(reply);
                Some(Ok(()))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn read_plain(
        &mut self,
        codec: CodecTag,
        bytes: &Arc<[u8]>,
    ) -> Option<Result<(), Box<dyn StdError + Send + Sync>>> {
        match self.value.plain() {
            Some(plain) if plain.tag == codec => match (plain.read)(bytes) {
                Ok(reply) => {
                    *self.reply = Some(reply);
                    Some(Ok(()))
                }
                Err(error) => Some(Err(error)),
            },
            _ => None,
        }
    }

    fn skip(&mut self) -> Option<()> {
        *self.reply = Some(self.value.skip()?);
        Some(())
    }

    fn fail(&mut self, error: Error) {
        *self.reply = Some(self.error.from(error));
    }
}
