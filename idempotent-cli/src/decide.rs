//! Decisions: who makes them and why, and whether somebody agrees.

use std::io::{IsTerminal as _, Write as _};

use clap::Args;
use idempotent_runtime::admin::Decision;

use crate::exit::Failure;

#[derive(Clone, Debug, Args)]
pub(crate) struct Deciding {
    /// Who decides: in the audit line
    #[arg(long, env = "IDEMPOTENT_WHO", default_value_t = user())]
    who: String,
    /// Why: in the audit line, and in a record that is released. Needed for every change
    #[arg(long)]
    why: Option<String>,
    #[command(flatten)]
    agreed: Agreed,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Agreed {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Deciding {
    /// The decision, if it has a reason.
    pub(crate) fn decision(&self) -> Result<Decision<'_>, Failure> {
        match self.why.as_deref().map(str::trim) {
            Some(why) if !why.is_empty() => Ok(Decision { who: &self.who, why }),
            _ => Err(Failure::Usage("say why, for those who look later: --why \"…\"".to_owned())),
        }
    }

    /// Says what will be done, and asks. Where nobody can be asked, only `--yes` goes on.
    pub(crate) fn confirm(&self, what: &str) -> Result<(), Failure> {
        if self.agreed.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Err(Failure::Unchanged(format!("this would {what}; nobody can be asked here: say --yes")));
        }
        let mut ask = std::io::stderr().lock();
        write!(ask, "This will {what}. Go on? [y/N] ")?;
        ask.flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::Unchanged("nothing was changed".to_owned())),
        }
    }
}

/// The user's name, as far as the environment knows it.
fn user() -> String {
    let known = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    known.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}
