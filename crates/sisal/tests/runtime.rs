//! Starting a runtime: on the calling thread, in the background, several at once, one inside another.

mod common;

use common::watchdog::guarded;
use common::{LONG, background, child, fixed, linux, until, with_workers};
use sisal::chan::{after, bounded};
use sisal::net::TcpListener;
use sisal::{Cause, Handle, Runtime, join_all, select, sleep, spawn, spawn_local, yield_now};
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[test]
fn a_runtime_dropped_by_what_its_own_fiber_calls_on_another_thread_waits_for_nobody() {
    guarded(|| {
        let runtime = fixed(1).shutdown_timeout(LONG).build().unwrap();
        let handle = runtime.handle().clone();
        let dropped = handle.spawn(move || sisal::blocking(move || drop(runtime)));
        dropped.join().unwrap();
    });
}

#[test]
fn a_fiber_that_spawns_into_another_runtime_gives_way() {
    with_workers(|workers| {
        let (one, other) = (background(1), background(workers));
        let handle = other.handle().clone();
        let spawner = one.spawn(move || {
            let flag = Rc::new(Cell::new(false));
            let set = Rc::clone(&flag);
            let neighbour = spawn_local(move || set.set(true));
            while !flag.get() {
                drop(handle.spawn(|| ()));
            }
            neighbour.join().unwrap();
        });
        spawner.join().unwrap();
    });
}

#[test]
fn run_gives_what_its_closure_returns() {
    guarded(|| {
        let sum: u64 = sisal::run(|| {
            let handles: Vec<_> = (0..1_000u64).map(|i| spawn(move || i)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).sum()
        });
        assert_eq!(sum, 499_500);
    });
}

#[test]
fn the_closure_of_run_may_borrow_and_need_not_be_send() {
    with_workers(|workers| {
        let mut words = vec!["b", "a"];
        let counter = Rc::new(Cell::new(0));
        let here = thread::current().id();
        let back = fixed(workers).run(|| {
            assert_eq!(thread::current().id(), here, "the calling thread runs it");
            words.sort_unstable();
            let shared = Rc::clone(&counter);
            spawn_local(move || shared.set(shared.get() + 1)).join().unwrap();
            Rc::clone(&counter)
        });
        assert_eq!((back.unwrap().get(), words), (1, vec!["a", "b"]));
    });
}

#[test]
fn run_after_run_on_the_same_thread_works() {
    with_workers(|workers| {
        for number in 0..20 {
            let back = fixed(workers).run(|| spawn(move || number).join().unwrap());
            assert_eq!(back.unwrap(), number);
            assert!(!sisal::in_fiber() && Handle::current().is_none());
        }
    });
}

#[test]
fn run_inside_a_fiber_just_calls() {
    common::in_fiber_of_each(|| {
        let fiber = sisal::fiber::current().unwrap().id();
        let inside = sisal::run(|| sisal::fiber::current().unwrap().id());
        assert_eq!(inside, fiber);
        let inside = fixed(3).run(|| sisal::fiber::current().unwrap().id()).unwrap();
        assert_eq!(inside, fiber);
    });
}

#[test]
fn a_background_runtime_leaves_its_makers_thread_free() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (give, take) = mpsc::channel();
        drop(runtime.spawn(move || give.send(thread::current().id())));
        let worker = take.recv().unwrap();
        assert_ne!(worker, thread::current().id());
        assert!(!sisal::in_fiber() && Handle::current().is_none());
        common::shut_down(runtime);
    });
}

#[test]
fn run_on_a_background_runtime_blocks_for_the_result_and_may_borrow() {
    with_workers(|workers| {
        let runtime = background(workers);
        let mut words = vec!["b", "a"];
        runtime.run(|| {
            assert!(sisal::in_fiber());
            yield_now();
            words.sort_unstable();
        });
        assert_eq!(words, ["a", "b"]);
        // From many threads at once.
        thread::scope(|scope| {
            for number in 0..8u64 {
                let runtime = &runtime;
                scope.spawn(move || {
                    let borrowed = [number; 4];
                    assert_eq!(runtime.run(|| borrowed.iter().sum::<u64>()), 4 * number);
                });
            }
        });
        common::shut_down(runtime);
    });
}

#[test]
fn run_on_the_runtime_one_is_in_just_calls() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (outer, inner) = runtime.run(|| {
            let id = || sisal::fiber::current().unwrap().id();
            (id(), runtime.run(id))
        });
        assert_eq!(outer, inner);
        common::shut_down(runtime);
    });
}

#[test]
fn run_on_another_runtime_parks_the_fiber_and_not_its_worker() {
    guarded(|| {
        let (here, there) = (background(1), background(1));
        let (give, take) = mpsc::channel();
        here.run(|| {
            // The other runtime's fiber ends only when this runtime's only worker goes on meanwhile.
            let waker = spawn(move || give.send(()).unwrap());
            there.run(move || take.recv().unwrap());
            waker.join().unwrap();
        });
        common::shut_down(here);
        common::shut_down(there);
    });
}

#[test]
fn the_end_of_another_runtime_parks_the_fiber_that_waits_for_it_and_not_its_worker() {
    guarded(|| {
        let here = background(1);
        for is_dropped in [true, false] {
            here.run(|| {
                let (there, (give, take), (begin, begun)) = (background(1), bounded(0), bounded(1));
                // It ends only when this runtime's only worker goes on meanwhile.
                drop(there.spawn(move || {
                    begin.send(()).unwrap();
                    sisal::shield(|| take.recv())
                }));
                begun.recv().unwrap();
                let giver = spawn(move || give.send(()).unwrap());
                if is_dropped {
                    drop(there);
                } else {
                    assert!(there.shutdown(common::LONG).is_clean());
                }
                giver.join().unwrap();
            });
        }
        common::shut_down(here);
    });
}

