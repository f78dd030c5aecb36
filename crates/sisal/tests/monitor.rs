//! The monitor: workers are added while others are stuck and fresh fibers wait, and go when they are no longer needed; a
//! fiber that runs too long gives way at its next call.

mod common;

use common::gate::Gate;
use common::watchdog::{Watchdog, guarded};
use common::{child, fixed, linux, rounds, until, watched};
use sisal::{Handle, Runtime, join_all, join_any, spawn, spawn_local, try_spawn, yield_now};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Fibers that hold their workers until they are let go.
struct Hogs {
    state: Arc<HogState>,
    handles: Vec<sisal::JoinHandle<()>>,
}

#[derive(Default)]
struct HogState {
    started: AtomicUsize,
    may_end: AtomicBool,
    lock: Mutex<()>,
    ended: Condvar,
}

impl HogState {
    fn compute(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        while !self.may_end.load(Ordering::Relaxed) {
            spin_loop();
        }
    }

    fn block(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
        let guard = self.lock.lock().unwrap();
        drop(self.ended.wait_while(guard, |()| !self.may_end.load(Ordering::Relaxed)).unwrap());
    }
}

impl Hogs {
    fn start(runtime: &Handle, count: usize, hold: fn(&HogState)) -> Hogs {
        let state = Arc::new(HogState::default());
        let hog = |_| {
            let state = Arc::clone(&state);
            runtime.spawn(move || hold(&state))
        };
        Hogs { handles: (0..count).map(hog).collect(), state }
    }

    fn started(&self) -> usize {
        self.state.started.load(Ordering::Relaxed)
    }

    fn end(self) {
        {
            let _guard = self.state.lock.lock().unwrap();
            self.state.may_end.store(true, Ordering::Relaxed);
            self.state.ended.notify_all();
        }
        join_all(self.handles).into_iter().for_each(Result::unwrap);
    }
}

/// Fifteen hogs on four workers, of which there may be twenty: fresh fibers are still started, and then four are left.
fn fifteen_hogs(hold: fn(&HogState)) {
    let runtime = watched(Runtime::builder().workers(4).max_workers(20).build().unwrap());
    let handle = runtime.handle();
    for _ in 0..rounds(3) {
        let hogs = Hogs::start(handle, 15, hold);
        let fresh = join_all((0..200).map(|number| handle.spawn(move || number)));
        assert_eq!(fresh.into_iter().map(Result::unwrap).sum::<i32>(), 19_900);
        until(|| hogs.started() == 15);
        // All fifteen hold their workers now, and still there is one for others, whoever spawns them.
        for number in 0..50 {
            assert_eq!(handle.spawn(move || number).join().unwrap(), number);
        }
        // Asked on a worker that can't go meanwhile.
        let workers = handle.spawn(|| Handle::current().unwrap().workers()).join().unwrap();
        assert!((16..=20).contains(&workers), "{workers} workers");
        assert_eq!(handle.base_workers(), 4);
        hogs.end();
        until(|| handle.workers() == 4);
    }
    assert_eq!(handle.stats().workers, 4);
    common::shut_down(runtime);
}

#[test]
fn beside_fifteen_fibers_that_compute_without_end_fresh_ones_are_started_and_the_added_workers_go() {
    guarded(|| fifteen_hogs(HogState::compute));
}

#[test]
fn beside_fifteen_fibers_that_block_their_threads_fresh_ones_are_started_and_the_added_workers_go() {
    guarded(|| fifteen_hogs(HogState::block));
}

#[test]
fn added_threads_are_really_gone() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(2).max_workers(10).name("crew").build().unwrap();
        let hogs = Hogs::start(runtime.handle(), 6, HogState::block);
        until(|| hogs.started() == 6);
        assert!(linux::threads_named("crew") >= 6);
        hogs.end();
        // Two workers and the monitor.
        until(|| linux::threads_named("crew") <= 3);
        assert_eq!(runtime.run(|| spawn(|| 7).join().unwrap()), 7);
        common::shut_down(runtime);
    });
    ended.well();
}

#[test]
fn there_are_never_more_workers_than_allowed() {
    guarded(|| {
        let runtime = watched(Runtime::builder().workers(2).max_workers(3).build().unwrap());
        let handle = runtime.handle();
        let hogs = Hogs::start(handle, 2, HogState::block);
        until(|| hogs.started() == 2);
        let more = Hogs::start(handle, 5, HogState::block);
        // The one that may be added is, and takes one of them.
        until(|| more.started() == 1);
        let until_then = Instant::now() + Duration::from_millis(50);
        until(|| {
            assert!(handle.workers() <= 3);
            assert!(more.started() <= 1);
            Instant::now() > until_then
        });
        hogs.end();
        more.end();
        until(|| handle.workers() == 2);
        common::shut_down(runtime);
    });
}

