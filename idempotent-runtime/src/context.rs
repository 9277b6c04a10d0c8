//! What a running poll knows: the claim it runs under, and who wants to hear the outcome.
//!
//! Both belong to one poll, not to a thread: they are put in place before a future is polled and taken away after,
//! also when it panics.

use std::cell::RefCell;
use std::sync::Arc;

use crate::guard::checks::Checks;
use crate::lease::Lease;
use crate::outcome::Recorder;

#[derive(Default)]
struct Context {
    claim: Option<Arc<Lease>>,
    checks: Option<Arc<Checks>>,
    recorder: Option<Arc<Recorder>>,
}

thread_local! {
    static CONTEXT: RefCell<Context> = RefCell::default();
}

/// The claim that the current poll runs under.
pub(crate) fn claim() -> Option<Arc<Lease>> {
    CONTEXT.with_borrow(|context| context.claim.clone())
}

/// The questions that the current poll has to answer ahead of its body.
pub(crate) fn checks() -> Option<Arc<Checks>> {
    CONTEXT.with_borrow(|context| context.checks.clone())
}

/// Who wants to hear the outcome of the call that starts now: only an outermost call is heard.
pub(crate) fn recorder() -> Option<Arc<Recorder>> {
    CONTEXT.with_borrow(|context| context.recorder.clone())
}

/// Runs `poll` inside a handler: under `claim` (none, when it runs unguarded), heard by nobody.
pub(crate) fn inside<T>(claim: Option<Arc<Lease>>, checks: Option<Arc<Checks>>, poll: impl FnOnce() -> T) -> T {
    with(Context { claim, checks, recorder: None }, poll)
}

/// Runs `poll` with `recorder` listening.
pub(crate) fn heard_by<T>(recorder: &Arc<Recorder>, poll: impl FnOnce() -> T) -> T {
    with(Context { claim: claim(), checks: None, recorder: Some(Arc::clone(recorder)) }, poll)
}

fn with<T>(context: Context, poll: impl FnOnce() -> T) -> T {
    struct Restore(Context);
    impl Drop for Restore {
        fn drop(&mut self) {
            CONTEXT.set(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(CONTEXT.replace(context));
    poll()
}
