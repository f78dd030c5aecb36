//! Programs that run beside this binary: the Go contestants, and this binary's twin with mimalloc.
//!
//! Both are built when the first case asks for them, into the directory this binary is in, so that the
//! one command that starts a run needs no other before it. Where they cannot be built, the reason is
//! kept for every case that would have had them.

use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::progress;

/// Where the Go program's source is.
const GO_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go");
/// The Go program's file name.
const GO_PROGRAM: &str = "sisal-bench-go";
/// The program of `sisal-cli`.
const TOOL: (&str, &str) = ("sisal-cli", "sisal");
/// The twin's file name.
const TWIN: &str = "sisal-bench-mimalloc";

/// The companions' paths, each sought once.
#[derive(Debug)]
pub struct Companions {
    this: PathBuf,
    go: OnceCell<Result<PathBuf, String>>,
    twin: OnceCell<Result<PathBuf, String>>,
}

impl Companions {
    /// The companions of the running program.
    pub fn new() -> io::Result<Self> {
        let this = std::env::current_exe()?;
        Ok(Self { this, go: OnceCell::new(), twin: OnceCell::new() })
    }

    /// This program.
    pub fn this(&self) -> &Path {
        &self.this
    }

    /// The Go program, or why there is none.
    pub fn go(&self) -> Result<&Path, &str> {
        as_path(self.go.get_or_init(|| build_go(&self.this.with_file_name(GO_PROGRAM))))
    }

    /// This program with mimalloc, or why there is none.
    pub fn twin(&self) -> Result<&Path, &str> {
        let twin = || build_beside(&self.this.with_file_name(TWIN), env!("CARGO_PKG_NAME"), TWIN);
        as_path(self.twin.get_or_init(twin))
    }
}

fn as_path(found: &Result<PathBuf, String>) -> Result<&Path, &str> {
    found.as_deref().map_err(String::as_str)
}

/// Builds the Go program at `target`.
fn build_go(target: &Path) -> Result<PathBuf, String> {
    progress("building the Go program");
    let mut command = Command::new("go");
    // The source may lie in a repository without a commit, which the build must not ask about.
    command.args(["build", "-buildvcs=false", "-o"]).arg(target).arg(".").current_dir(GO_SOURCE);
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("go is not on the PATH".to_owned()),
        output => built("go build", target, output),
    }
}

/// The program `sisal`, or why there is none. A child asks for it: only those of few cases need it.
pub fn tool() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let (package, name) = TOOL;
    build_beside(&this.with_file_name(name), package, name)
}

/// Builds a program of this workspace at `target`, with the cargo that started this one; without one, takes
/// what is there.
fn build_beside(target: &Path, package: &str, name: &str) -> Result<PathBuf, String> {
    let Some(cargo) = std::env::var_os("CARGO") else {
        return match target.exists() {
            true => Ok(target.to_owned()),
            false => Err(format!("{name} is not beside this program, which cargo did not start")),
        };
    };
    let profile_directory = target.parent().ok_or("this program has no directory")?;
    let target_directory = profile_directory.parent().ok_or("this program has no target")?;
    let profile = match profile_directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => return Err("the build profile has no name".to_owned()),
    };
    progress(&format!("building {name}"));
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", package, "--bin", name])
        .args(["--profile", profile, "--target-dir"])
        .arg(target_directory)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    built("cargo build", target, command.output())
}

/// The verdict on a build that should have made `target`.
fn built(what: &str, target: &Path, output: io::Result<Output>) -> Result<PathBuf, String> {
    let output = output.map_err(|error| format!("{what}: {error}"))?;
    match output.status.success() {
        true if target.exists() => Ok(target.to_owned()),
        true => Err(format!("{what} made no {}", target.display())),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{what}: {}: {}", output.status, said.trim()))
        }
    }
}
