//! An example as a child process.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// Longer than any answer takes. Unlike the watchdog, this ends the test so that its servers end too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary of an example.
pub(crate) fn example(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let path = DIRECTORY.get_or_init(build).join(name);
    assert!(path.exists(), "{} is not there: run `cargo build --examples`", path.display());
    path
}

/// Where the examples are. `cargo test` has built them, but `cargo test --tests` has not: so this does, if there is a cargo. It does not if
/// they are newer than what they are made of, since it would build all once more with other features.
fn build() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let profile = this.ancestors().nth(2).expect("the test is in target/PROFILE/deps");
    if let Some(cargo) = std::env::var_os("CARGO").filter(|_| !are_fresh(&profile.join("examples"))) {
        let name = match profile.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", "sisal", "--examples", "--profile", name, "--target-dir"]);
        command.arg(profile.parent().unwrap_or(Path::new("/"))).current_dir(env!("CARGO_MANIFEST_DIR"));
        // What it has to say is of interest only if there is no example afterwards.
        let _ = command.output();
    }
    profile.join("examples")
}

/// Whether all examples that the tests start are there, and newer than the sources of this crate and its neighbours.
fn are_fresh(built: &Path) -> bool {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is one of several");
    let newest =
        ["sisal/src", "sisal/examples", "sisal-context/src", "sisal-macros/src"].map(|part| newest(&crates.join(part)));
    let is_newer = |name: &str| {
        let made = built.join(name).metadata().and_then(|file| file.modified());
        made.is_ok_and(|made| newest.iter().all(|source| *source < made))
    };
    ["chat", "crawl", "echo", "http", "proxy"].into_iter().all(is_newer)
}

/// When the newest file in a folder was changed.
fn newest(folder: &Path) -> SystemTime {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap());
    let times = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => newest(&entry.path()),
        false => entry.metadata().unwrap().modified().unwrap(),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A server that listens. It is killed when this is dropped.
pub(crate) struct Server {
    process: Child,
    output: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Server {
    /// Starts it, and waits until it listens.
    #[track_caller]
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Server {
        let mut command = Command::new(example(name));
        let mut process = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("listening on ").trim_start_matches("http://").to_owned();
        assert!(address.contains(':'), "no address: {line:?}");
        Server { process, output, address }
    }

    /// Connects to it.
    pub(crate) fn connect(&self) -> TcpStream {
        connect(&self.address)
    }

    /// Sends it a signal to end.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits until it has ended, which must be well, and returns what it printed.
    #[track_caller]
    pub(crate) fn end(mut self) -> String {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, or it is to.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Connects, with a limit to all waits for an answer.
pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}
