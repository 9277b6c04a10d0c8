//! That a key is settled in the end: from every state, once nothing goes wrong any longer, the next call finds the key
//! free, completed, or held for a person.

use std::collections::HashMap;

use crate::network::Message;
use crate::operation::Answer;
use crate::record::Who;
use crate::setting::Setting;
use crate::state::State;
use crate::step::Step;
use crate::worker::Worker;

/// What the search found.
#[derive(Debug)]
pub struct Settling {
    /// How many states there are.
    pub states: usize,
    /// A state from which the key is never settled.
    pub stuck: Option<State>,
}

/// The whole graph of states, its calm steps turned round.
struct Graph {
    states: Vec<State>,
    calm_from: Vec<Vec<u32>>,
}

/// Looks for a state from which the key is never settled, though all goes well from there. There must be room for one
/// more call than `setting` has.
pub fn settles(setting: &Setting) -> Settling {
    let graph = Graph::of(setting);
    let settled = graph.leads_to(|state| is_settled(state, setting));
    let stuck = graph.states.iter().zip(&settled).find(|(_, settled)| !**settled);
    Settling { states: graph.states.len(), stuck: stuck.map(|(state, _)| *state) }
}

/// Whether one more call would get its own claim, the recorded value, or the word that a person must look: anything
/// but that the key is busy.
fn is_settled(state: &State, setting: &Setting) -> bool {
    let another = Who::try_from(setting.calls).expect("calls are numbered in a byte");
    let claim = Worker::IDLE.operation(another, Message::Claim, setting);
    let (answer, _) = setting.table().step(state.record, another, claim);
    !matches!(answer, Answer::InProgress { .. })
}

impl Graph {
    fn of(setting: &Setting) -> Self {
        let start = State::start(setting);
        let mut numbers: HashMap<State, u32> = HashMap::from([(start, 0)]);
        let mut graph = Self { states: vec![start], calm_from: vec![Vec::new()] };
        let mut steps: Vec<Step> = Vec::new();
        let mut at = 0;
        while let Some(state) = graph.states.get(at).copied() {
            state.steps(setting, &mut steps);
            for step in steps.drain(..) {
                let after = state.after(step, setting);
                let next = *numbers.entry(after).or_insert_with(|| {
                    graph.states.push(after);
                    graph.calm_from.push(Vec::new());
                    number(graph.states.len() - 1)
                });
                if step.is_calm(&state) {
                    graph.calm_from[next as usize].push(number(at));
                }
            }
            at += 1;
        }
        graph
    }

    /// From which states calm steps lead to one that is `wanted`.
    fn leads_to(&self, wanted: impl Fn(&State) -> bool) -> Vec<bool> {
        let mut leads: Vec<bool> = self.states.iter().map(wanted).collect();
        let mut next: Vec<u32> = (0..).zip(&leads).filter(|(_, leads)| **leads).map(|(at, _)| at).collect();
        while let Some(at) = next.pop() {
            for &from in &self.calm_from[at as usize] {
                if !std::mem::replace(&mut leads[from as usize], true) {
                    next.push(from);
                }
            }
        }
        leads
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("a graph of more than 2^32 states does not fit into memory")
}
