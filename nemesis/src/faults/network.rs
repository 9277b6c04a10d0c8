//! Small harm: connections that are cut, with what was asked on them carried out, and scripts that are forgotten.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use super::Tally;
use super::bag::Bag;
use crate::deployment::Deployment;

/// A claim that is no script.
const PLAIN: &str = "$3\r\nSET\r\n";

#[derive(Clone, Copy, Debug)]
enum Harm {
    /// What some of the next requests ask for is done, and their connection cut before the answer.
    LoseAnswers,
    /// All connections are cut.
    Cut,
    FlushScripts,
}

impl Harm {
    const ALL: [Self; 5] = [Self::LoseAnswers, Self::LoseAnswers, Self::LoseAnswers, Self::Cut, Self::FlushScripts];
}

pub(crate) struct Network<'a> {
    deployment: &'a Deployment,
    rng: StdRng,
    harms: Bag<Harm>,
    tally: Tally,
}

impl<'a> Network<'a> {
    pub(crate) fn new(deployment: &'a Deployment, seed: u64, tally: Tally) -> Self {
        Self { deployment, rng: StdRng::seed_from_u64(seed), harms: Bag::of(&Harm::ALL), tally }
    }

    pub(crate) fn harm(&mut self) {
        let at = self.rng.random_range(0..self.deployment.proxies().len());
        let (proxy, port) = (&self.deployment.proxies()[at], self.deployment.servers()[at].port());
        match self.harms.draw(&mut self.rng) {
            Harm::LoseAnswers => {
                let containing = [PLAIN, "EVALSHA"].choose(&mut self.rng).expect("there are two");
                self.tally.count("cut_after_request", format!("{port} {}", containing.escape_debug()));
                proxy.lose_answers_to(self.rng.random_range(1..=3), containing);
            }
            Harm::Cut => {
                self.tally.count("connections_cut", port);
                proxy.cut();
            }
            Harm::FlushScripts => {
                self.tally.count("scripts_flushed", port);
                // One that is dead or stands still has other worries.
                if let Some(server) = self.deployment.servers().get(at).filter(|server| server.pid().is_some()) {
                    _ = server.cli(&["SCRIPT", "FLUSH"]);
                }
            }
        }
    }
}
