//! Programs that may be missing.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the file that `.ci/run` counts the skips by, a line for each.
const SKIPS: &str = "SISAL_SKIPS";

/// Where servers are, and where only root looks by itself.
const MORE_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
/// Where Debian has a folder for each version of PostgreSQL, with its programs in `bin`.
const POSTGRESQL: &str = "/usr/lib/postgresql";

/// A program that is there.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

impl Program {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A call of it, still without arguments.
    pub fn command(&self) -> Command {
        Command::new(&self.0)
    }
}

/// Finds a program. Without it the test can't be: that is said, and counted.
pub fn program(name: &str) -> Option<Program> {
    let found = folders().map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("no {name}"));
    }
    found.map(Program)
}

/// Finds the folder that a variable in the environment names. Without it the test can't be: that is said, and counted.
pub fn folder_of(variable: &str, what: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_dir());
    if found.is_none() {
        skip(&format!("no {what}: {variable} names no folder"));
    }
    found
}

/// Says that a test is skipped, past the test harness, which would show it only for tests that fail.
fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {reason} ({test})\n");
    std::io::stderr().lock().write_all(line.as_bytes()).unwrap();
    if let Some(path) = std::env::var_os(SKIPS) {
        // One write to a file that is appended to: the tests run side by side.
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
    }
}

fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = Path::new(POSTGRESQL).read_dir().into_iter().flatten().flatten();
    let in_path: Vec<_> = std::env::split_paths(&path).collect();
    in_path.into_iter().chain(MORE_FOLDERS.map(PathBuf::from)).chain(versions.map(|entry| entry.path().join("bin")))
}
