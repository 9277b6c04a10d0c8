//! Plays one case of the table, and looks at what came of it.

use std::thread;
use std::time::Duration;

use idempotent_runtime::testing::{Fault, Gate, Operation};
use idempotent_runtime::{ErrorKind, OutcomeKind};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep, timeout};

use crate::table::{Caller, Case, Happens, Next, Point};
use crate::world::{Ended, FIRST, Failure, SECOND, World};

/// A message that a call is interrupted at has not been applied, has been, or will be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    NotApplied,
    Applied,
    AppliedLate,
}

/// The messages that a case is to be played with.
pub(crate) fn messages(case: Case) -> &'static [Message] {
    let is_interrupted = matches!(case.happens, Happens::Dropped | Happens::Aborted | Happens::RuntimeShutDown);
    if is_interrupted && operation(case).is_some() {
        &[Message::NotApplied, Message::Applied, Message::AppliedLate]
    } else {
        &[Message::NotApplied]
    }
}

/// Within which a case must be settled, where no lease has to lapse for it: a third of the lease, so that a lapse does
/// not settle it.
fn patience(world: &World<'_>, case: Case) -> Duration {
    if case.takes_a_lapse() { 20 * world.lease } else { world.lease / 3 }
}

/// Plays the case on a fresh key. Panics where it does not go as the table says.
pub(crate) async fn play(world: &World<'_>, case: Case, message: Message) {
    let (caller, next) = case.expected().expect("a case that can be");
    let within = patience(world, case);
    let name = format!("{case:?}, its message {message:?}");

    let played = timeout(within, happen(world, case, message)).await;
    assert_eq!(played.unwrap_or_else(|_| panic!("{name}: it does not end")), caller, "{name}");
    world.faults.heal();
    world.faults.deliver_late().await.expect("the store is back");

    let second = come_next(world, case, within).await;
    assert_eq!(second, Some(next), "{name}");
    assert_eq!(world.ran(), case.runs(), "{name}: bodies that have started");
    assert_eq!(world.worker.shutdown(within).await, Ok(()), "{name}: nothing is left to do");

    // And it stays so.
    let settled = match next {
        Next::Runs(_) => (Ok(SECOND), OutcomeKind::Replayed),
        Next::Value => (Ok(FIRST), OutcomeKind::Replayed),
        Next::Error => (Err(Failure::Burnt), OutcomeKind::FailedForGood),
        Next::Indeterminate => {
            let indeterminate = ErrorKind::Indeterminate;
            (Err(Failure::Refused(indeterminate.as_str().to_owned())), OutcomeKind::Refused(indeterminate))
        }
    };
    let (result, outcome) = world.next(case.policy).await;
    assert_eq!((result, outcome.kind()), settled, "{name}: once more");
    assert_eq!(world.ran(), case.runs(), "{name}: and nothing runs any more");
}

