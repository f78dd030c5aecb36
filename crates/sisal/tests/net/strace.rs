//! A child whose system calls are written down by `strace`.

use crate::common::child::{is_child, run_by};
use crate::common::skip::skip;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the child asks of nobody but us, so as to mark a place in the list of its calls.
const MARK: &str = "chdir";

/// The system calls of a child, of all its threads, in the order in which they were begun.
pub(crate) struct Trace(Vec<Call>);

/// The name of a system call, and its arguments as far as they are known when it begins.
struct Call {
    name: String,
    arguments: String,
}

/// Runs `body` in a child, and writes down what it does with descriptors and the calls that wait for those; none where that can't be had.
#[track_caller]
pub(crate) fn trace<F: FnOnce()>(body: F) -> Option<Trace> {
    const CALLS: &str = "trace=/^(epoll_.*|p?poll|p?select6?|accept4?|read|readv|recv.*|write|writev|send.*|chdir)$";
    let strace = |to: &str| {
        let mut command = Command::new("strace");
        // Other calls are not stopped for.
        command.args(["-f", "-qq", "--seccomp-bpf", "-e", "signal=none", "-e", CALLS, "-o", to]);
        command
    };
    // The child comes by here, too, and is traced already.
    if !is_child() {
        let tried = strace("/dev/null").arg("true").stdin(Stdio::null()).stderr(Stdio::null()).status();
        match tried {
            Err(_) => return skip_for("no strace"),
            Ok(status) if !status.success() => return skip_for("system calls can't be traced"),
            Ok(_) => {}
        }
    }
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("sisal-net-test-{}-{number}", std::process::id()));
    let mut starter = strace(path.to_str().unwrap());
    // Of the address sanitizer, what looks for leaks wants to trace the process itself.
    let options = std::env::var("ASAN_OPTIONS").unwrap_or_default();
    starter.env("ASAN_OPTIONS", format!("{options}:detect_leaks=0"));
    run_by(starter, body).well();
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    Some(Trace(lines.lines().filter_map(Call::parse).collect()))
}

fn skip_for(reason: &str) -> Option<Trace> {
    skip(reason);
    None
}

/// Marks a place in what this child does.
pub(crate) fn mark(name: &str) {
    assert!(rustix::process::chdir(format!("/nowhere/{name}")).is_err());
}

impl Call {
    /// A line has the thread, the call with its arguments, and how it ended. One that was interrupted by the call of another thread has two lines, of
    /// which the second names it in brackets.
    fn parse(line: &str) -> Option<Call> {
        let (_thread, call) = line.split_once(' ')?;
        let (name, arguments) = call.trim_start().split_once('(')?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then(|| Call { name: name.to_owned(), arguments: arguments.to_owned() })
    }

    fn is_mark(&self, name: &str) -> bool {
        self.name == MARK && self.arguments.starts_with(&format!("\"/nowhere/{name}\""))
    }
}

impl Trace {
    /// What was begun between two marks.
    #[track_caller]
    pub(crate) fn between(&self, from: &str, to: &str) -> Part<'_> {
        let place = |name: &str| self.0.iter().position(|call| call.is_mark(name));
        let places = place(from).zip(place(to));
        let (from, to) = places.unwrap_or_else(|| panic!("no {from:?} or no {to:?} in {} calls", self.0.len()));
        Part(&self.0[from + 1..to])
    }
}

/// Some calls, one after the other.
pub(crate) struct Part<'a>(&'a [Call]);

impl Part<'_> {
    /// How many there are whose name begins so.
    pub(crate) fn calls(&self, name: &str) -> usize {
        self.0.iter().filter(|call| call.name.starts_with(name)).count()
    }

    /// How many there are of such a name whose first arguments are these.
    pub(crate) fn calls_with(&self, name: &str, arguments: &str) -> usize {
        let is_it = |call: &&Call| call.name.starts_with(name) && call.arguments.starts_with(arguments);
        self.0.iter().filter(is_it).count()
    }

    /// How often somebody asked an epoll for events.
    pub(crate) fn epoll_waits(&self) -> usize {
        self.calls("epoll_wait") + self.calls("epoll_pwait")
    }

    /// How often a descriptor was registered with an epoll, or its registration changed.
    pub(crate) fn registrations(&self, descriptor: &str) -> usize {
        let has = |call: &&Call, what: &str| call.arguments.contains(&format!(", {what}, {descriptor}, "));
        let is_one = |call: &&Call| has(call, "EPOLL_CTL_ADD") || has(call, "EPOLL_CTL_MOD");
        self.0.iter().filter(|call| call.name == "epoll_ctl").filter(is_one).count()
    }

    /// What a mark says that begins so.
    #[track_caller]
    pub(crate) fn said(&self, begin: &str) -> &str {
        let begin = format!("\"/nowhere/{begin}");
        let mut marks = self.0.iter().filter(|call| call.name == MARK);
        let said = marks.find_map(|call| call.arguments.strip_prefix(&begin)?.split('"').next());
        said.unwrap_or_else(|| panic!("no mark begins with {begin}"))
    }
}
