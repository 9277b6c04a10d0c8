//! What happens to the winner of a round, or to the server.

use std::fmt;

use crate::role::Role;

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
    /// The winner's process is killed half way through its writes. Where there is no server, it dies with the file's write
    /// lock, and with some of what it wrote in the file's log.
    DiesInTransaction,
}

impl Scenario {
    /// What a worker is told to do with the first run.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Commits | Self::ServerDies => Role::Commit,
            Self::RollsBack => Role::RollBack,
            Self::DiesBeforeCommit => Role::DieBefore,
            Self::DiesAfterCommit => Role::DieAfter,
            Self::DiesInTransaction => Role::DieWithin,
        }
    }

    /// The run whose effect stands.
    pub(crate) fn standing_run(self) -> i64 {
        match self {
            Self::Commits | Self::DiesAfterCommit | Self::ServerDies => 1,
            Self::RollsBack | Self::DiesBeforeCommit | Self::DiesInTransaction => 2,
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
            Self::DiesInTransaction => "killed_in_transaction",
        })
    }
}
