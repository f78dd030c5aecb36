//! After `fork` without `exec` no call that waits or spawns can work in the child: each aborts with a message that says so.
#![allow(unsafe_code, reason = "fork, waitpid and _exit are C functions")]

mod common;

use common::child::{self, SIGABRT};
use common::{LONG, background, fixed, until};
use sisal::{Handle, JoinHandle, Runtime, join_any, sleep, spawn, spawn_local, yield_now};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

const MESSAGE: &str = "sisal: called in the child of a fork() without exec()";

/// How a forked child ended.
#[derive(Debug, PartialEq)]
enum Fate {
    Exited(i32),
    Killed(i32),
}

/// Forks, calls `in_child` in the child, and waits for its end. A child that comes back from the call exits with 0.
fn fork(in_child: impl FnOnce()) -> Fate {
    // SAFETY: the child calls what is tested, and leaves without running anything of the parent's.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        in_child();
        // SAFETY: leaves at once.
        unsafe { libc::_exit(0) };
    }
    fate_of(child)
}

/// Waits for the end of a child.
fn fate_of(child: i32) -> Fate {
    let mut status = 0;
    // SAFETY: our own child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSIGNALED(status) {
        Fate::Killed(libc::WTERMSIG(status))
    } else {
        Fate::Exited(libc::WEXITSTATUS(status))
    }
}

#[cfg(feature = "metrics")]
#[test]
fn a_reporter_dropped_in_a_child_waits_for_no_thread() {
    let ended = child::run(|| {
        let runtime = background(1);
        let reporter = sisal::inspect::report_metrics(runtime.handle(), LONG).unwrap();
        let mut reporter = Some(reporter);
        assert_eq!(fork(|| drop(reporter.take())), Fate::Exited(0));
        drop(reporter);
    });
    ended.well();
}

#[test]
fn what_a_child_drops_is_still_heard_of_in_the_parent() {
    let ended = child::run(|| {
        let runtime = background(1);
        let (tell, told) = mpsc::channel();
        let accepted = runtime.spawn(move || {
            let listener = sisal::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            // Registered when somebody waits for it.
            assert!(listener.accept_timeout(Duration::from_millis(3)).is_err());
            let mut listener = Some(listener);
            assert_eq!(fork(|| drop(listener.take())), Fate::Exited(0));
            tell.send(address).unwrap();
            listener.unwrap().accept().is_ok()
        });
        let address = told.recv().unwrap();
        until(|| runtime.dump().counts.parked == 1);
        let _client = std::net::TcpStream::connect(address).unwrap();
        assert!(accepted.join().unwrap());
        common::shut_down(runtime);
    });
    ended.well();
}

#[test]
fn every_call_in_a_child_forked_from_a_plain_thread_aborts_with_the_message() {
    const CALLS: usize = 15;
    let ended = child::run(|| {
        for call in 0..CALLS {
            let runtime = background(2);
            let (open, opened) = mpsc::channel::<()>();
            let waiting: JoinHandle<()> = runtime.spawn(move || opened.recv().unwrap());
            let handle = runtime.handle().clone();
            let (sender, receiver) = sisal::chan::bounded::<()>(1);
            let lock = Arc::new(sisal::sync::Mutex::new(()));
            let held = {
                let (lock, receiver) = (Arc::clone(&lock), receiver.clone());
                let (tell, told) = mpsc::channel();
                let holder = runtime.spawn(move || {
                    let _guard = lock.lock();
                    tell.send(()).unwrap();
                    receiver.recv().unwrap_err();
                });
                told.recv().unwrap();
                holder
            };
            let listener = sisal::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let fate = fork(|| match call {
                0 => drop(handle.spawn(|| ())),
                1 => drop(handle.try_spawn(|| ())),
                2 => drop(handle.spawn_on(0, || ())),
                3 => drop(waiting.wait()),
                4 => drop(join_any(&mut vec![waiting])),
                5 => yield_now(),
                6 => drop(sleep(Duration::from_millis(1))),
                7 => drop(sisal::sleep_until(Instant::now() + Duration::from_millis(1))),
                8 => drop(Runtime::new()),
                9 => drop(fixed(1).run(|| ())),
                10 => drop(receiver.recv()),
                11 => drop(lock.lock()),
                12 => drop(listener.accept()),
                13 => drop(sisal::select! { recv(receiver) -> received => received.is_ok(), default(LONG) => false }),
                _ => runtime.run(|| ()),
            });
            assert_eq!(fate, Fate::Killed(SIGABRT), "call {call}");
            drop(open);
            drop(sender);
            held.join().unwrap();
        }
    });
    let ended = ended.well();
    assert_eq!(ended.stderr.matches(MESSAGE).count(), CALLS, "{ended:#?}");
}

