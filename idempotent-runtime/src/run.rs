//! The future of a guarded call: the handler's types, wired to the guard.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::error::{Error, ErrorKind};
use crate::guard::{Before, Ending, Guard};
use crate::outcome::{Outcome, OutcomeKind};
use crate::policy::OnDuplicate;
use crate::record::{Completed, NoResult, Recorded};
use crate::reply::{ErrorOps, Judgement, ValueOps};

/// A call that is ready to run, or the error that it ends in without running.
pub(crate) struct Call<R> {
    guard: Result<Box<Guard>, Error>,
    value: ValueOps<R>,
    error: ErrorOps<R>,
}

impl<R> Call<R> {
    pub(crate) fn new(guard: Result<Guard, Error>, value: ValueOps<R>, error: ErrorOps<R>) -> Self {
        Self { guard: guard.map(Box::new), value, error }
    }

    /// Runs `body` under the guard.
    pub(crate) fn run<F: Future<Output = R>>(self, body: F) -> Run<R, F> {
        Run { guard: Some(self.guard), value: self.value, error: self.error, body: Some(body), reply: None }
    }
}

impl<R> fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of a guarded call.
    ///
    /// Dropped, it first drops the body and then has its claim ended in the background; what that means at each point
    /// is told at the guard.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Run<R, F> {
        // The body comes first: fields are dropped in their order, and the body is to be gone before its claim.
        #[pin]
        body: Option<F>,
        guard: Option<Result<Box<Guard>, Error>>,
        value: ValueOps<R>,
        error: ErrorOps<R>,
        reply: Option<R>,
    }
}

impl<R, F> fmt::Debug for Run<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl<R, F: Future<Output = R>> Future for Run<R, F> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let mut this = self.project();
        let guard = match this.guard {
            Some(Ok(guard)) => guard,
            Some(Err(_)) => {
                this.body.set(None);
                let Some(Err(error)) = this.guard.take() else { unreachable!("looked at just now") };
                crate::observe::refused_early(&error);
                if let Some(recorder) = crate::context::recorder() {
                    recorder.record(Outcome::refused(&error));
                }
                return Poll::Ready(this.error.from(error));
            }
            None => panic!("`Run` was polled after it had returned"),
        };
        let span = guard.span().clone();
        let _entered = span.enter();
        if this.reply.is_none() {
            let reply = loop {
                let Some(body) = this.body.as_mut().as_pin_mut() else { panic!("`Run` was polled after a panic") };
                match ready!(guard.poll_before(cx)) {
                    Before::Poll => match guard.inside(|| body.poll(cx)) {
                        Poll::Ready(reply) => break reply,
                        Poll::Pending if guard.was_asked() => {}
                        Poll::Pending => return Poll::Pending,
                    },
                    Before::Answer(completed) => {
                        this.body.set(None);
                        let reply = answer(guard, &completed, this.value, this.error);
                        *this.guard = None;
                        return Poll::Ready(reply.unwrap_or_else(|error| this.error.from(error)));
                    }
                    Before::Refuse(error) => {
                        this.body.set(None);
                        *this.guard = None;
                        return Poll::Ready(this.error.from(error));
                    }
                }
            };
            guard.returned(this.value.is_ok(&reply));
            this.body.set(None);
            let ending = ending(guard, &reply, this.value, this.error);
            *this.reply = Some(reply);
            guard.settle(ending);
        }
        ready!(guard.poll_settled(cx));
        *this.guard = None;
        this.reply.take().map_or_else(|| unreachable!("kept until settled"), Poll::Ready)
    }
}

/// How a reply is to be settled.
fn ending<R>(guard: &Guard, reply: &R, value: &ValueOps<R>, error: &ErrorOps<R>) -> Ending {
    if value.is_ok(reply) {
        return Ending::Value(match value.encode(reply) {
            Some(value) => guard.encode(value).map_or_else(Recorded::Nothing, Recorded::Value),
            None => Recorded::Nothing(NoResult::NotWanted),
        });
    }
    match error.judge(reply) {
        // What hides its key says nothing of the message in its error either.
        Judgement::Release if guard.hides() => Ending::Failure("the handler returned an error".into()),
        Judgement::Release => Ending::Failure(error.text(reply)),
        Judgement::Record(error) => Ending::Final(guard.encode(error).map_or_else(Recorded::Nothing, Recorded::Error)),
        Judgement::Reject(summary) => Ending::Final(Recorded::Rejected(summary.into())),
    }
}

/// The answer to a duplicate, from the record.
fn answer<R>(guard: &mut Guard, completed: &Completed, value: &ValueOps<R>, error: &ErrorOps<R>) -> Result<R, Error> {
    let attempt = completed.attempt;
    let reply = reply_from(guard, &completed.result, value, error).map_err(|error| error.key(guard.key().as_str()));
    let outcome = match &reply {
        Ok(_) if matches!(completed.result, Recorded::Error(_)) => Outcome::new(OutcomeKind::FailedForGood),
        Ok(_) if guard.on_duplicate() == OnDuplicate::Skip => Outcome::new(OutcomeKind::Skipped),
        Ok(_) => Outcome::new(OutcomeKind::Replayed),
        Err(error) => Outcome::refused(error),
    };
    guard.end(&outcome.of_run(guard.key(), attempt));
    reply
}

fn reply_from<R>(guard: &Guard, recorded: &Recorded, value: &ValueOps<R>, error: &ErrorOps<R>) -> Result<R, Error> {
    match recorded {
        Recorded::Rejected(summary) => return Err(Error::new(ErrorKind::Failed).detail(summary.to_string())),
        Recorded::Error(encoded) => return guard.core().decode(encoded, |from| error.decode(from)),
        Recorded::Value(_) | Recorded::Nothing(_) => {}
    }
    match guard.on_duplicate() {
        OnDuplicate::Reject => return Err(Error::new(ErrorKind::Duplicate)),
        OnDuplicate::Skip => {
            if let Some(reply) = value.skip() {
                return Ok(reply);
            }
        }
        OnDuplicate::Replay => {}
    }
    match recorded {
        Recorded::Value(encoded) => guard.core().decode(encoded, |from| value.decode(from)),
        Recorded::Nothing(why) => Err(Error::without_result(*why)),
        Recorded::Error(_) | Recorded::Rejected(_) => unreachable!("answered above"),
    }
}
