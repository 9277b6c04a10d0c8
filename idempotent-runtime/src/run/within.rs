//! A call in its caller's transaction, with the handler's types.
//!
//! Expanded code, and the functional form, take it through its turns; each of them is passed over where it is not due:
//!
//! ```text
//! let mut call = call.within(tx).await;                       claims
//! if let Some((scope, tx)) = call.verifying() { … }           `verify`
//! if let Some((scope, tx)) = call.asking() { … }              `existing`
//! if let Some((scope, tx)) = call.running() { … }             the body
//! call.end()                                                  the reply
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tracing::{Instrument as _, Span};

use super::drive;
use super::handled::{Handled, Typed};
use super::lent::{Lent, Place, kept};
use crate::context;
use crate::error::Error;
use crate::guard::Guard;
use crate::guard::checks::{Answer, Phase};
use crate::guard::within::{self, Decision, Surroundings};
use crate::lease::Lease;
use crate::record::Completed;
use crate::reply::{ErrorOps, ValueOps};
use crate::store::{InTransaction, TransactionConnection};

/// A call in its caller's transaction.
pub struct Within<'t, T: ?Sized, R> {
    transaction: Place<'t, T>,
    connect: Connect<T>,
    call: Typeless,
    value: ValueOps<R>,
    errors: ErrorOps<R>,
    reply: Option<R>,
}

/// The call without its types, and whose turn it is.
struct Typeless {
    within: Option<within::Within>,
    turn: Turn,
}

enum Turn {
    Verify(Box<Completed>),
    Ask,
    Run,
    Over,
}

/// Gives the connection of a transaction.
type Connect<T> = for<'a> fn(&'a mut T) -> TransactionConnection<'a>;

/// What is known to be a transaction.
pub struct Transacted<'t, T: ?Sized> {
    transaction: &'t mut T,
    connect: Connect<T>,
}

/// Checks that it is a transaction. The one place that does, so that what is none is reported once.
pub fn transaction<T: InTransaction + ?Sized>(transaction: &mut T) -> Transacted<'_, T> {
    Transacted { transaction, connect: T::connection }
}

impl<'t, T: ?Sized, R> Within<'t, T, R> {
    pub(crate) async fn claim(
        guard: Result<Box<Guard>, Error>,
        value: ValueOps<R>,
        errors: ErrorOps<R>,
        Transacted { transaction, connect }: Transacted<'t, T>,
    ) -> Self {
        let call = Typeless { within: None, turn: Turn::Over };
        let mut this = Self { transaction: Place::new(transaction), connect, call, value, errors, reply: None };
        match guard.and_then(within::Within::new) {
            Ok(within) => {
                this.call.within = Some(within);
                this.claim_once(None).await;
            }
            Err(error) => this.handled(|handler| drive::refuse_early(handler, error)),
        }
        this
    }

    async fn claim_once(&mut self, superseded: Option<&Completed>) {
        let Some(within) = &mut self.call.within else { return };
        let span = within.guard().span().clone();
        let (protect, connect) = (self.errors.can_be_final(), self.connect);
        let Some(transaction) = self.transaction.get() else { return };
        let mut connection = connect(transaction);
        let decision = within.claim(&mut connection.0, superseded, protect).instrument(span).await;
        self.call.turn = match decision {
            Decision::Run if within.guard().asks() => Turn::Ask,
            Decision::Run => Turn::Run,
            Decision::Verify(completed) => Turn::Verify(completed),
            Decision::Answer(completed) => return self.answer(&completed),
            Decision::Refuse(error) => return self.fail(error),
        };
    }

    /// Where `verify` is to be asked.
    pub fn verifying(&mut self) -> Option<(Scope, &mut T)> {
        let scope = match self.call.turn {
            Turn::Verify(_) => self.call.scope()?.unbounded(),
            _ => return None,
        };
        Some((scope, self.transaction.get()?))
    }

    /// What `verify` has found out.
    pub async fn verified(&mut self, answer: Option<Answer<R>>) {
        let Turn::Verify(completed) = std::mem::replace(&mut self.call.turn, Turn::Over) else { return };
        match answer {
            Some(Answer::Tell(Phase::Refuted)) => self.claim_once(Some(&completed)).await,
            Some(Answer::Return(phase, reply)) => {
                self.reply = Some(reply);
                self.settle(phase).await;
            }
            Some(Answer::Tell(_)) | None => self.answer(&completed),
        }
    }

    /// Where `existing` is to be asked.
    pub fn asking(&mut self) -> Option<(Scope, &mut T)> {
        let scope = match self.call.turn {
            Turn::Ask => self.call.scope()?.unbounded(),
            _ => return None,
        };
        Some((scope, self.transaction.get()?))
    }