#[test]
fn fibers_that_live_on_an_added_worker_keep_it_until_they_end() {
    guarded(|| {
        let runtime = watched(Runtime::builder().workers(2).max_workers(4).build().unwrap());
        let handle = runtime.handle();
        let gate = Gate::closed();
        let parked = Arc::new(AtomicUsize::new(0));
        let hogs = Hogs::start(handle, 2, HogState::block);
        until(|| hogs.started() == 2);
        // With both workers held, these can start on an added one only.
        let tenants: Vec<_> = (0..20)
            .map(|_| {
                let (way, parked) = (gate.way(), Arc::clone(&parked));
                handle.spawn(move || {
                    let home = std::thread::current().id();
                    parked.fetch_add(1, Ordering::Relaxed);
                    way.pass().unwrap();
                    assert_eq!(home, std::thread::current().id());
                    yield_now();
                    spawn_local(|| 7).join().unwrap()
                })
            })
            .collect();
        until(|| parked.load(Ordering::Relaxed) == 20);
        hogs.end();
        assert!(handle.workers() > 2, "the tenants are still there");
        gate.open();
        assert!(join_all(tenants).into_iter().all(|seven| seven.unwrap() == 7));
        until(|| handle.workers() == 2);
        common::shut_down(runtime);
    });
}

#[test]
fn runtimes_that_end_with_added_workers_end_cleanly() {
    guarded(|| {
        for round in 0..rounds(50) {
            let runtime = watched(Runtime::builder().workers(1).max_workers(6).build().unwrap());
            let hogs = Hogs::start(runtime.handle(), 4, HogState::block);
            until(|| hogs.started() > round % 4);
            runtime.request_stop();
            {
                let _guard = hogs.state.lock.lock().unwrap();
                hogs.state.may_end.store(true, Ordering::Relaxed);
                hogs.state.ended.notify_all();
            }
            common::shut_down(runtime);
            assert!(hogs.handles.iter().all(sisal::JoinHandle::is_finished));
        }
    });
}