#[test]
fn every_call_in_a_child_forked_from_a_fiber_aborts_with_the_message() {
    const CALLS: usize = 7;
    let ended = child::run(|| {
        for call in 0..CALLS {
            let fate = fixed(2).run(|| {
                let other = spawn_local(|| sleep(LONG));
                let handle = Handle::current().unwrap();
                fork(|| match call {
                    0 => drop(spawn(|| ())),
                    1 => drop(spawn_local(|| ())),
                    2 => yield_now(),
                    3 => drop(sleep(Duration::from_millis(1))),
                    4 => drop(other.wait()),
                    5 => drop(handle.spawn(|| ())),
                    _ => drop(Runtime::new()),
                })
            });
            assert_eq!(fate.unwrap(), Fate::Killed(SIGABRT), "call {call}");
        }
    });
    let ended = ended.well();
    assert_eq!(ended.stderr.matches(MESSAGE).count(), CALLS, "{ended:#?}");
}

/// Calls the runtime when it is dropped.
struct CallsLate;

impl Drop for CallsLate {
    fn drop(&mut self) {
        yield_now();
    }
}

#[test]
fn calls_after_a_fork_in_a_panic_hook_abort_with_the_message_too() {
    static FATE: OnceLock<Fate> = OnceLock::new();
    let ended = child::run(|| {
        std::panic::set_hook(Box::new(|_| {
            // SAFETY: the child goes on with the panic, up to its next call into the runtime.
            let child = unsafe { libc::fork() };
            if child != 0 {
                FATE.set(fate_of(child)).unwrap();
            }
        }));
        let panicked = fixed(2).run(|| {
            spawn_local(|| {
                let _late = CallsLate;
                panic!("on purpose");
            })
            .join()
        });
        panicked.unwrap().unwrap_err();
        assert_eq!(FATE.get(), Some(&Fate::Killed(SIGABRT)));
    });
    assert!(ended.well().stderr.contains(MESSAGE));
}

#[test]
fn a_runtime_dropped_in_a_forked_child_aborts_with_the_message() {
    let ended = child::run(|| {
        let runtime = background(2);
        assert_eq!(fork(|| drop(runtime)), Fate::Killed(SIGABRT));
    });
    ended.well().saying(MESSAGE);
}

#[test]
fn the_parent_of_a_fork_goes_on() {
    let ended = child::run(|| {
        let sum = fixed(2).run(|| {
            let handles: Vec<_> = (0..100u64).map(|i| spawn(move || i)).collect();
            assert_eq!(fork(|| ()), Fate::Exited(0));
            handles.into_iter().map(|handle| handle.join().unwrap()).sum::<u64>()
        });
        assert_eq!(sum.unwrap(), 4950);
    });
    ended.well().not_saying("sisal");
}

#[test]
fn a_child_forked_before_the_first_use_may_use_sisal() {
    let ended = child::run(|| {
        let fate = fork(|| {
            let seven = fixed(2).run(|| spawn(|| 7).join().unwrap());
            // SAFETY: leaves at once.
            unsafe { libc::_exit(seven.unwrap()) };
        });
        assert_eq!(fate, Fate::Exited(7));
    });
    ended.well();
}

#[test]
fn programs_started_from_fibers_run() {
    common::in_fiber_of_each(|| {
        let fibers = (0..4).map(|_| spawn(|| std::process::Command::new("true").status().unwrap().success()));
        assert!(sisal::join_all(fibers).into_iter().all(Result::unwrap));
    });
}

#[test]
fn a_fork_while_all_workers_are_busy_disturbs_nobody() {
    let ended = child::run(|| {
        let runtime = background(4);
        let spinners: Vec<_> = (0..20).map(|_| runtime.spawn(|| (0..2_000).for_each(|_| yield_now()))).collect();
        for _ in 0..20 {
            assert_eq!(fork(|| ()), Fate::Exited(0));
        }
        spinners.into_iter().for_each(|spinner| spinner.join().unwrap());
        until(|| runtime.handle().stats().finished == 20);
        common::shut_down(runtime);
    });
    ended.well();
}

#[cfg(feature = "tokio")]
#[test]
fn without_a_runtime_the_parent_hears_what_its_child_has_dropped_and_the_child_is_told() {
    use std::future::Future;
    use tokio::io::AsyncReadExt;
    let ended = child::run(|| {
        let (stream, mut peer) = sisal::net::UnixStream::pair().unwrap();
        let stream = Arc::new(stream);
        let (tell, told) = mpsc::channel();
        let reader = Arc::clone(&stream);
        let read = std::thread::spawn(move || {
            let (mut reader, mut buffer) = (&*reader, [0; 8]);
            let mut reading = std::pin::pin!(reader.read(&mut buffer));
            sisal::block_on(std::future::poll_fn(|context| {
                let polled = reading.as_mut().poll(context);
                // Now it is registered with the thread that hears for tasks.
                let _ = tell.send(());
                polled
            }))
        });
        told.recv().unwrap();
        // The child's copy goes for good, whoever else has it.
        // SAFETY: the child ends without touching it again.
        assert_eq!(fork(|| unsafe { std::ptr::drop_in_place(Arc::as_ptr(&stream).cast_mut()) }), Fate::Exited(0));
        std::io::Write::write_all(&mut peer, b"hello").unwrap();
        assert_eq!(read.join().unwrap().unwrap(), 5);
        let waits = || _ = sisal::block_on(sisal::chan::after(Duration::from_millis(1)).recv_async());
        assert_eq!(fork(waits), Fate::Killed(SIGABRT));
    });
    ended.well().saying(MESSAGE);
}
