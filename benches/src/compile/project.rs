//! The crates on disk, in a workspace of their own below the target directory, and the cargo that builds them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::crates::{Revision, Shape, Variant, source};

pub(super) struct Project {
    folder: PathBuf,
    shape: Shape,
}

impl Project {
    /// Writes the crates, and builds what they depend on.
    pub(super) fn create(shape: Shape) -> anyhow::Result<Self> {
        let program = env::current_exe().context("this program's own file is not known")?;
        let profile = program.parent().context("this program is in no folder")?;
        // The second is there for the programs that tests run.
        let target = if profile.ends_with("deps") { profile.parent().and_then(Path::parent) } else { profile.parent() };
        let folder = target.context("this program is in no target directory")?.join("compile");
        let project = Self { folder, shape };
        project.write_manifests()?;
        for variant in Variant::ALL {
            project.write(variant, Revision::First)?;
        }
        for task in ["check", "build"] {
            project.run(project.cargo(task).arg("--workspace"))?;
        }
        Ok(project)
    }

    fn write_manifests(&self) -> anyhow::Result<()> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository is there")?;
        let members = Variant::ALL.map(|variant| format!("{:?}", variant.name())).join(", ");
        write(&self.folder.join("Cargo.toml"), &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"))?;
        // The versions that everything else here is built with.
        let lock = fs::read_to_string(repository.join("Cargo.lock")).context("the repository has no Cargo.lock")?;
        write(&self.folder.join("Cargo.lock"), &lock)?;
        for variant in Variant::ALL {
            write(&self.path(variant).join("Cargo.toml"), &manifest(variant, repository))?;
        }
        Ok(())
    }

    /// Writes the source of a crate.
    pub(super) fn write(&self, variant: Variant, revision: Revision) -> anyhow::Result<()> {
        write(&self.path(variant).join("src/main.rs"), &source(variant, self.shape, revision))
    }

    /// Removes what was built of a crate, and of it alone.
    pub(super) fn clean(&self, variant: Variant) -> anyhow::Result<()> {
        self.run(self.cargo("clean").args(["--package", variant.name()])).map(drop)
    }

    /// The seconds that a task of cargo takes on a crate.
    pub(super) fn time(&self, task: &str, variant: Variant) -> anyhow::Result<f64> {
        let mut cargo = self.cargo(task);
        cargo.args(["--package", variant.name()]);
        let started = Instant::now();
        self.run(&mut cargo)?;
        Ok(started.elapsed().as_secs_f64())
    }

    fn cargo(&self, task: &str) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args([task, "--quiet", "--offline"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("CARGO_INCREMENTAL", "1")
            .stdin(Stdio::null());
        cargo
    }

    fn run(&self, cargo: &mut Command) -> anyhow::Result<()> {
        let Output { status, stderr, .. } = cargo.output().context("cargo cannot be run")?;
        if !status.success() {
            bail!("cargo failed in {}: {}", self.folder.display(), String::from_utf8_lossy(&stderr).trim_end());
        }
        Ok(())
    }

    fn path(&self, variant: Variant) -> PathBuf {
        self.folder.join(variant.name())
    }
}

/// The same for all crates but for the name.
fn manifest(variant: Variant, repository: &Path) -> String {
    format!(
        "[package]
name = {name:?}
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
idempotent-runtime = {{ path = {runtime:?} }}
serde = {{ version = \"1\", features = [\"derive\"] }}
tokio = {{ version = \"1\", features = [\"rt\", \"macros\"] }}
tracing = {{ version = \"0.1\", features = [\"attributes\"] }}
",
        name = variant.name(),
        runtime = repository.join("idempotent-runtime").display().to_string(),
    )
}

/// Writes a file and its folder.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .with_context(|| format!("{} cannot be written", path.display()))
}
