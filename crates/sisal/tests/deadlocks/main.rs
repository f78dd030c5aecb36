//! Deadlocks: found when they are there, with everything that explains them, and not when they are not.
//!
//! Every case is a program of its own: this one, started again with the name of the case, so that no thread of a test harness is about that
//! could still do something. The parent reads what it said and how it ended. Arguments that are no options choose the cases whose names contain
//! them.

mod choices;
mod expected;
mod forgotten;
mod found;
mod others;
mod outside;

use sisal::sync::{Barrier, Mutex};
use sisal::{Builder, JoinHandle, Runtime};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Says which case to be.
const CASE: &str = "SISAL_TEST_CASE";

/// What is said of a deadlock that may not be one, and in a dump.
const AWAITED: [&str; 2] = ["possible deadlock", "[parked: receiving"];

/// Waits until one of these was said: then the parent closes standard input.
fn until_reported() {
    let read = std::io::stdin().read(&mut [0]);
    assert_eq!(read.unwrap(), 0);
}

/// Longer than it takes for a runtime to be looked at, and for a possible deadlock to be reported: nothing may be claimed while a wait that
/// will end goes on for so long.
const A_WHILE: Duration = Duration::from_millis(1_500);

#[track_caller]
fn named<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name).spawn(f)
}

/// In a runtime of two workers, on the main thread.
#[track_caller]
fn run<T>(f: impl FnOnce() -> T) -> T {
    Runtime::builder().workers(2).max_workers(2).run(f).unwrap()
}

/// What two fibers do that lock crosswise: each has a lock, and waits for the other's.
fn crossed_locks() -> [impl FnOnce() + Send + 'static; 2] {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let both = Arc::new(Barrier::new(2));
    [0, 1].map(|number| {
        let (locks, both) = (Arc::clone(&locks), Arc::clone(&both));
        move || {
            let _own = locks[number].lock();
            both.wait();
            drop(locks[1 - number].lock());
        }
    })
}

/// How many cases are run at the same time. Most of them wait most of the time.
const AT_ONCE: usize = 8;

/// Longer than any case takes.
const LONG: Duration = Duration::from_secs(60);

/// One case.
struct Case {
    name: &'static str,
    /// What the child does.
    body: fn(),
    /// What is set in its environment.
    environment: &'static [(&'static str, &'static str)],
    /// Looks at what it did.
    check: fn(&Ended),
}

/// How a child ended, and what it said.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn main() -> ExitCode {
    let all = [found::CASES, forgotten::CASES, others::CASES, outside::CASES, choices::CASES];
    let cases: Vec<&Case> = all.into_iter().flatten().collect();
    if let Ok(name) = std::env::var(CASE) {
        let case = cases.iter().find(|case| case.name == name).expect("a case of this program");
        (case.body)();
        return ExitCode::SUCCESS;
    }
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let chosen = |case: &&Case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str()));
    let cases: Vec<&Case> = cases.into_iter().filter(chosen).collect();
    let next = AtomicUsize::new(0);
    let runner = || {
        let mine = std::iter::from_fn(|| cases.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.filter(|case| passes(case)).count()
    };
    let passed: usize = thread::scope(|scope| {
        let runners: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(runner)).collect();
        runners.into_iter().map(|runner| runner.join().unwrap()).sum()
    });
    let failed = cases.len() - passed;
    println!("\ntest result: {}. {passed} passed; {failed} failed", if failed == 0 { "ok" } else { "FAILED" });
    ExitCode::from(u8::from(failed > 0))
}

/// Runs a case and says how it went.
fn passes(case: &Case) -> bool {
    let ended = start(case);
    let result = std::panic::catch_unwind(|| (case.check)(&ended));
    let how = if result.is_ok() { "ok".to_owned() } else { format!("FAILED\n{}\n{}", ended.stdout, ended.stderr) };
    // In one piece: others speak, too.
    println!("test {} ... {how}", case.name);
    result.is_ok()
}

fn start(case: &Case) -> Ended {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(CASE, case.name)
        .envs(case.environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let mut stdin = child.stdin.take();
    let read = |stream: &mut dyn Read| {
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    };
    let pid = child.id() as i32;
    let (done, ended) = mpsc::channel();
    thread::scope(|scope| {
        let errors = scope.spawn(move || {
            let mut report = String::new();
            for line in BufReader::new(stderr).lines() {
                let line = line.unwrap();
                if AWAITED.iter().any(|awaited| line.contains(awaited)) {
                    // The child waits for this.
                    stdin.take();
                }
                report += &(line + "\n");
            }
            report
        });
        let said = scope.spawn(|| read(&mut stdout));
        // What hangs is killed, and fails: it has no exit code.
        scope.spawn(move || {
            if ended.recv_timeout(LONG).is_err() {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
        });
        let (stdout, stderr) = (said.join().unwrap(), errors.join().unwrap());
        let code = child.wait().unwrap().code();
        done.send(()).unwrap();
        Ended { code, stdout, stderr }
    })
}
