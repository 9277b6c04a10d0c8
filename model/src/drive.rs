//! Holds a real store against the table: the same moves, and the same answers.
//!
//! For every record that the table can come to and every move from it, the store is brought to that record under a key
//! of its own, is asked the same, and must answer the same. What stands there afterwards is seen by a tail of further
//! moves, chosen at random from a seed, whose answers must be the same too. Long walks besides find what a store
//! remembers and the table does not.
//!
//! Time passes by tokio's clock. For a store inside the process pause it; for one on a server it is real, and many keys
//! are gone through at once. Where the machine stood still for so long that nobody can say what should have lapsed, the
//! moves are made once more under another key.

use std::fmt;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use idempotent_runtime::store::Store;
use idempotent_runtime::{Key, StoreError};
use tokio::time::Instant;

use crate::operation::Answer;
use crate::reach::{Cast, Move, Time};
use crate::real::Real;
use crate::record::Record;

/// How a store is driven.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The calls.
    pub cast: Cast,
    /// The lease of every claim. Long against what an answer takes.
    pub lease: Duration,
    /// How many moves are made after each move that is looked at.
    pub tail: usize,
    /// Look at one in so many: 1 for all.
    pub every: usize,
    /// How many walks are taken besides, each from nothing.
    pub walks: usize,
    /// How many moves a walk has.
    pub steps: usize,
    /// How many keys are gone through at once.
    pub at_once: usize,
    /// Where chance begins.
    pub seed: u64,
    /// What keys begin with; no key may be there already.
    pub prefix: &'static str,
}

/// What was gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// How many records the table can come to.
    pub records: usize,
    /// How many moves from them were looked at, and walks taken.
    pub moves: usize,
    /// How many answers were compared.
    pub answers: usize,
    /// How many of those moves and walks were given up: the machine was too slow for them, each time.
    pub too_slow: usize,
}

/// How often moves are made at the most, where the machine is too slow.
const TRIES: usize = 5;

/// Where the store and the table differ.
#[derive(Debug)]
pub enum Difference {
    /// The store answered otherwise.
    Answer {
        /// All moves, with the record before each, by the table.
        moves: Vec<(Record, Move)>,
        /// What the table answers to the last.
        expected: Answer,
        /// What the store answered.
        answered: Answer,
    },
    /// The store did not answer.
    Error(Move, StoreError),
}

/// Drives `store` as planned; the first difference ends it.
pub async fn drive(store: &dyn Store, plan: &Plan) -> Result<Driven, Difference> {
    let reached = plan.cast.reachable();
    let pairs = reached.iter().flat_map(|from| {
        let two_leases = Move::Pass(Time::TwoLeases);
        let waits = matches!(from.record, Record::Failed { .. }).then_some(two_leases);
        plan.cast.moves(from.record).into_iter().chain(waits).map(move |the_move| (from, the_move))
    });
    let chosen = pairs.enumerate().filter(|(at, _)| at % plan.every == 0);
    let looks = chosen.map(|(at, (from, the_move))| {
        let moves: Vec<Move> = from.path.iter().copied().chain([the_move]).collect();
        let steps = moves.len() + plan.tail;
        (at, moves, steps)
    });
    let walks = (0..plan.walks).map(|walk| (usize::MAX - walk, Vec::new(), plan.steps));
    let runs = looks.chain(walks).map(|(at, moves, steps)| try_run(store, plan, at, moves, steps));
    let mut runs = stream::iter(runs).buffer_unordered(plan.at_once);
    let mut driven = Driven { records: reached.len(), ..Driven::default() };
    while let Some(ended) = runs.next().await {
        driven.moves += 1;
        match ended? {
            Ended::Compared(answers) => driven.answers += answers,
            Ended::TooSlow => driven.too_slow += 1,
        }
    }
    Ok(driven)
}

/// How a run has ended, if not with a difference.
enum Ended {
    /// So many answers were compared.
    Compared(usize),
    /// More time has passed than the moves say.
    TooSlow,
}

async fn try_run(
    store: &dyn Store,
    plan: &Plan,
    at: usize,
    moves: Vec<Move>,
    steps: usize,
) -> Result<Ended, Difference> {
    for again in 0..TRIES {
        let key = Key::from_text(&format!("{}:{at}:{again}", plan.prefix));
        match run(store, plan, at, &key, &moves, steps).await? {
            Ended::TooSlow => {}
            compared @ Ended::Compared(_) => return Ok(compared),
        }
    }
    Ok(Ended::TooSlow)
}

/// Makes the moves under a fresh key, and then others until there are `steps`.
async fn run(
    store: &dyn Store,
    plan: &Plan,
    at: usize,
    key: &Key,
    moves: &[Move],
    steps: usize,
) -> Result<Ended, Difference> {
    let cast = &plan.cast;
    let (started, mut passed) = (Instant::now(), Duration::ZERO);
    // Of a lease of which six tenths have passed, four are left.
    let is_slow = |passed| started.elapsed().saturating_sub(passed) > plan.lease * 3 / 10;
    let real = Real { store, key, lease: plan.lease, fingerprints: cast.table.fingerprints };
    let mut chance = Chance(plan.seed ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut record = Record::Absent;
    let mut made = Vec::new();
    let mut answers = 0;
    for step in 0..steps {
        let the_move = moves.get(step).copied().unwrap_or_else(|| chance.one_of(&cast.moves(record)));
        made.push((record, the_move));
        match the_move {
            Move::Pass(time) => passed += real.pass(record, time).await,
            Move::Ask(who, operation) => {
                let (expected, _) = cast.table.step(record, who, operation);
                let answered = real.ask(who, operation).await.map_err(|error| Difference::Error(the_move, error))?;
                if is_slow(passed) {
                    return Ok(Ended::TooSlow);
                }
                if answered != expected {
                    return Err(Difference::Answer { moves: made, expected, answered });
                }
                answers += 1;
            }
        }
        // What goes beyond the attempts of the cast has been looked at, and goes no further.
        let Some(after) = cast.after(record, the_move) else { break };
        record = after;
    }
    Ok(Ended::Compared(answers))
}

/// A small generator: the same seed, the same moves.
struct Chance(u64);

impl Chance {
    fn one_of(&mut self, moves: &[Move]) -> Move {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let at = usize::try_from(mixed % moves.len() as u64).unwrap_or_default();
        moves[at]
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(the_move, error) => write!(f, "no answer to {the_move:?}: {error}"),
            Self::Answer { moves, expected, answered } => {
                writeln!(f, "the table answers {expected:?}, the store {answered:?}, after")?;
                for (at, (record, the_move)) in moves.iter().enumerate() {
                    writeln!(f, "      {record:?}\n{:>4}. {the_move:?}", at + 1)?;
                }
                Ok(())
            }
        }
    }
}
