//! Tests that need a process of their own: one that dies, one with another environment.
//!
//! The test binary runs itself again with the name of the test and a variable that says so; in the child the body runs in
//! place of the test. A test has one such body, which may run in several children one after the other.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

const VARIABLE: &str = "SISAL_TEST_CHILD";

/// Written to while a child begins. See [`none_begins`].
static BEGINS: RwLock<()> = RwLock::new(());

/// The signals that the tests know, by their Linux numbers.
pub(crate) const SIGABRT: i32 = 6;
pub(crate) const SIGSEGV: i32 = 11;

/// How a child ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Checks that it ended well.
    #[track_caller]
    pub(crate) fn well(self) -> Ended {
        assert!(self.status.success(), "{self:#?}");
        self
    }

    /// Checks that a signal ended it.
    #[track_caller]
    pub(crate) fn by_signal(self, signal: i32) -> Ended {
        assert_eq!(self.status.signal(), Some(signal), "{self:#?}");
        self
    }

    /// Checks that it ended with this code.
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Ended {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self
    }

    /// Checks that its standard error has this in it.
    #[track_caller]
    pub(crate) fn saying(self, text: &str) -> Ended {
        assert!(self.stderr.contains(text), "{text:?} was to be in: {self:#?}");
        self
    }

    /// Checks that its standard error has this nowhere.
    #[track_caller]
    pub(crate) fn not_saying(self, text: &str) -> Ended {
        assert!(!self.stderr.contains(text), "{text:?} was not to be in: {self:#?}");
        self
    }
}

/// No test of this process starts a child as long as this is there. Until a child has begun it has everything that is open here, so what is closed
/// meanwhile stays open: a listener goes on to listen. For the thread of a test, not for its fibers, which would wait for one another.
pub(crate) fn none_begins() -> RwLockReadGuard<'static, ()> {
    BEGINS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child; it has begun when this returns.
pub(crate) fn begin(command: &mut Command) -> Child {
    let _alone = BEGINS.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn().unwrap()
}

/// The name of the test that a closure stands in: `file::test::{{closure}}` without its ends.
pub(crate) fn test_of<F>() -> String {
    let name = std::any::type_name::<F>().trim_start_matches('&');
    let name = name.split("::{{closure}}").next().unwrap_or(name);
    name.split_once("::").map_or(name, |(_, name)| name).to_owned()
}

/// Runs `body` in a process of its own and returns how that ended. It ends well if the body returns.
#[track_caller]
pub(crate) fn run<F: FnOnce()>(body: F) -> Ended {
    run_with(|command| command, body)
}

/// The same, with variables in its environment.
#[track_caller]
pub(crate) fn run_in<F: FnOnce()>(environment: &[(&str, &str)], body: F) -> Ended {
    run_with(|command| command.envs(environment.iter().copied()), body)
}

/// The same, started by another program, whose next arguments are the program and what that is given.
#[track_caller]
pub(crate) fn run_by<F: FnOnce()>(mut starter: Command, body: F) -> Ended {
    starter.arg(std::env::current_exe().unwrap());
    run_command(starter, |command| command, body)
}

/// Whether this process is a child, of whatever test.
pub(crate) fn is_child() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

#[track_caller]
fn run_with<F: FnOnce()>(set_up: impl FnOnce(&mut Command) -> &mut Command, body: F) -> Ended {
    run_command(Command::new(std::env::current_exe().unwrap()), set_up, body)
}

#[track_caller]
fn run_command<F: FnOnce()>(mut command: Command, set_up: impl FnOnce(&mut Command) -> &mut Command, body: F) -> Ended {
    // What is said to the tests is said to the child as well; what is said to runtimes is not.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"SISAL_")) {
        if name != "SISAL_FEW_ROUNDS" {
            command.env_remove(name);
        }
    }
    set_up(&mut command);
    let test = test_of::<F>();
    if std::env::var_os(VARIABLE).is_some_and(|running| running == OsStr::new(&test)) {
        be_the_child(body);
    }
    be_the_parent(command, &test)
}

fn be_the_parent(mut command: Command, test: &str) -> Ended {
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(VARIABLE, test).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = begin(&mut command);
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || read(&mut stdout));
    let stderr = read(&mut child.stderr.take().unwrap());
    let stdout = reader.join().unwrap();
    assert!(!stdout.contains("running 0 tests"), "no test is called {test}");
    Ended { status: child.wait().unwrap(), stdout, stderr }
}

fn read(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn be_the_child<F: FnOnce()>(body: F) -> ! {
    let _watchdog = super::watchdog::Watchdog::over(&body, "child process");
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    // Children that die on purpose leave no core files about.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    body();
    std::process::exit(0);
}