#[test]
fn what_ends_the_waits_of_the_caller_ends_those_of_what_it_runs_elsewhere() {
    guarded(|| {
        let there = background(2);
        let waits = || sisal::sleep(common::LONG).unwrap_err().cause;
        let limited = || sisal::timeout(Duration::from_millis(2), || there.run(waits));
        let cancelled = || {
            let token = sisal::CancelToken::new();
            thread::scope(|scope| {
                scope.spawn(|| token.cancel());
                token.run(|| there.run(waits))
            })
        };
        let from_a_fiber = || fixed(1).run(|| (limited(), cancelled())).unwrap();
        assert_eq!((limited(), cancelled()), (Cause::Deadline, Cause::Request));
        assert_eq!(from_a_fiber(), (Cause::Deadline, Cause::Request));
        // So does the end of the caller itself, and what a shield keeps off is kept off there.
        let (began, begin) = bounded(1);
        let asked = fixed(1).run(|| {
            sisal::nursery(|n| {
                let child = n.spawn(|| {
                    let run = || {
                        began.send(()).unwrap();
                        waits()
                    };
                    Ok::<_, ()>(there.run(run))
                });
                begin.recv().unwrap();
                child.cancel();
                child.wait().unwrap();
                Ok(child.join().unwrap())
            })
        });
        assert_eq!(asked.unwrap(), Ok(Cause::Request));
        let nap = || sisal::sleep(Duration::from_millis(1));
        assert!(sisal::timeout(Duration::ZERO, || sisal::shield(|| there.run(nap))).is_ok());
        common::shut_down(there);
    });
}

#[test]
fn a_handle_finds_the_runtime_it_is_asked_in() {
    with_workers(|workers| {
        let (left, right) = (background(workers), background(1));
        let workers_of = |runtime: &Runtime| runtime.run(|| Handle::current().unwrap().base_workers());
        assert_eq!((workers_of(&left), workers_of(&right)), (workers, 1));
        let nested = left.run(|| {
            let inside = workers_of(&right);
            (inside, Handle::current().unwrap().base_workers())
        });
        assert_eq!(nested, (1, workers));
        common::shut_down(left);
        common::shut_down(right);
    });
}

#[test]
fn a_runtime_may_be_made_and_ended_inside_a_fiber() {
    common::in_fiber_of_each(|| {
        let inner = fixed(2).build().unwrap();
        assert_eq!(inner.spawn(|| 7).join().unwrap(), 7);
        let sleeper = inner.spawn(|| sleep(common::LONG));
        drop(inner);
        assert!(sleeper.is_finished());
    });
}

#[test]
fn stats_count_what_has_been_done() {
    with_workers(|workers| {
        let runtime = background(workers);
        join_all((0..100).map(|_| runtime.spawn(|| ()))).into_iter().for_each(Result::unwrap);
        let handle = runtime.handle();
        until(|| handle.stats().finished == 100);
        let stats = handle.stats();
        assert_eq!((stats.spawned, stats.panicked, stats.detached_panics, stats.cancelled), (100, 0, 0, 0));
        assert_eq!((stats.workers, handle.workers(), handle.base_workers()), (workers, workers, workers));
        assert!(stats.stacks_in_use >= 1 && stats.stack_bytes_mapped > 0, "{stats}");
        assert!(stats.to_string().starts_with("100 fibers spawned, 100 ended"), "{stats}");
        common::shut_down(runtime);
    });
}

#[test]
fn worker_threads_are_named_and_numbered() {
    guarded(|| {
        let runtime = fixed(3).name("crunch").build().unwrap();
        let names: HashSet<_> = (0..3)
            .map(|worker| {
                runtime.handle().spawn_on(worker, || thread::current().name().unwrap().to_owned()).join().unwrap()
            })
            .collect();
        assert_eq!(names, ["crunch-0", "crunch-1", "crunch-2"].map(str::to_owned).into());
        common::shut_down(runtime);
    });
}

#[test]
fn an_idle_runtime_uses_no_cpu_time() {
    let ended = child::run(|| {
        let runtime = background(4);
        let sleepers: Vec<_> = (0..1_000).map(|_| runtime.spawn(|| sleep(common::LONG))).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listening = runtime.spawn(move || listener.accept().map(drop));
        let ((_sender, empty), (full, _receiver)) = (bounded::<u8>(1), bounded(0));
        let choosing = runtime.spawn(move || {
            select! {
                recv(empty) -> _ => (),
                send(full, 7) -> _ => (),
                recv(after(common::LONG)) -> _ => (),
            }
        });
        // Asleep are those threads that the kernel has seen go to sleep and not come back: no ticks, no switches.
        let mut before = linux::rest_of_others();
        // Work may still be settling; a runtime that ticked would never come to rest. One that does so less often than this, or for the
        // first time later, is not seen.
        loop {
            thread::sleep(Duration::from_secs(3));
            let now = linux::rest_of_others();
            if now.is_some() && now == before {
                break;
            }
            before = now;
        }
        drop((sleepers, listening, choosing));
        common::shut_down(runtime);
    });
    ended.well();
}

#[test]
fn handles_and_runtimes_may_go_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    fn is_send<T: Send>() {}
    is_send_and_sync::<Runtime>();
    is_send_and_sync::<Handle>();
    is_send_and_sync::<sisal::JoinHandle<Cell<u8>>>();
    is_send_and_sync::<sisal::SharedHandle<u8>>();
    is_send_and_sync::<sisal::fiber::Fiber>();
    is_send::<sisal::JoinError>();
    is_send_and_sync::<sisal::Cancelled>();
    is_send::<sisal::ShutdownReport>();
}