#[test]
fn the_thread_of_run_may_be_held_too() {
    guarded(|| {
        let seen = Runtime::builder().workers(2).max_workers(4).run(|| {
            let (started, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let most = Arc::new(AtomicUsize::new(0));
            let flag = Arc::clone(&started);
            let counter = Arc::clone(&done);
            let other = sisal::spawn_on(1, move || {
                flag.store(true, Ordering::Relaxed);
                while counter.load(Ordering::Relaxed) < 20 {
                    spin_loop();
                }
            });
            until(|| started.load(Ordering::Relaxed));
            for _ in 0..20 {
                let (done, most) = (Arc::clone(&done), Arc::clone(&most));
                drop(spawn(move || {
                    most.fetch_max(Handle::current().unwrap().workers(), Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Release);
                }));
            }
            // The main fiber holds its worker as well: only an added one can do the work.
            while done.load(Ordering::Acquire) < 20 {
                spin_loop();
            }
            other.join().unwrap();
            most.load(Ordering::Relaxed)
        });
        assert!((3..=4).contains(&seen.unwrap()));
    });
}

/// Somebody who waits for a turn on the only worker, and says when it was had.
type Neighbour = fn(Arc<AtomicBool>) -> sisal::JoinHandle<()>;

const NEIGHBOURS: [(&str, Neighbour); 3] = [
    ("a fresh fiber", |had_turn| spawn(move || had_turn.store(true, Ordering::Relaxed))),
    ("a local fiber", |had_turn| spawn_local(move || had_turn.store(true, Ordering::Relaxed))),
    ("a fiber that has yielded", |had_turn| {
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let handle = spawn_local(move || {
            begun.store(true, Ordering::Relaxed);
            yield_now();
            had_turn.store(true, Ordering::Relaxed);
        });
        until(|| has_begun.load(Ordering::Relaxed));
        handle
    }),
];

/// On one worker that nothing can be added to: a fiber makes calls that need not wait, until each of its neighbours has had
/// its turn. If the calls never gave way, that would be never.
fn gives_way<F: Fn() + Sync>(call: F) {
    for (who, neighbour) in NEIGHBOURS {
        let _watchdog = Watchdog::over(&call, &format!("beside {who}"));
        let runtime = common::background(1);
        // More than once: the monitor may still be awake from the start, and later asleep.
        for _ in 0..5 {
            runtime.run(|| {
                let had_turn = Arc::new(AtomicBool::new(false));
                let handle = neighbour(Arc::clone(&had_turn));
                while !had_turn.load(Ordering::Relaxed) {
                    call();
                }
                handle.join().unwrap();
            });
            // What the calls have spawned is no part of the next round.
            let stats = || runtime.handle().stats();
            until(|| stats().finished == stats().spawned);
        }
        common::shut_down(runtime);
    }
}

#[test]
fn a_fiber_that_spawns_without_end_gives_way() {
    gives_way(|| drop(spawn(|| ())));
}

#[test]
fn a_fiber_that_tries_to_spawn_without_end_gives_way() {
    gives_way(|| drop(try_spawn(|| ())));
}

#[test]
fn a_fiber_that_spawns_local_fibers_without_end_gives_way() {
    gives_way(|| drop(spawn_local(|| ())));
}

/// A fiber of another runtime, which has ended.
fn ended() -> sisal::SharedHandle<u32> {
    let ended = fixed(1).build().unwrap().spawn(|| 7).shared();
    let _ = ended.join();
    ended
}

#[test]
fn a_fiber_that_joins_what_has_ended_without_end_gives_way() {
    let ended = ended();
    gives_way(move || drop(ended.join()));
}

#[test]
fn a_fiber_that_waits_for_what_has_ended_without_end_gives_way() {
    let other = fixed(1).build().unwrap();
    let ended = other.spawn(|| ());
    ended.wait().unwrap();
    gives_way(|| ended.wait().unwrap());
}

#[test]
fn a_fiber_that_takes_the_first_that_has_ended_without_end_gives_way() {
    let other = fixed(1).build().unwrap();
    let handle = other.handle();
    gives_way(|| {
        let mut handles = vec![handle.spawn(|| ())];
        // Ended before it is asked for, so that there is nothing to wait for.
        while !handles[0].is_finished() {
            spin_loop();
        }
        assert!(join_any(&mut handles).is_some());
    });
}

#[test]
fn a_fiber_that_tries_to_spawn_at_the_limit_without_end_gives_way() {
    guarded(|| {
        let runtime = watched(fixed(1).max_fibers(2).build().unwrap());
        runtime.run(|| {
            let neighbour = spawn(yield_now);
            // There is room when the neighbour has ended, which it can only if this gives way.
            while try_spawn(|| ()).is_err() {}
            neighbour.join().unwrap();
        });
        common::shut_down(runtime);
    });
}

#[test]
fn a_verbose_runtime_names_the_fiber_that_blocks_its_worker() {
    let ended = child::run(|| {
        let runtime = fixed(1).verbose(true).build().unwrap();
        let blocker = runtime.handle().builder().name("blocker").spawn(|| {
            // Ten times as long as it takes to be noticed.
            let end = Instant::now() + Duration::from_secs(1);
            while Instant::now() < end {
                spin_loop();
            }
        });
        let waiting = runtime.spawn(|| 7);
        blocker.join().unwrap();
        assert_eq!(waiting.join().unwrap(), 7);
        common::shut_down(runtime);
    });
    ended.well().saying("fiber 'blocker' (#").saying("tests/monitor.rs:");
}

#[test]
fn a_runtime_that_is_not_verbose_says_nothing_of_blockers_and_added_workers() {
    let ended = child::run(|| {
        let runtime = Runtime::builder().workers(1).max_workers(3).build().unwrap();
        let hogs = Hogs::start(runtime.handle(), 2, HogState::block);
        until(|| hogs.started() == 2);
        hogs.end();
        common::shut_down(runtime);
    });
    ended.well().not_saying("sisal");
}

/// Holds its worker for much longer than it takes to be named.
fn hold_worker() {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        spin_loop();
    }
}

