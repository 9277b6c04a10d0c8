//! The fenced sink: it takes an effect only if its fence is at least the highest that it has seen for that order. What a
//! process had started before it stood still comes too late, and is refused.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The sink's answer to a report; only an effect can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Accepted,
    Refused,
}

/// An effect as it came, and what the sink did with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented {
    pub(crate) order: usize,
    pub(crate) fence: u64,
    pub(crate) answer: Answer,
}

#[derive(Debug, Default)]
pub(crate) struct Fences {
    highest: HashMap<usize, u64>,
    history: Vec<Presented>,
}

impl Fences {
    pub(crate) fn present(&mut self, order: usize, fence: u64) -> Answer {
        let highest = self.highest.entry(order).or_default();
        let answer = if fence < *highest { Answer::Refused } else { Answer::Accepted };
        *highest = fence.max(*highest);
        self.history.push(Presented { order, fence, answer });
        answer
    }

    /// Everything that was presented, in the order in which it came.
    pub(crate) fn history(&self) -> &[Presented] {
        &self.history
    }
}
