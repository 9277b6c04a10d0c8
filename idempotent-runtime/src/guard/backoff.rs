//! Back-off between repeats of an operation: doubled, bounded, jittered.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(250);

/// How long to wait before the next try.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// Waits for the next [`step`](Self::step).
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.step()).await;
    }

    /// The next pause: between half of the current step and the whole of it. The step doubles.
    pub(crate) fn step(&mut self) -> Duration {
        self.step_up_to(LONGEST)
    }

    /// The same with a bound of its own.
    pub(crate) fn step_up_to(&mut self, longest: Duration) -> Duration {
        let pause = jittered(self.next.min(longest));
        self.next = (self.next * 2).min(longest);
        pause
    }
}

/// Between half of `time` and the whole of it, so that callers that failed together do not come back together.
pub(crate) fn jittered(time: Duration) -> Duration {
    time.mul_f64(0.5 + 0.5 * rand::random::<f64>())
}