    /// What `existing` has found out.
    pub async fn asked(&mut self, answer: Option<Answer<R>>) {
        self.call.turn = Turn::Run;
        if let Some(Answer::Return(phase, reply)) = answer {
            self.reply = Some(reply);
            self.settle(phase).await;
        }
    }

    /// Where the body is to run.
    pub fn running(&mut self) -> Option<(Scope, &mut T)> {
        let scope = match self.call.turn {
            Turn::Run => self.call.scope()?,
            _ => return None,
        };
        Some((scope, self.transaction.get()?))
    }

    /// As [`running`](Self::running), and the transaction comes back when what is lent is dropped.
    pub(crate) fn lend(&mut self) -> Option<(Scope, Lent<'t, T>)> {
        let scope = match self.call.turn {
            Turn::Run => self.call.scope()?,
            _ => return None,
        };
        Some((scope, self.transaction.lend()?))
    }

    /// What the body has returned; nothing, where its time was over.
    pub async fn returned(&mut self, reply: Option<R>) {
        if let Some(reply) = reply {
            self.reply = Some(reply);
            return self.settle(Phase::Begun).await;
        }
        let Some(within) = &mut self.call.within else { return };
        let span = within.guard().span().clone();
        let connect = self.connect;
        let Some(transaction) = self.transaction.get() else { return self.fail(kept()) };
        let error = within.time_out(&mut connect(transaction).0).instrument(span).await;
        self.fail(error);
    }

    /// The reply.
    pub fn end(self) -> R {
        match self.reply {
            Some(reply) => reply,
            None => unreachable!("a call that has had its turns has a reply"),
        }
    }

    async fn settle(&mut self, by: Phase) {
        self.call.turn = Turn::Over;
        let Some(mut within) = self.call.within.take() else { return };
        within.returned();
        let mut ending = None;
        self.handled(|handler| {
            if let Some(ttl) = handler.ttl() {
                within.guard().keep_for(ttl);
            }
            ending = Some(drive::ending(within.guard(), handler));
        });
        let Some(ending) = ending else { return };
        let span = within.guard().span().clone();
        let connect = self.connect;
        let Some(transaction) = self.transaction.get() else { return self.fail(kept()) };
        let settled = within.settle(&mut connect(transaction).0, ending, by).instrument(span).await;
        if let Err(error) = settled {
            self.fail(error);
        }
    }

    fn answer(&mut self, completed: &Completed) {
        self.call.turn = Turn::Over;
        let Some(mut within) = self.call.within.take() else { return };
        self.handled(|handler| {
            if let Err(error) = drive::answer(within.guard(), completed, handler) {
                handler.fail(error);
            }
        });
    }

    fn fail(&mut self, error: Error) {
        self.call.turn = Turn::Over;
        self.reply = Some(self.errors.from(error));
    }

    fn handled(&mut self, act: impl FnOnce(&mut dyn Handled)) {
        let mut gone = None::<std::future::Pending<R>>;
        let gone: Pin<&mut Option<_>> = Pin::new(&mut gone);
        act(&mut Typed { body: gone, value: &self.value, error: &self.errors, reply: &mut self.reply });
    }
}

impl Typeless {
    fn scope(&self) -> Option<Scope> {
        self.within.as_ref().map(|within| Scope::of(within.surroundings()))
    }
}

impl<T: ?Sized> fmt::Debug for Transacted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transacted").finish_non_exhaustive()
    }
}

impl<T: ?Sized, R> fmt::Debug for Within<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").finish_non_exhaustive()
    }
}

/// What a part of the handler runs in: its claim, its span and its time.
#[must_use]
pub struct Scope {
    span: Span,
    lease: Option<Arc<Lease>>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Scope {
    fn of(Surroundings { span, lease, timeout }: Surroundings) -> Self {
        Self { span, lease, timer: timeout.map(|timeout| Box::pin(sleep(timeout))) }
    }

    fn unbounded(self) -> Self {
        Self { timer: None, ..self }
    }

    /// Runs `part` in it; nothing, where its time is over.
    pub fn run<F: Future>(self, part: F) -> Inside<F> {
        Inside { part, scope: self }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

pin_project! {
    /// A part of the handler, running.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Inside<F> {
        #[pin]
        part: F,
        scope: Scope,
    }
}

impl<F> fmt::Debug for Inside<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").finish_non_exhaustive()
    }
}

impl<F: Future> Future for Inside<F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let this = self.project();
        let scope = this.scope;
        let _entered = scope.span.enter();
        if let Poll::Ready(output) = context::inside(scope.lease.clone(), None, || this.part.poll(cx)) {
            return Poll::Ready(Some(output));
        }
        match &mut scope.timer {
            Some(timer) => timer.as_mut().poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    }
}
