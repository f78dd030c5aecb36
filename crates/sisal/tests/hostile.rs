//! A hostile system: signals in every wait, no address space for stacks, no threads to be had, odd moments to call.
#![allow(unsafe_code, reason = "signals are sent and handled")]

mod common;

use common::gate::Gate;
use common::{LONG, background, child, fixed, linux, rounds, until};
use sisal::{BuildError, Handle, Runtime, join_all, sleep, spawn, spawn_local, yield_now};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count_signal(_signal: i32) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Sends a signal to every thread of this process but this one, again and again, until it is dropped. System calls that it
/// interrupts are not taken up again by the kernel.
struct Storm {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Storm {
    fn start() -> Storm {
        let handler = count_signal as extern "C" fn(i32);
        // SAFETY: an action of zeroes is a valid one, without flags; the handler only counts.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                signal_all();
                thread::yield_now();
            }
        });
        Storm { stop, thread: Some(thread) }
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn signal_all() {
    // SAFETY: these calls read nothing of ours, and a thread that is gone is an error, not a fault.
    let (process, own) = unsafe { (libc::getpid(), libc::gettid()) };
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let task: i32 = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
        if task != own {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_tgkill, process, task, libc::SIGUSR1) };
        }
    }
}

#[test]
fn signals_end_no_wait_early_and_lose_no_wake() {
    let ended = child::run(|| {
        for workers in [1, 2, 4] {
            let runtime = background(workers);
            let storm = Storm::start();
            let fibers: Vec<_> = (0..rounds(500) as u64)
                .map(|number| {
                    runtime.spawn(move || {
                        let (start, duration) = (Instant::now(), Duration::from_micros(number % 50 * 100));
                        sleep(duration).unwrap();
                        assert!(start.elapsed() >= duration);
                        spawn(yield_now).join().unwrap();
                        number
                    })
                })
                .collect();
            for (number, fiber) in (0..).zip(fibers) {
                assert_eq!(fiber.join().unwrap(), number);
            }
            let gate = Gate::closed();
            let way = gate.way();
            let parked = runtime.spawn(move || way.pass());
            let seen = SIGNALS.load(Ordering::Relaxed);
            until(|| SIGNALS.load(Ordering::Relaxed) > seen + 100);
            assert!(!parked.is_finished());
            gate.open();
            parked.join().unwrap().unwrap();
            drop(storm);
            common::shut_down(runtime);
        }
        assert!(SIGNALS.load(Ordering::Relaxed) > 0);
    });
    ended.well();
}

/// Leaves this process so many MiB more of address space than it has.
fn leave_address_space(mebibytes: u64) {
    let most = linux::mapped() as u64 + (mebibytes << 20);
    let limit = rustix::process::Rlimit { current: Some(most), maximum: Some(most) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
}

/// The one that gets the others on has a stack, and sleeps and wakes a hundred times while they wait for theirs.
#[test]
fn where_address_space_for_stacks_is_short_for_long_whoever_has_one_goes_on() {
    let ended = child::run_in(&[("MALLOC_ARENA_MAX", "1")], || {
        let runtime = background(1);
        let (sender, receiver) = sisal::chan::bounded::<()>(0);
        let started = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&started);
        let opener = runtime.spawn(move || {
            flag.store(true, Ordering::Relaxed);
            (0..100).for_each(|_| sleep(Duration::from_millis(1)).unwrap());
            drop(sender);
        });
        until(|| started.load(Ordering::Relaxed));
        leave_address_space(100);
        let wait = |_| {
            let receiver = receiver.clone();
            runtime.spawn(move || receiver.recv().is_err())
        };
        let waiting: Vec<_> = (0..2_000).map(wait).collect();
        opener.join().unwrap();
        assert!(join_all(waiting).into_iter().all(Result::unwrap));
        common::shut_down(runtime);
    });
    ended.well();
}

#[test]
fn a_shortage_of_address_space_for_stacks_slows_and_does_not_fail() {
    // Two allocator arenas would take what is left.
    let ended = child::run_in(&[("MALLOC_ARENA_MAX", "1")], || {
        let runtime = background(2);
        assert!(runtime.run(|| spawn(yield_now).join().is_ok()));
        leave_address_space(100);
        // They would want 500 MiB at once.
        let fibers: Vec<_> = (0..2_000)
            .map(|number| {
                runtime.spawn(move || {
                    sleep(Duration::from_micros(100)).unwrap();
                    yield_now();
                    sleep(Duration::from_micros(100)).unwrap();
                    number
                })
            })
            .collect();
        let sum: u32 = join_all(fibers).into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, 1_999_000);
        common::shut_down(runtime);
    });
    ended.well();
}

