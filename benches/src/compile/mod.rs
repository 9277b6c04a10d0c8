//! What annotated handlers add to the time of a build, beside what `#[tracing::instrument]` adds to the same handlers.
//!
//! Three crates are generated that differ in one line a handler: plain, annotated, instrumented. All else is the same in
//! all three, dependencies and their use included, and the dependencies are built before anything is measured. So what
//! is measured is what an attribute adds: its expansion, and what the compiler makes of what comes out.

mod crates;
mod project;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use self::crates::Revision;
pub(crate) use self::crates::{Shape, Variant};
use self::project::Project;
use crate::spread::Spread;

/// Two hundred, as the bar has it. Once those of one part of a business share a result type; and once each has its own,
/// which is then written and read in code of its own: the attribute's worst case.
const SHAPES: [Shape; 2] =
    [Shape { handlers: 200, handlers_of_a_type: 10 }, Shape { handlers: 200, handlers_of_a_type: 1 }];

const ROUNDS: usize = 3;

/// Seconds of every build that was measured, and what follows from them.
#[derive(Debug, Serialize)]
pub(crate) struct Compile {
    /// The crates.
    #[serde(flatten)]
    pub(crate) shape: Shape,
    /// By what was built.
    pub(crate) builds: BTreeMap<Build, Times>,
}

/// What is done to the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Build {
    /// `cargo check`, of which nothing is there.
    CleanCheck,
    /// `cargo check` after a change in the body of one handler.
    IncrementalCheck,
    /// `cargo build`, of which nothing is there.
    CleanDebug,
    /// `cargo build` after a change in the body of one handler.
    IncrementalDebug,
}

/// Seconds of one kind of build, of the three crates.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) plain: Spread,
    pub(crate) annotated: Spread,
    pub(crate) instrumented: Spread,
    /// Seconds over the plain crate.
    pub(crate) annotated_adds: f64,
    /// Seconds over the plain crate.
    pub(crate) instrumented_adds: f64,
    /// What the attribute adds over what `#[tracing::instrument]` adds.
    pub(crate) ratio: f64,
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CleanCheck => "check, clean",
            Self::IncrementalCheck => "check, incremental",
            Self::CleanDebug => "debug build, clean",
            Self::IncrementalDebug => "debug build, incremental",
        })
    }
}

/// Measures crates of every shape; if `quick`, small ones of one shape, once.
pub(crate) fn measure(quick: bool) -> anyhow::Result<Vec<Compile>> {
    if quick {
        return Ok(vec![shaped(Shape { handlers: 4, handlers_of_a_type: 2 }, 1)?]);
    }
    SHAPES.into_iter().map(|shape| shaped(shape, ROUNDS)).collect()
}

/// Builds the crates in turn, so that whatever else the machine does falls on all of them.
fn shaped(shape: Shape, rounds: usize) -> anyhow::Result<Compile> {
    let project = Project::create(shape)?;
    let mut seconds: BTreeMap<Build, BTreeMap<Variant, Vec<f64>>> = BTreeMap::new();
    for _ in 0..rounds {
        for variant in Variant::ALL {
            for (build, took) in one_of_each(&project, variant)? {
                seconds.entry(build).or_default().entry(variant).or_default().push(took);
            }
        }
    }
    let builds = seconds.into_iter().filter_map(|(build, seconds)| Some((build, Times::of(seconds)?))).collect();
    Ok(Compile { shape, builds })
}

fn one_of_each(project: &Project, variant: Variant) -> anyhow::Result<[(Build, f64); 4]> {
    project.write(variant, Revision::First)?;
    project.clean(variant)?;
    let clean = (project.time("check", variant)?, project.time("build", variant)?);
    project.write(variant, Revision::Second)?;
    let incremental = (project.time("check", variant)?, project.time("build", variant)?);
    Ok([
        (Build::CleanCheck, clean.0),
        (Build::CleanDebug, clean.1),
        (Build::IncrementalCheck, incremental.0),
        (Build::IncrementalDebug, incremental.1),
    ])
}

impl Times {
    /// `None` where a crate was not measured.
    fn of(mut seconds: BTreeMap<Variant, Vec<f64>>) -> Option<Self> {
        let mut spread = |variant| Spread::of(seconds.remove(&variant)?);
        let (plain, annotated, instrumented) =
            (spread(Variant::Plain)?, spread(Variant::Annotated)?, spread(Variant::Instrumented)?);
        let annotated_adds = annotated.median - plain.median;
        let instrumented_adds = instrumented.median - plain.median;
        Some(Self {
            plain,
            annotated,
            instrumented,
            annotated_adds,
            instrumented_adds,
            ratio: annotated_adds / instrumented_adds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_over_the_plain_crate() {
        let seconds = [
            (Variant::Plain, vec![1.0, 9.0, 1.0]),
            (Variant::Annotated, vec![1.75, 1.5, 1.25]),
            (Variant::Instrumented, vec![1.25, 1.25]),
        ];
        let times = Times::of(seconds.into()).expect("all three were measured");
        assert_eq!((times.annotated_adds, times.instrumented_adds, times.ratio), (0.5, 0.25, 2.0));
    }
}
