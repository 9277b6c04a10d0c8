//! What a worker does with the first run.

use std::fmt;
use std::str::FromStr;

use anyhow::bail;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Commit,
    RollBack,
    /// It is killed half way through its writes.
    DieWithin,
    /// It is killed when only the commit is left to do.
    DieBefore,
    /// It is killed when the commit is done.
    DieAfter,
}

impl Role {
    const ALL: [Self; 5] = [Self::Commit, Self::RollBack, Self::DieWithin, Self::DieBefore, Self::DieAfter];

    pub(crate) fn dies(self) -> bool {
        matches!(self, Self::DieWithin | Self::DieBefore | Self::DieAfter)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::RollBack => "roll-back",
            Self::DieWithin => "die-within",
            Self::DieBefore => "die-before",
            Self::DieAfter => "die-after",
        })
    }
}

impl FromStr for Role {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|role| role.to_string() == word) {
            Some(role) => Ok(role),
            None => bail!("`{word}` is no role"),
        }
    }
}