/// Memory that comes back tells nobody so.
#[test]
fn a_fresh_fiber_starts_when_there_is_address_space_again_though_nothing_else_happens() {
    let ended = child::run_in(&[("MALLOC_ARENA_MAX", "1")], || {
        let runtime = background(1);
        assert!(runtime.run(|| spawn(yield_now).join().is_ok()));
        let most = linux::mapped() as u64 + (100 << 20);
        let limit = |most| {
            let limit = rustix::process::Rlimit { current: most, maximum: None };
            rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
        };
        limit(Some(most));
        // Each waits for the next, on a stack, until there is none for the next.
        fn chain(left: u32) -> u32 {
            if left == 0 { 0 } else { 1 + spawn(move || chain(left - 1)).join().unwrap() }
        }
        let chained = runtime.spawn(|| chain(2_000));
        // A worker that sleeps although something fresh waits has no stack for it.
        until(|| {
            let metrics = runtime.metrics();
            metrics.workers.sleeping == 1 && metrics.fresh == 1
        });
        limit(None);
        assert_eq!(chained.join().unwrap(), 2_000);
        common::shut_down(runtime);
    });
    ended.well();
}

/// Not as many as there are fit at once, and not even one whole arena of them: whoever has one goes on, sleeps, and gives it back.
#[test]
fn a_shortage_of_address_space_for_stacks_of_another_size_slows_and_does_not_fail() {
    for workers in ["1", "2", "4"] {
        let ended = child::run_in(&[("MALLOC_ARENA_MAX", "1"), ("TEST_WORKERS", workers)], || {
            let workers = std::env::var("TEST_WORKERS").unwrap().parse().unwrap();
            let runtime = background(workers);
            assert!(runtime.run(|| spawn(yield_now).join().is_ok()));
            leave_address_space(50);
            let work = |number: u32| {
                move || {
                    sleep(Duration::from_millis(u64::from(number % 3))).unwrap();
                    yield_now();
                    number
                }
            };
            let fibers: Vec<_> = (0..300)
                .map(|number| match number % 4 {
                    0 => runtime.spawn(work(number)),
                    _ => runtime.handle().builder().stack_size(1 << 20).spawn(work(number)),
                })
                .collect();
            let sum: u32 = join_all(fibers).into_iter().map(Result::unwrap).sum();
            assert_eq!(sum, 44_850);
            common::shut_down(runtime);
        });
        ended.well();
    }
}

#[test]
fn a_runtime_that_gets_no_threads_is_an_error_and_leaves_none() {
    // Threads so large that a few use up what is left, and what then is too little for another is plenty for the rest.
    let environment = [("MALLOC_ARENA_MAX", "1"), ("RUST_MIN_STACK", "67108864")];
    let ended = child::run_in(&environment, || {
        leave_address_space(300);
        let before = linux::threads();
        for _ in 0..3 {
            let builder = Runtime::builder().workers(20);
            let error = builder.clone().build().unwrap_err();
            assert!(matches!(error, BuildError::Io { .. }), "{error}");
            let error = builder.run(|| panic!("it ran")).unwrap_err();
            assert!(matches!(error, BuildError::Io { .. }), "{error}");
        }
        until(|| linux::threads() == before);
        // A smaller one still starts.
        assert_eq!(fixed(1).run(|| spawn(|| 7).join().unwrap()).unwrap(), 7);
    });
    ended.well();
}

#[test]
fn more_workers_than_a_word_has_bits_all_work() {
    common::watchdog::guarded(|| {
        let workers = 130;
        let runtime = background(workers);
        for _ in 0..rounds(20) {
            let handles: Vec<_> =
                (0..workers).map(|on| runtime.handle().spawn_on(on, || thread::current().id())).collect();
            let threads: std::collections::HashSet<_> = join_all(handles).into_iter().map(Result::unwrap).collect();
            assert_eq!(threads.len(), workers);
            let fibers = join_all((0..1_000).map(|number| runtime.spawn(move || number)));
            assert_eq!(fibers.into_iter().map(Result::unwrap).sum::<u32>(), 499_500);
        }
        common::shut_down(runtime);
    });
}

/// Calls sisal when its thread ends.
struct Last(Handle, mpsc::Sender<(bool, bool, bool)>);

impl Drop for Last {
    fn drop(&mut self) {
        yield_now();
        sleep(Duration::from_micros(1)).unwrap();
        let refused = self.0.spawn(|| ()).join().is_err();
        let _ = self.1.send((sisal::in_fiber(), Handle::current().is_some(), refused));
    }
}

