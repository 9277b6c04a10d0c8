//! Tables, JSON and colours.

mod record;
mod table;

use std::io::{IsTerminal as _, Write as _};

use idempotent_runtime::admin::Standing;
use serde_json::Value;

pub(crate) use record::{HEAD, counts, described, left, listed, result, row};
pub(crate) use table::{Table, printable};

/// Standard output, with or without colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    colours: bool,
    is_terminal: bool,
}

impl Out {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self { colours: may_colour(is_terminal), is_terminal }
    }

    /// Text in a colour that says how much it matters.
    pub(crate) fn paint(self, text: &str, paint: Paint) -> String {
        if !self.colours || paint == Paint::Plain {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", paint as u8)
    }

    /// A line.
    #[expect(clippy::unused_self, reason = "only who has it writes")]
    pub(crate) fn line(self, text: &str) -> std::io::Result<()> {
        writeln!(std::io::stdout().lock(), "{text}")
    }

    /// A line for a program.
    pub(crate) fn json(self, value: &Value) -> std::io::Result<()> {
        self.line(&value.to_string())
    }

    /// Text as it is, at once.
    #[expect(clippy::unused_self, reason = "only who has it writes")]
    pub(crate) fn text(self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    pub(crate) fn is_terminal(self) -> bool {
        self.is_terminal
    }
}

/// Colours of ANSI terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain = 0,
    Bold = 1,
    Bad = 31,
    Good = 32,
    Warning = 33,
    Running = 36,
}

impl From<Standing> for Paint {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::InProgress => Self::Running,
            Standing::Abandoned | Standing::Unreadable => Self::Bad,
            Standing::Failed => Self::Warning,
            Standing::Completed => Self::Good,
        }
    }
}

/// Whether colours may be used (<https://no-color.org>).
pub(crate) fn may_colour(is_terminal: bool) -> bool {
    is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
