//! The fenced sink: it takes an effect only if its fence is at least the highest that it has seen for that order. What a
//! process had started before it stood still comes too late, and is refused.

mod check;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use self::check::{Checked, check};

/// The sink's answer to a report; only an effect can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It takes place.
    Accepted,
    /// It does not: a run with a higher fence has been here.
    Refused,
}

/// An effect as it came, and what the sink did with it.
#[derive(Clone, Copy, Debug)]
pub struct Presented {
    /// What it is done to.
    pub order: usize,
    /// That of its claim.
    pub fence: u64,
    /// What the sink did with it.
    pub answer: Answer,
}

/// The highest fence of each order, and all that was presented.
#[derive(Debug, Default)]
pub struct Fences {
    highest: HashMap<usize, u64>,
    history: Vec<Presented>,
}

impl Fences {
    /// Judges an effect.
    pub fn present(&mut self, order: usize, fence: u64) -> Answer {
        let highest = self.highest.entry(order).or_default();
        let answer = if fence < *highest { Answer::Refused } else { Answer::Accepted };
        *highest = fence.max(*highest);
        self.history.push(Presented { order, fence, answer });
        answer
    }

    /// Everything that was presented, in the order in which it came.
    pub fn history(&self) -> &[Presented] {
        &self.history
    }
}