/// What the first call that is not told to come back comes to.
async fn come_next(world: &World<'_>, case: Case, within: Duration) -> Option<Next> {
    let started = Instant::now();
    loop {
        let (result, outcome) = world.next(case.policy).await;
        match (result, outcome.kind()) {
            (Ok(SECOND), OutcomeKind::Executed) => return outcome.attempt().map(Next::Runs),
            (Ok(FIRST), OutcomeKind::Replayed) => return Some(Next::Value),
            (Err(Failure::Burnt), OutcomeKind::FailedForGood) => return Some(Next::Error),
            (_, OutcomeKind::Refused(ErrorKind::Indeterminate)) => return Some(Next::Indeterminate),
            // Not yet, or a connection that has not heard yet that its server is another one.
            (_, OutcomeKind::Refused(ErrorKind::Busy | ErrorKind::StoreUnavailable)) if started.elapsed() < within => {}
            (result, _) => panic!("{case:?}: {result:?}, {outcome:?}"),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Brings the call to its point, and lets happen there what happens.
async fn happen(world: &World<'_>, case: Case, message: Message) -> Caller {
    match case.happens {
        Happens::Dropped | Happens::Aborted | Happens::RuntimeShutDown => interrupted(world, case, message).await,
        Happens::StoreGone => store_gone(world, case).await,
        Happens::AnswerLost => answer_lost(world, case).await,
        Happens::Panic if case.point == Point::Releasing => answer_lost(world, case).await,
        Happens::Value | Happens::Error | Happens::Panic => joined(tokio::spawn(world.first(case, None)).await),
    }
}

async fn interrupted(world: &World<'_>, case: Case, message: Message) -> Caller {
    let gate = Gate::new("the point");
    let in_body = (case.point == Point::InBody).then(|| gate.clone());
    let operation = operation(case);
    if let Some(operation) = operation {
        world.faults.next(
            operation,
            match message {
                Message::NotApplied => Fault::WaitsBefore(gate.clone()),
                Message::Applied => Fault::WaitsAfter(gate.clone()),
                Message::AppliedLate => Fault::ArrivesLate,
            },
        );
    }
    let call = world.first(case, in_body);
    let arrival = async {
        match operation {
            Some(operation) if matches!(message, Message::AppliedLate) => world.faults.called(operation, 1).await,
            _ => gate.reached().await,
        }
    };
    let is_polled = case.point != Point::BeforeFirstPoll;
    match case.happens {
        Happens::Dropped => {
            let mut call = Box::pin(call);
            if is_polled {
                tokio::select! {
                    biased;
                    ended = &mut call => panic!("{case:?}: it ended: {ended:?}"),
                    () = arrival => {}
                }
            }
            drop(call);
        }
        Happens::Aborted => {
            let task = tokio::spawn(call);
            if is_polled {
                arrival.await;
            }
            task.abort();
            assert!(task.await.is_err_and(|error| error.is_cancelled()), "{case:?}: it was not aborted");
        }
        _ => {
            let doomed = Doomed::start(is_polled);
            doomed.spawn(call);
            if is_polled {
                arrival.await;
            }
            doomed.end();
        }
    }
    Caller::Nothing
}

async fn store_gone(world: &World<'_>, case: Case) -> Caller {
    let gate = Gate::new("the point");
    match case.point {
        Point::BeforeFirstPoll => {
            let call = world.first(case, None);
            world.go_down();
            world.come_back();
            joined(tokio::spawn(call).await)
        }
        Point::Claiming => {
            world.go_down();
            let caller = joined(tokio::spawn(world.first(case, None)).await);
            world.come_back();
            caller
        }
        Point::Beginning => {
            world.faults.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
            let call = tokio::spawn(world.first(case, None));
            gate.reached().await;
            world.go_down();
            gate.open();
            let caller = joined(call.await);
            world.come_back();
            caller
        }
        Point::InBody => {
            let call = tokio::spawn(world.first(case, Some(gate.clone())));
            gate.reached().await;
            world.go_down();
            // The lease lapses, and nobody takes over.
            sleep(2 * world.lease).await;
            world.come_back();
            gate.open();
            joined(call.await)
        }
        Point::Completing | Point::Releasing => {
            let call = tokio::spawn(world.first(case, Some(gate.clone())));
            gate.reached().await;
            world.go_down();
            gate.open();
            let caller = joined(call.await);
            world.come_back();
            caller
        }
    }
}

async fn answer_lost(world: &World<'_>, case: Case) -> Caller {
    let gate = Gate::new("the point");
    let operation = operation(case).unwrap_or(Operation::Renew);
    let call = match case.point {
        Point::BeforeFirstPoll | Point::Claiming => {
            world.lose_answer(operation);
            tokio::spawn(world.first(case, None))
        }
        Point::Beginning => {
            world.faults.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
            let call = tokio::spawn(world.first(case, None));
            gate.reached().await;
            world.lose_answer(operation);
            call
        }
        Point::InBody | Point::Completing | Point::Releasing => {
            let call = tokio::spawn(world.first(case, Some(gate.clone())));
            gate.reached().await;
            world.lose_answer(operation);
            if case.point == Point::InBody {
                world.faults.called(operation, 2).await;
            }
            call
        }
    };
    gate.open();
    let caller = joined(call.await);
    // It was asked again: nobody took "no answer" for an answer.
    world.faults.called(operation, 2).await;
    caller
}

/// The message that is on its way at that point.
fn operation(case: Case) -> Option<Operation> {
    match case.point {
        Point::BeforeFirstPoll | Point::InBody => None,
        Point::Claiming => Some(Operation::Claim),
        Point::Beginning => Some(Operation::Begin),
        Point::Completing => Some(Operation::Complete),
        Point::Releasing => Some(Operation::Release),
    }
}

fn joined(ended: Result<Ended, JoinError>) -> Caller {
    match ended {
        Ok((Ok(FIRST), _)) => Caller::Value,
        Ok((Err(Failure::Burnt), _)) => Caller::OwnError,
        Ok((_, outcome)) if outcome.kind() == OutcomeKind::Refused(ErrorKind::StoreUnavailable) => Caller::Unavailable,
        Err(error) if error.is_panic() => Caller::Panic,
        other => panic!("{other:?}"),
    }
}

/// A runtime that ends under its tasks.
struct Doomed(Option<Runtime>);

impl Doomed {
    /// One that polls its tasks, or one that never comes to it.
    fn start(polls: bool) -> Self {
        let mut builder = if polls { Builder::new_multi_thread() } else { Builder::new_current_thread() };
        Self(Some(builder.worker_threads(1).enable_all().build().expect("a runtime starts")))
    }

    fn spawn(&self, task: impl Future<Output = Ended> + Send + 'static) {
        self.0.as_ref().expect("it has not ended").spawn(task);
    }

    /// Ends it, and with it every task, before this returns. Not on this thread, which may not block by tokio's rules.
    fn end(mut self) {
        let runtime = self.0.take().expect("it has not ended");
        thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(5))).join().expect("it ends");
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        // After a failure.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