#[test]
fn a_runtime_that_was_asked_to_names_a_fiber_that_blocks_its_worker_once_for_each_place() {
    let ended = child::run_in(&[("SISAL_BLOCKED_AFTER", "20ms")], || {
        let runtime = fixed(2).build().unwrap();
        // Nobody is delayed by it.
        let first = runtime.handle().builder().name("lonely").spawn(hold_worker);
        first.join().unwrap();
        let same_place = |name| runtime.handle().builder().name(name).spawn(hold_worker);
        join_all(["twin", "twin"].map(same_place)).into_iter().for_each(Result::unwrap);
        let declared = runtime.handle().builder().name("declared").spawn(|| sisal::block_in_place(hold_worker));
        declared.join().unwrap();
        common::shut_down(runtime);
    });
    let ended = ended.well().saying("sisal: fiber 'lonely' (#1), spawned at crates/sisal/tests/monitor.rs:");
    let times_named = |name: &str| {
        let is_report = |line: &&str| line.contains(name) && line.contains("has held worker");
        ended.stderr.lines().filter(is_report).count()
    };
    assert_eq!(["'lonely'", "'twin'", "'declared'"].map(times_named), [1, 1, 0], "{ended:#?}");
}

#[test]
fn the_main_fiber_is_named_as_well() {
    let ended = child::run(|| {
        fixed(1).blocked_after(Duration::from_millis(20)).run(hold_worker).unwrap();
    });
    ended.well().saying("sisal: fiber 'main' (#0), spawned at ").saying("has held worker 0 for ");
}

#[test]
fn a_verbose_runtime_that_was_asked_not_to_names_nobody() {
    let ended = child::run(|| {
        let runtime = fixed(1).verbose(true).blocked_after(Duration::ZERO).build().unwrap();
        let blocker = runtime.spawn(hold_worker);
        let waiting = runtime.spawn(|| 7);
        blocker.join().unwrap();
        assert_eq!(waiting.join().unwrap(), 7);
        common::shut_down(runtime);
    });
    ended.well().not_saying("has held worker");
}

/// Two workers on each of which a fiber waits, and hogs that go on until both of these have been heard of.
struct Delayed {
    runtime: Runtime,
    asks: Vec<sisal::chan::Sender<()>>,
    answers: Arc<AtomicUsize>,
}

impl Delayed {
    fn new() -> Delayed {
        let runtime = watched(Runtime::builder().workers(2).max_workers(6).build().unwrap());
        let answers = Arc::new(AtomicUsize::new(0));
        let asks = (0..2)
            .map(|worker| {
                let (ask, asked) = sisal::chan::bounded::<()>(1);
                let (answers, here) = (Arc::clone(&answers), Arc::new(AtomicUsize::new(0)));
                let started = Arc::clone(&here);
                drop(runtime.handle().builder().spawn_on(worker, move || {
                    here.fetch_add(1, Ordering::Relaxed);
                    while asked.recv().is_ok() {
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                }));
                until(|| started.load(Ordering::Relaxed) == 1);
                ask
            })
            .collect();
        Delayed { runtime, asks, answers }
    }

    /// Asks both when the hog has begun.
    fn ask(&self, hog_runs: &AtomicBool) {
        until(|| hog_runs.load(Ordering::Relaxed));
        self.asks.iter().for_each(|ask| ask.send(()).unwrap());
    }
}

#[test]
fn a_fiber_said_to_compute_delays_nobody() {
    guarded(|| {
        let delayed = Delayed::new();
        for round in 1..=rounds(10) {
            let (answers, runs) = (Arc::clone(&delayed.answers), Arc::new(AtomicBool::new(false)));
            let began = Arc::clone(&runs);
            let hog = delayed.runtime.handle().builder().cpu_bound().spawn(move || {
                began.store(true, Ordering::Relaxed);
                while answers.load(Ordering::Relaxed) < 2 * round {
                    spin_loop();
                }
            });
            delayed.ask(&runs);
            hog.join().unwrap();
        }
    });
}

#[test]
fn a_place_that_hogs_come_from_is_remembered() {
    guarded(|| {
        let delayed = Delayed::new();
        let mut asked = 0;
        loop {
            asked += 2;
            let (answers, runs) = (Arc::clone(&delayed.answers), Arc::new(AtomicBool::new(false)));
            let began = Arc::clone(&runs);
            let hog = delayed.runtime.spawn(move || {
                began.store(true, Ordering::Relaxed);
                let start = Instant::now();
                while answers.load(Ordering::Relaxed) < asked && start.elapsed() < Duration::from_millis(200) {
                    spin_loop();
                }
                answers.load(Ordering::Relaxed) == asked
            });
            delayed.ask(&runs);
            // The first delays one of the two for as long as it runs; one of the next does not.
            if hog.join().unwrap() {
                break;
            }
            let answers = &delayed.answers;
            until(|| answers.load(Ordering::Relaxed) == asked);
        }
    });
}
