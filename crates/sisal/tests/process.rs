//! Child processes of fibers and threads.

mod common;

use common::waits::cause;
use common::watchdog::guarded;
use common::{
    LONG, background, child, fixed, in_background, in_main_fiber, linux, shut_down, until, watched, with_workers,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sisal::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use sisal::{Cause, is_cancelled, join_all, sleep, spawn, timeout};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SIGKILL: i32 = 9;

/// Calls `body` in fibers and on this plain thread.
fn everywhere(body: impl Fn() + Send + Sync) {
    in_main_fiber(1, &body);
    in_background(2, &body);
    guarded(&body);
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// One that does not end before it is killed. (A shell would leave the program it has started behind.)
fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("600").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// One that ends when it is told to, by the end of its input.
fn patient() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn exists(id: u32) -> bool {
    std::path::Path::new(&format!("/proc/{id}")).exists()
}

#[test]
fn a_child_is_started_and_waited_for() {
    everywhere(|| {
        assert!(Command::new("true").status().unwrap().success());
        assert_eq!(shell("exit 7").status().unwrap().code(), Some(7));
        assert_eq!(shell("kill -9 $$").status().unwrap().signal(), Some(SIGKILL));
        let mut child = shell("exit 3").spawn().unwrap();
        assert!(child.id() > 0);
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert_eq!(child.wait().unwrap().code(), Some(3), "as often as one likes");
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(3));
        child.kill().unwrap();
        assert_eq!(Command::new("/no/such/program").spawn().unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(Command::new("/no/such/program").output().unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn settings_of_a_command_reach_the_child() {
    everywhere(|| {
        let output = shell("pwd; echo $A-$B-$C; cat")
            .current_dir("/proc")
            .env("A", "1")
            .env_remove("B")
            .envs([("C", "3")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "/proc\n1--3\n", "and there is nothing to read");
        let output = Command::new("/usr/bin/env").env_clear().env("ONLY", "this").output().unwrap();
        assert_eq!(output.stdout, b"ONLY=this\n");
        let mut command = shell("echo out; echo err >&2; exit 1");
        for _ in 0..2 {
            let output = command.output().unwrap();
            assert_eq!(
                (output.stdout, output.stderr, output.status.code()),
                (b"out\n".into(), b"err\n".into(), Some(1))
            );
        }
        let output = command.stdout(Stdio::null()).output().unwrap();
        assert_eq!((output.stdout, output.stderr), (b"".into(), b"err\n".into()));
    });
}

#[test]
fn pipes_carry_what_is_written() {
    everywhere(|| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut answer = [0; 5];
        for _ in 0..10 {
            stdin.write_all(b"hello").unwrap();
            stdout.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"hello");
        }
        drop(stdin);
        assert_eq!(stdout.read(&mut answer).unwrap(), 0);
        assert!(child.wait().unwrap().success());
    });
}

/// More than a pipe holds, one end of which is read by another child.
#[test]
fn children_are_piped_into_each_other() {
    everywhere(|| {
        let mut first = shell("yes | head -c 1000000").stdout(Stdio::piped()).spawn().unwrap();
        let between = first.stdout.take().unwrap();
        let output = Command::new("wc").arg("-c").stdin(between).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "1000000");
        assert!(first.wait().unwrap().success());
    });
}

#[test]
fn both_outputs_are_read_however_they_come() {
    everywhere(|| {
        let script = "for i in 1 2 3 4 5; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; done";
        let output = shell(script).output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (500_000, 500_000));
        // The first to end is not the last to be read.
        let output = shell("exec 2>&-; head -c 100000 /dev/zero").output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (100_000, 0));
    });
}

#[test]
fn writing_to_a_child_that_does_not_read_waits_and_stalls_nobody() {
    guarded(|| {
        let runtime = background(1);
        runtime.run(|| {
            let mut child = shell("read line; cat >/dev/null").stdin(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let ran = Arc::new(AtomicBool::new(false));
            let other = spawn({
                let ran = Arc::clone(&ran);
                move || ran.store(true, Ordering::Relaxed)
            });
            stdin.write_all(&vec![b'x'; 1 << 20]).unwrap_or_else(|error| panic!("{error}"));
            stdin.write_all(b"\n").unwrap();
            drop(stdin);
            assert!(child.wait().unwrap().success());
            other.join().unwrap();
            assert!(ran.load(Ordering::Relaxed));
        });
        shut_down(runtime);
    });
}

#[test]
fn a_hundred_children_are_waited_for_at_once() {
    with_workers(|workers| {
        let runtime = background(workers);
        let fibers: Vec<_> = (0..100)
            .map(|code| runtime.spawn(move || shell(&format!("exit {code}")).status().unwrap().code()))
            .collect();
        for (code, fiber) in join_all(fibers).into_iter().enumerate() {
            assert_eq!(fiber.unwrap(), Some(i32::try_from(code).unwrap()));
        }
        shut_down(runtime);
    });
}

#[test]
fn a_wait_has_its_own_timeout() {
    everywhere(|| {
        let mut child = sleeper().spawn().unwrap();
        assert_eq!(child.wait_timeout(Duration::from_millis(2)).unwrap(), None);
        assert_eq!(child.wait_timeout(Duration::ZERO).unwrap(), None);
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        assert_eq!(child.wait_timeout(LONG).unwrap().unwrap().signal(), Some(SIGKILL));
    });
}

#[test]
fn a_wait_is_cancelled_and_the_child_goes_on() {
    everywhere(|| {
        let mut child = sleeper().spawn().unwrap();
        let error = timeout(Duration::from_millis(2), || child.wait()).unwrap_err();
        assert!(is_cancelled(&error), "{error}");
        assert_eq!(child.try_wait().unwrap(), None);
        let error = timeout(Duration::from_millis(2), || sleeper().stdout(Stdio::piped()).kill_on_drop(true).output())
            .unwrap_err();
        assert!(is_cancelled(&error), "{error}");
        child.kill().unwrap();
        child.wait().unwrap();
    });
}

#[test]
fn a_wait_ends_when_the_runtime_does() {
    guarded(|| {
        let runtime = background(1);
        let begun = Arc::new(AtomicBool::new(false));
        let waiting = runtime.spawn({
            let begun = Arc::clone(&begun);
            move || {
                let mut child = sleeper().kill_on_drop(true).spawn().unwrap();
                begun.store(true, Ordering::Relaxed);
                let error = child.wait().unwrap_err();
                assert!(is_cancelled(&error), "{error}");
                cause(sleep(LONG)) == Some(Cause::Shutdown)
            }
        });
        until(|| begun.load(Ordering::Relaxed));
        shut_down(runtime);
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn a_child_is_killed_on_drop_only_if_asked() {
    everywhere(|| {
        let spared = patient();
        let id = spared.id();
        let Child { ref stdin, .. } = spared;
        assert!(stdin.is_some());
        let killed = sleeper().kill_on_drop(true).spawn().unwrap();
        let killed_id = killed.id();
        drop(killed);
        assert!(exists(id));
        // It has no input any more, and so ends by itself. Both are collected when others come and go.
        drop(spared);
        until(|| {
            drop(Command::new("true").spawn().unwrap());
            !exists(id) && !exists(killed_id)
        });
    });
}

/// Lets this process have no more descriptors than it has, or as many as it may.
fn allow_descriptors(some: bool) {
    let limit = getrlimit(Resource::Nofile);
    let current = if some { limit.maximum } else { Some(0) };
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
}

#[test]
fn without_descriptors_a_child_is_waited_for_all_the_same() {
    let ended = child::run(|| {
        everywhere(|| {
            let mut child = sleeper().kill_on_drop(true).spawn().unwrap();
            allow_descriptors(false);
            assert_eq!(child.wait_timeout(Duration::from_millis(2)).unwrap(), None);
            let error = timeout(Duration::from_millis(2), || child.wait()).unwrap_err();
            assert!(is_cancelled(&error), "{error}");
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(SIGKILL));
            allow_descriptors(true);
        });
    });
    ended.well();
}

/// Also if a wait was begun when there were none.
#[test]
fn a_wait_uses_a_descriptor_when_there_is_one() {
    let ended = child::run(|| {
        let mut child = sleeper().kill_on_drop(true).spawn().unwrap();
        allow_descriptors(false);
        assert_eq!(child.wait_timeout(Duration::from_millis(1)).unwrap(), None);
        assert!(format!("{child:?}").contains("Unasked"), "{child:?}");
        allow_descriptors(true);
        assert_eq!(child.wait_timeout(Duration::from_millis(1)).unwrap(), None);
        assert!(format!("{child:?}").contains("Descriptor"), "{child:?}");
    });
    ended.well();
}

#[test]
fn without_descriptors_what_a_child_writes_is_not_lost() {
    let ended = child::run(|| {
        everywhere(|| {
            let script = "read line; head -c 100000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
            let mut command = shell(script);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            allow_descriptors(false);
            // It writes when its input ends, which is when it is waited for.
            assert!(child.stdin.is_some());
            let output = child.wait_with_output().unwrap();
            allow_descriptors(true);
            assert_eq!((output.stdout.len(), output.stderr.len()), (100_000, 200_000));
            assert_eq!(output.status.code(), Some(3));
            child = sleeper().stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
            allow_descriptors(false);
            let error = timeout(Duration::from_millis(2), || child.wait_with_output()).unwrap_err();
            allow_descriptors(true);
            assert!(is_cancelled(&error), "{error}");
        });
    });
    ended.well();
}

/// Whose end may be the child's, if that asks for it.
#[test]
fn a_child_is_started_by_the_thread_of_its_fiber() {
    guarded(|| {
        let runtime = watched(fixed(1).name("starter").build().unwrap());
        runtime.run(|| assert!(Command::new("true").status().unwrap().success()));
        assert_eq!(linux::threads_named("starter-block"), 0, "no other thread was asked");
        shut_down(runtime);
    });
}

#[test]
fn any_number_of_slices_is_taken() {
    everywhere(|| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let written = child.stdin.take().unwrap().write_vectored(&[IoSlice::new(b"x"); 2_000]).unwrap();
        let mut bytes = vec![0; 2_000];
        let mut slices: Vec<_> = bytes.chunks_mut(1).map(IoSliceMut::new).collect();
        let read = child.stdout.take().unwrap().read_vectored(&mut slices).unwrap();
        assert_eq!((written, read), (1_024, 1_024), "as many as the system takes at once");
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_command_tells_what_it_was_told() {
    let mut command = shell("true");
    command.env("ONE", "1").env_remove("TWO").current_dir("/");
    assert_eq!((command.get_program().to_str(), command.get_current_dir()), (Some("sh"), Some(Path::new("/"))));
    assert_eq!(command.get_args().collect::<Vec<_>>(), ["-c", "true"]);
    let variables: Vec<_> = command.get_envs().map(|(name, value)| (name.to_str(), value.is_some())).collect();
    assert_eq!(variables, [(Some("ONE"), true), (Some("TWO"), false)]);
}

#[test]
#[allow(unsafe_code, reason = "what runs between fork and exec")]
fn a_child_starts_as_the_extensions_of_std_say() {
    everywhere(|| {
        let own = std::fs::metadata("/proc/self").unwrap();
        let mut command = shell("echo $0 $(ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat) $$");
        command.arg0("another").uid(own.uid()).gid(own.gid()).process_group(0);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<_> = text.split_whitespace().collect();
        assert_eq!(words.len(), 3, "{text:?}");
        assert_eq!((words[0], words[1]), ("another", words[2]));
        let mut refused = shell("true");
        // SAFETY: it does nothing but say so.
        unsafe { refused.pre_exec(|| Err(ErrorKind::PermissionDenied.into())) };
        assert!(refused.status().is_err());
        assert_eq!(Command::new("/no such program").exec().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_child_is_waited_for_until_a_time() {
    everywhere(|| {
        let mut child = sleeper().spawn().unwrap();
        let deadline = Instant::now() + Duration::from_millis(2);
        assert_eq!(child.wait_deadline(deadline).unwrap(), None);
        assert!(Instant::now() >= deadline);
        child.kill().unwrap();
        assert_eq!(child.wait_deadline(Instant::now() + LONG).unwrap().unwrap().signal(), Some(SIGKILL));
    });
}

#[test]
fn the_pipes_of_a_child_are_taken_over_and_given_away() {
    everywhere(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        let (mut stdin, mut stdout) =
            (ChildStdin::from(OwnedFd::from(writer)), ChildStdout::from(OwnedFd::from(reader)));
        let mut bytes = [0; 4];
        // It waits as a fiber does, and blocks nobody.
        assert!(timeout(Duration::from_millis(2), || stdout.read(&mut bytes)).is_err_and(|error| is_cancelled(&error)));
        stdin.write_all(b"text").unwrap();
        stdout.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"text");
        let number = stdin.as_raw_fd();
        assert_eq!(stdin.into_raw_fd(), number);
        rustix::io::write(ChildStderr::from(taken(number)), b"more").unwrap();
        let mut more = String::new();
        stdout.read_to_string(&mut more).unwrap();
        assert_eq!(more, "more");
    });
}

#[allow(unsafe_code, reason = "a number is taken over as a descriptor")]
fn taken(number: RawFd) -> OwnedFd {
    // SAFETY: it was given away.
    unsafe { OwnedFd::from_raw_fd(number) }
}
