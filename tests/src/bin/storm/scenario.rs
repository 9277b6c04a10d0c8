//! What happens to the winner of a round, or to the server.

use std::fmt;

/// A kind of round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Nothing: one runs, and the others get its answer.
    Commits,
    /// The winner rolls back, and comes again.
    RollsBack,
    /// The winner's process is killed when it is about to commit.
    DiesBeforeCommit,
    /// The winner's process is killed when it has committed, before anybody is answered.
    DiesAfterCommit,
    /// The server has committed for the winner, and is killed before it has said so.
    ServerDies,
}

impl Scenario {
    pub(crate) const ALL: [Self; 5] =
        [Self::Commits, Self::RollsBack, Self::DiesBeforeCommit, Self::DiesAfterCommit, Self::ServerDies];

    /// What a worker is told to do with the first run.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Commits | Self::ServerDies => "commit",
            Self::RollsBack => "roll-back",
            Self::DiesBeforeCommit => "die-before",
            Self::DiesAfterCommit => "die-after",
        }
    }

    /// Whether a worker is to die in a round.
    pub(crate) fn kills_a_worker(self) -> bool {
        matches!(self, Self::DiesBeforeCommit | Self::DiesAfterCommit)
    }

    /// The run whose effect stands.
    pub(crate) fn standing_run(self) -> i64 {
        match self {
            Self::Commits | Self::DiesAfterCommit | Self::ServerDies => 1,
            Self::RollsBack | Self::DiesBeforeCommit => 2,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commits => "commits",
            Self::RollsBack => "rolls_back",
            Self::DiesBeforeCommit => "killed_before_commit",
            Self::DiesAfterCommit => "killed_after_commit",
            Self::ServerDies => "server_killed",
        })
    }
}
