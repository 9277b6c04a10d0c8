//! A call from its first poll to its reply, between the guard and a handler of any types.

use std::borrow::Cow;
use std::task::{Context, Poll, ready};

use super::handled::{Handled, Side};
use crate::error::{Error, ErrorKind};
use crate::guard::{Before, Ending, Guard};
use crate::outcome::{Outcome, OutcomeKind};
use crate::policy::OnDuplicate;
use crate::record::{Completed, Encoded, NoResult, Recorded};
use crate::reply::Judgement;

/// Drives the call to its reply, which the handler keeps. The guard is taken away when the call has ended.
pub(super) fn drive(
    call: &mut Option<Result<Box<Guard>, Error>>,
    handler: &mut dyn Handled,
    cx: &mut Context<'_>,
) -> Poll<()> {
    let guard = match call {
        Some(Ok(guard)) => guard,
        Some(Err(_)) => {
            handler.drop_body();
            let Some(Err(error)) = call.take() else { unreachable!("looked at just now") };
            refuse_early(handler, error);
            return Poll::Ready(());
        }
        None => panic!("`Run` was polled after it had returned"),
    };
    let span = guard.span().clone();
    let _entered = span.enter();
    if handler.replied().is_none() {
        loop {
            match ready!(guard.poll_before(cx)) {
                Before::Poll => match guard.inside(|| handler.poll_body(cx)) {
                    Poll::Ready(()) => break,
                    Poll::Pending if guard.was_asked() => {}
                    Poll::Pending => return Poll::Pending,
                },
                Before::Answer(completed) => {
                    handler.drop_body();
                    let answered = answer(guard, &completed, handler);
                    *call = None;
                    if let Err(error) = answered {
                        handler.fail(error);
                    }
                    return Poll::Ready(());
                }
                Before::Refuse(error) => {
                    handler.drop_body();
                    *call = None;
                    handler.fail(error);
                    return Poll::Ready(());
                }
            }
        }
        if let Some(ttl) = handler.ttl() {
            guard.keep_for(ttl);
        }
        guard.returned(handler.replied() == Some(Side::Value));
        handler.drop_body();
        let ending = ending(guard, handler);
        guard.settle(ending);
    }
    ready!(guard.poll_settled(cx));
    *call = None;
    Poll::Ready(())
}

/// Ends a call that was never prepared.
pub(super) fn refuse_early(handler: &mut dyn Handled, error: Error) {
    crate::observe::refused_early(&error);
    if let Some(recorder) = crate::context::recorder() {
        recorder.record(Outcome::refused(&error));
    }
    handler.fail(error);
}

/// How a reply is to be settled.
pub(super) fn ending(guard: &Guard, handler: &dyn Handled) -> Ending {
    if handler.replied() == Some(Side::Value) {
        let plain = if guard.core().has_built_in_codec() { handler.plain() } else { None };
        if let Some((tag, bytes)) = plain {
            return Ending::Value(guard.encoded(tag, bytes).map_or_else(Recorded::Nothing, Recorded::Value));
        }
        return Ending::Value(match handler.value() {
            Some(value) => guard.encode(value).map_or_else(Recorded::Nothing, Recorded::Value),
            None => Recorded::Nothing(NoResult::NotWanted),
        });
    }
    match handler.judgement() {
        Judgement::Release => Ending::Failure(last_error(guard, handler)),
        Judgement::Record(error) => Ending::Final(guard.encode(error).map_or_else(Recorded::Nothing, Recorded::Error)),
        Judgement::Reject(summary) => Ending::Final(Recorded::Rejected(summary.into())),
        #[cfg(feature = "http")]
        Judgement::Hold => Ending::GivenUp,
    }
}

/// What the record says of an error after which a retry may run.
fn last_error(guard: &Guard, handler: &dyn Handled) -> Cow<'static, str> {
    // What hides its key says nothing of the message in its error either.
    let text = if guard.hides() { None } else { handler.text() };
    match text {
        Some(text) if !text.is_empty() => Cow::Owned(text),
        _ => Cow::Borrowed("the handler returned an error"),
    }
}

/// Answers a duplicate from the record.
pub(super) fn answer(guard: &mut Guard, completed: &Completed, handler: &mut dyn Handled) -> Result<(), Error> {
    let attempt = completed.attempt;
    let answered = reply_from(guard, &completed.result, handler).map_err(|error| error.key(guard.key().as_str()));
    let outcome = match &answered {
        Ok(()) if matches!(completed.result, Recorded::Error(_)) => Outcome::new(OutcomeKind::FailedForGood),
        Ok(()) if guard.on_duplicate() == OnDuplicate::Skip => Outcome::new(OutcomeKind::Skipped),
        Ok(()) => Outcome::new(OutcomeKind::Replayed),
        Err(error) => Outcome::refused(error),
    };
    guard.end(&outcome.of_run(guard.key(), attempt));
    answered
}

fn reply_from(guard: &Guard, recorded: &Recorded, handler: &mut dyn Handled) -> Result<(), Error> {
    match recorded {
        Recorded::Rejected(summary) => return Err(Error::new(ErrorKind::Failed).detail(summary.to_string())),
        Recorded::Error(encoded) => return read(guard, encoded, Side::Error, handler),
        Recorded::Value(_) | Recorded::Nothing(_) => {}
    }
    match guard.on_duplicate() {
        OnDuplicate::Reject => return Err(Error::new(ErrorKind::Duplicate)),
        OnDuplicate::Skip if handler.skip().is_some() => return Ok(()),
        OnDuplicate::Skip | OnDuplicate::Replay => {}
    }
    match recorded {
        Recorded::Value(encoded) => match handler.read_plain(encoded.codec, &encoded.bytes) {
            Some(read) => read.map_err(|cause| Error::new(ErrorKind::Unreadable).because(cause)),
            None => read(guard, encoded, Side::Value, handler),
        },
        Recorded::Nothing(why) => Err(Error::without_result(*why)),
        Recorded::Error(_) | Recorded::Rejected(_) => unreachable!("answered above"),
    }
}

/// Replies with a recorded side.
fn read(guard: &Guard, encoded: &Encoded, side: Side, handler: &mut dyn Handled) -> Result<(), Error> {
    guard.core().decode(encoded, &mut |from| handler.read(side, from))
}
