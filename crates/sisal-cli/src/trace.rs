//! `sisal trace`: what the workers of another process do for a while, as a file for Perfetto.

use crate::remote::runtime::{Trouble, run, say};
use crate::remote::snapshot::complaint;
use crate::remote::{Answer, Failure, HOW_TO_SERVE, Remote, RemoteArguments, stdout};
use crate::wording::plain;
use clap::Args;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const PROGRAM: &str = "sisal trace";
const STDOUT: &str = "-";
/// What a process is ready to record.
const SHORTEST: f64 = 0.1;
const LONGEST: f64 = 60.0;
/// As many links as Linux follows.
const MOST_LINKS: usize = 40;
/// A mode for nobody else.
const PRIVATE: u32 = 0o600;

/// What was said on the command line.
#[derive(Args, Debug)]
#[command(
    about = "Record what a running program's workers do, for Perfetto",
    long_about = "Record for a while what the workers of a running program do: which fiber runs where, and who wakes whom. The file is one of \
Chrome's traces: open it at https://ui.perfetto.dev (it stays on your machine), or in chrome://tracing.",
    after_help = HOW_TO_SERVE
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: RemoteArguments,

    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// How long to record, from 0.1 to 60; 0 is what was recorded up to now, if the program does so all the time
    #[arg(short, long, value_name = "S", default_value = "1", value_parser = seconds)]
    seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds == 0.0 || (SHORTEST..=LONGEST).contains(&seconds) => Ok(seconds.abs()),
        _ => Err(format!("it is a number of seconds from {SHORTEST} to {LONGEST}, or 0")),
    }
}

/// The whole tool.
pub(crate) fn main(arguments: Arguments) -> ExitCode {
    run(PROGRAM, || {
        let remote = arguments.remote.remote().map_err(Trouble::Other)?;
        let (path, seconds) = (&arguments.output, arguments.seconds);
        if path.as_os_str() == STDOUT {
            return stdout::write_all(&record(&remote, seconds)?.body);
        }
        let fail = |error: io::Error| Trouble::Other(format!("{}: {}", path.display(), plain(&error)));
        let target = target(path).map_err(fail)?;
        let answer = record(&remote, seconds)?;
        sisal::blocking(|| save(&target, &answer.body)).map_err(fail)?;
        say(
            PROGRAM,
            format_args!("{} is written; open it at https://ui.perfetto.dev or in chrome://tracing", path.display()),
        );
        Ok(())
    })
}

/// Lets the process record, and looks whether what comes of it is a trace.
fn record(remote: &Remote, seconds: f64) -> Result<Answer, Failure> {
    #[derive(Deserialize)]
    struct Trace {
        #[serde(rename = "traceEvents")]
        _events: Vec<IgnoredAny>,
    }
    let answer = remote.get(&format!("/debug/trace?seconds={seconds}"), Duration::from_secs_f64(seconds))?;
    match serde_json::from_slice::<Trace>(&answer.body) {
        Ok(_) => Ok(answer),
        Err(error) if error.is_data() => Err(answer.unlike("the JSON is no trace")),
        Err(error) => Err(answer.unlike(complaint(&error))),
    }
}

/// Where to write. Looked at before there is anything, so that nobody waits a minute to hear that it can't be written.
fn target(path: &Path) -> io::Result<PathBuf> {
    // What a descriptor is open for may have no name to follow it by.
    if is_descriptor(path) || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(path.to_owned());
    }
    let target = followed(path)?;
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => Ok(target),
        _ => {
            access(folder(&target), Access::WRITE_OK | Access::EXEC_OK)?;
            Ok(target)
        }
    }
}

/// Whether this names what the process has open already, and not a file to be replaced.
fn is_descriptor(path: &Path) -> bool {
    let leads_there = |path: &Path| {
        fs::canonicalize(folder(path)).is_ok_and(|folder| folder.ends_with("fd") && folder.starts_with("/proc"))
    };
    leads_there(path) || fs::read_link(path).is_ok_and(|to| leads_there(&folder(path).join(to)))
}

/// What a link leads to, whether that is there or not: it is replaced, not the link.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            // No link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP.into())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes beside the file, and puts that in its place, with its mode, when it is whole. Devices and pipes are written to as they are.
fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_descriptor(path) || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return File::options().append(true).open(path)?.write_all(bytes);
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}.part", std::process::id()));
    let part = folder(path).join(name);
    let old = fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let mut options = File::options();
    options.write(true).create_new(true);
    if old.is_some() {
        // Until it has the mode of the one that it replaces.
        options.mode(PRIVATE);
    }
    let mut file = options.open(&part)?;
    let has_mode = old.map_or(Ok(()), |mode| file.set_permissions(mode));
    let saved = has_mode
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&part, path));
    if saved.is_err() {
        // What went wrong first is told.
        let _ = fs::remove_file(&part);
    }
    saved
}
