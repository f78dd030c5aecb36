//! Running programs: with input, in a directory of their own, and not for ever.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a program may take. One that hangs is to be told from one on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The program under test.
pub(crate) const SISAL: &str = env!("CARGO_BIN_EXE_sisal");

/// A directory that is removed in the end.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Directory {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("sisal-cli-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of all that is in there.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `sisal gz` in this directory.
    pub(crate) fn gz(&self, arguments: &[&str]) -> Program {
        self.program(SISAL, &[&["gz"], arguments].concat())
    }

    /// `sisal` with these words, in this directory. No variable says how it is to look, or whom to ask.
    pub(crate) fn sisal(&self, arguments: &[&str]) -> Program {
        let mut program = self.program(SISAL, arguments);
        program.command.env("XDG_RUNTIME_DIR", self.path("run")).env_remove("SISAL_SERVE_TOKEN").env_remove("NO_COLOR");
        program
    }

    /// Any program in this directory.
    pub(crate) fn program(&self, name: impl AsRef<OsStr>, arguments: &[&str]) -> Program {
        let mut command = Command::new(name);
        // Whatever this process listens to, the program has no terminal.
        command.args(arguments).current_dir(&self.0).env("LC_ALL", "C").env("TZ", "UTC").env_remove("GZIP");
        Program { command, input: Vec::new(), input_ends: true, errors: Stdio::piped() }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that is to be run.
pub(crate) struct Program {
    command: Command,
    input: Vec<u8>,
    input_ends: bool,
    errors: Stdio,
}

/// How it went.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Program {
    /// What it finds on standard input.
    pub(crate) fn input(mut self, bytes: &[u8]) -> Program {
        self.input = bytes.to_vec();
        self
    }

    /// One more argument, which may be no text.
    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.command.arg(argument);
        self
    }

    /// A variable of its environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Program {
        self.command.env(name, value);
        self
    }

    /// There may always come more on standard input, but nothing does.
    pub(crate) fn input_stays_open(mut self) -> Program {
        self.input_ends = false;
        self
    }

    /// Its standard error is this.
    pub(crate) fn errors_to(mut self, errors: impl Into<Stdio>) -> Program {
        self.errors = errors.into();
        self
    }

    /// Its standard output is this file.
    pub(crate) fn output_to(mut self, path: &str) -> Ran {
        self.command.stdout(fs::OpenOptions::new().write(true).open(path).unwrap());
        self.start_as_is().wait()
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ran {
        self.start().wait()
    }

    /// Runs it, and expects that it ends well and silently. Returns what it wrote.
    #[track_caller]
    pub(crate) fn output(self) -> Vec<u8> {
        let what = format!("{:?}", self.command);
        let ran = self.run();
        assert!(
            ran.code == Some(0) && ran.stderr.is_empty(),
            "{what}: {:?}, {:?}: {}",
            ran.code,
            ran.signal,
            ran.stderr
        );
        ran.stdout
    }

    pub(crate) fn start(mut self) -> Running {
        self.command.stdout(Stdio::piped());
        self.start_as_is()
    }

    /// Starts it with its standard output in the hands of the caller, and its standard input too, unless that is something else.
    pub(crate) fn pipe(mut self, input: Stdio) -> Child {
        self.command.stdin(input).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn start_as_is(mut self) -> Running {
        let mut child = self.command.stdin(Stdio::piped()).stderr(self.errors).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        let feeder = thread::spawn(move || {
            // A program that does not read it all has its reasons.
            let _ = stdin.write_all(&input);
            stdin
        });
        Running { child, feeder, input_ends: self.input_ends }
    }
}

/// A program that is running.
pub(crate) struct Running {
    child: Child,
    /// Returns what it has written to.
    feeder: thread::JoinHandle<ChildStdin>,
    input_ends: bool,
}

impl Running {
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub(crate) fn send(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(self) -> Ran {
        let watchdog = Watchdog::over(self.pid());
        let mut held = Some(self.feeder);
        if self.input_ends {
            drop(held.take().map(|feeder| thread::spawn(move || feeder.join())));
        }
        let output = self.child.wait_with_output().unwrap();
        drop(watchdog);
        if let Some(feeder) = held {
            drop(feeder.join().unwrap());
        }
        Ran {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Kills a program that takes too long.
pub(crate) struct Watchdog {
    ended: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watchdog {
    /// Watches until it is dropped.
    pub(crate) fn over(pid: rustix::process::Pid) -> Watchdog {
        let (ended, end) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                eprintln!("a program takes longer than {LIMIT:?}, and is killed");
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        Watchdog { ended: Some(ended), thread: Some(thread) }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.ended.take());
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

/// Whether there is a program of that name; if not, says that a test is skipped.
pub(crate) fn have(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|path| path.join(name).is_file());
    if !found {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Says that something is not tested, also in the file that `SISAL_SKIPS` names.
pub(crate) fn skip(reason: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("SKIPPED (a part of) {test}: {reason}");
    if let Some(path) = std::env::var_os("SISAL_SKIPS") {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        // One write to a file that is appended to: the tests run side by side.
        file.write_all(format!("sisal-cli {test}: {reason}\n").as_bytes()).unwrap();
    }
}