thread_local! { static OWNER: RefCell<Option<(Arc<Runtime>, mpsc::Sender<()>)>> = const { RefCell::new(None) }; }

#[test]
fn a_thread_whose_locals_own_the_runtime_it_worked_for_ends_all_the_same() {
    common::with_workers(|workers| {
        let (tell, told) = mpsc::channel();
        let runtime = Arc::new(background(workers));
        let handle = runtime.handle().clone();
        let owner = (Arc::clone(&runtime), tell);
        runtime.spawn(move || OWNER.set(Some(owner))).join().unwrap();
        drop(runtime);
        handle.request_stop();
        // When the owner's locals have been dropped.
        assert!(told.recv().is_err());
    });
}

thread_local! { static LAST: RefCell<Option<Last>> = const { RefCell::new(None) }; }

#[test]
fn destructors_of_a_workers_thread_locals_may_call_sisal() {
    common::with_workers(|workers| {
        let runtime = background(workers);
        let (tell, told) = mpsc::channel();
        for on in 0..workers {
            let last = Last(runtime.handle().clone(), tell.clone());
            runtime.handle().spawn_on(on, move || LAST.set(Some(last))).join().unwrap();
        }
        common::shut_down(runtime);
        drop(tell);
        let answers: Vec<_> = told.into_iter().collect();
        assert_eq!(answers, vec![(false, false, true); workers], "in no fiber, in no runtime, nothing is started");
    });
}

/// Calls its closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_runtime_run_by_a_thread_that_unwinds_runs_its_fibers_as_always() {
    common::with_workers(|workers| {
        let mut result = None;
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = OnDrop(|| {
                result = Some(fixed(workers).run(|| {
                    let fibers = (0..20).map(|number| {
                        let body = move || {
                            sleep(Duration::from_micros(10)).unwrap();
                            yield_now();
                            number
                        };
                        if number % 2 == 0 { spawn_local(body) } else { spawn(body) }
                    });
                    let fibers: Vec<_> = fibers.collect();
                    until(|| fibers.iter().all(sisal::JoinHandle::is_finished));
                    join_all(fibers).into_iter().map(Result::unwrap).sum::<u32>()
                }));
            });
            panic!("on purpose");
        }));
        assert!(caught.is_err());
        assert_eq!(result.unwrap().unwrap(), 190);
    });
}

#[test]
fn a_background_runtime_used_by_a_thread_that_unwinds_works() {
    common::with_workers(|workers| {
        let runtime = background(workers);
        let mut result = None;
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = OnDrop(|| result = Some((runtime.run(|| 7), runtime.spawn(|| 8).join().unwrap())));
            panic!("on purpose");
        }));
        assert!(caught.is_err());
        assert_eq!(result, Some((7, 8)));
        common::shut_down(runtime);
    });
}

#[test]
fn a_panic_hook_that_waits_blocks_its_thread_and_is_in_no_fiber() {
    let ended = child::run(|| {
        let in_fiber = Arc::new(AtomicUsize::new(0));
        let hooks = Arc::new(AtomicUsize::new(0));
        let (fibers_seen, calls) = (Arc::clone(&in_fiber), Arc::clone(&hooks));
        std::panic::set_hook(Box::new(move |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            fibers_seen.fetch_add(usize::from(sisal::in_fiber()), Ordering::Relaxed);
            yield_now();
            sleep(Duration::from_micros(100)).unwrap();
        }));
        for workers in common::WORKERS {
            let panicked = fixed(workers).run(|| {
                let fibers = (0..50).map(|_| spawn_local(|| panic!("on purpose")));
                join_all(fibers).into_iter().filter(Result::is_err).count()
            });
            assert_eq!(panicked.unwrap(), 50);
        }
        assert_eq!(hooks.load(Ordering::Relaxed), 50 * common::WORKERS.len());
        assert_eq!(in_fiber.load(Ordering::Relaxed), 0);
    });
    ended.well();
}

#[test]
fn a_runtime_dropped_while_its_thread_unwinds_still_ends() {
    common::with_workers(|workers| {
        let mut stats = None;
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let runtime = background(workers);
            stats = Some(runtime.handle().clone());
            let _sleepers: Vec<_> = (0..20).map(|_| runtime.spawn(|| sleep(LONG))).collect();
            panic!("on purpose");
        }));
        assert!(caught.is_err());
        let stats = stats.unwrap().stats();
        assert_eq!((stats.spawned, stats.finished, stats.workers), (20, 20, 0));
    });
}
