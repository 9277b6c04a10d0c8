//! The model, as the checker takes it.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path, Property};

use crate::properties;
use crate::setting::Setting;
use crate::state::State;
use crate::step::Step;

/// The protocol in one setting.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Which calls, faults and rules.
    pub setting: Setting,
}

/// What a run of the checker found.
#[derive(Debug)]
pub struct Report {
    /// How many different states there are.
    pub states: usize,
    /// The length of the longest way to one of them.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The broken property that was found first, with the shortest way to it.
    pub counterexample: Option<(&'static str, Trace)>,
}

/// A way to a state that should not be.
pub type Trace = Path<State, Step>;

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(&self.setting)]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        state.steps(&self.setting, steps);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let after = state.after(step, &self.setting);
        (after != *state).then_some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Protocol {
    /// The protocol in `setting`.
    pub const fn new(setting: Setting) -> Self {
        Self { setting }
    }

    /// Goes through all states, breadth first, until one breaks a property. With one thread the way to it is a shortest.
    pub fn check(self, threads: NonZeroUsize) -> Report {
        self.run(threads, HasDiscoveries::AnyFailures)
    }

    /// Goes through the states, breadth first, until one breaks `property`, on a shortest way.
    pub fn find(self, property: &'static str) -> Report {
        self.run(NonZeroUsize::MIN, HasDiscoveries::AnyOf([property].into()))
    }

    fn run(self, threads: NonZeroUsize, until: HasDiscoveries) -> Report {
        let start = Instant::now();
        let wanted = match &until {
            HasDiscoveries::AnyOf(properties) => properties.first().copied(),
            _ => None,
        };
        let checker = self.checker().threads(threads.get()).finish_when(until).spawn_bfs().join();
        let found = checker.discoveries().into_iter().filter(|(property, _)| wanted.is_none_or(|it| it == *property));
        let counterexample = found.min_by_key(|(_, path)| path.clone().into_actions().len());
        Report {
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            took: start.elapsed(),
            counterexample,
        }
    }
}

impl Report {
    /// The property that was broken.
    pub fn broken(&self) -> Option<&'static str> {
        self.counterexample.as_ref().map(|(property, _)| *property)
    }

    /// The counterexample, for people.
    pub fn explain(&self) -> String {
        let Some((property, trace)) = &self.counterexample else {
            return format!("{} states, depth {}, {:.1?}: all properties hold", self.states, self.depth, self.took);
        };
        let mut text = format!("broken: {property}\n");
        let mut last = None;
        for (at, (state, step)) in trace.clone().into_vec().into_iter().enumerate() {
            if last != Some(state.record) {
                let _ = writeln!(text, "      {:?}", state.record);
                last = Some(state.record);
            }
            if let Some(step) = step {
                let _ = writeln!(text, "{:>4}. {step}", at + 1);
            }
        }
        text
    }
}
