//! What can be seen of a runtime, at rest and while everything moves.

#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "stack-traces")]
mod traces;
mod waits;

use common::{LONG, fixed, rounds, until, watchdog::guarded, with_workers};
use sisal::chan::{bounded, unbounded};
use sisal::inspect::{FiberInfo, FiberState, Snapshot, WorkerState, snapshot};
use sisal::sync::{Event, Mutex};
use sisal::{Builder, Runtime, join_all, nursery, sleep, spawn, yield_now};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn run<T>(workers: usize, f: impl FnOnce() -> T) -> T {
    fixed(workers).run(f).unwrap()
}

/// The fiber of this name.
fn named<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a FiberInfo> {
    snapshot.fibers.iter().find(|fiber| fiber.name.as_deref() == Some(name))
}

/// Looks until the fiber of this name is parked.
fn parked(name: &str) -> Snapshot {
    loop {
        let seen = snapshot().unwrap();
        if named(&seen, name).is_some_and(|fiber| fiber.state == FiberState::Parked) {
            return seen;
        }
        sleep(Duration::from_millis(1)).unwrap();
    }
}

#[test]
fn a_parked_fiber_is_seen_with_why_where_on_what_and_by_whom() {
    guarded(|| {
        run(2, || {
            let (sender, receiver) = bounded::<u32>(5);
            sender.send(1).unwrap();
            receiver.recv().unwrap();
            let line = line!() + 1;
            let waiter = Builder::new().name("waiter").spawn(move || receiver.recv());
            let seen = parked("waiter");
            let fiber = named(&seen, "waiter").unwrap();
            let wait = fiber.wait.as_ref().unwrap();
            assert_eq!(wait.reason, "receiving from a channel");
            assert_eq!((wait.place.line(), fiber.spawned_at.line()), (line, line));
            assert!(wait.place.file().ends_with("inspect/main.rs"));
            assert_eq!(fiber.spawned_by.unwrap().get(), 0, "by the main fiber");
            assert_eq!(fiber.stack_size, Some(192 << 10));
            assert!(fiber.worker < 2);
            let object = seen.object(wait.object.unwrap()).unwrap();
            assert_eq!((object.kind, object.capacity, object.length), ("channel", Some(5), Some(0)));
            assert_eq!((object.closed, &object.receivers, object.senders.len()), (Some(false), &vec![fiber.id], 0));
            let main = seen.fiber(sisal::fiber::current().unwrap().id()).unwrap();
            assert_eq!(
                (main.name.as_deref(), main.state, main.wait.is_none()),
                (Some("main"), FiberState::Running, true)
            );
            assert_eq!(main.stack_size, None, "it has its thread's");
            let running = spawn(|| {
                let id = sisal::fiber::current().unwrap().id();
                snapshot().unwrap().fiber(id).unwrap().stack_size
            });
            assert_eq!(running.join().unwrap(), Some(192 << 10));
            let text = seen.to_string();
            assert!(text.contains("'waiter' [parked: receiving from a channel"), "{text}");
            drop(sender);
            assert!(waiter.join().unwrap().is_err());
            assert!(named(&snapshot().unwrap(), "waiter").is_none(), "gone when joined");
        });
    });
}

#[test]
fn waits_of_every_kind_name_their_objects() {
    guarded(|| {
        run(2, || {
            let mutex = Arc::new(Mutex::new(()));
            let event = Arc::new(Event::new());
            let (_sender, receiver) = unbounded::<u32>();
            let guard = mutex.lock();
            let locking = {
                let mutex = Arc::clone(&mutex);
                Builder::new().name("locking").spawn(move || drop(mutex.lock()))
            };
            let waiting = {
                let event = Arc::clone(&event);
                Builder::new().name("waiting").spawn(move || event.wait().is_ok())
            };
            let joining = Builder::new().name("joining").spawn(move || waiting.join().unwrap());
            let asleep = Builder::new().name("asleep").spawn(|| sleep(LONG).is_ok());
            let selecting = Builder::new().name("selecting").spawn(move || {
                sisal::select! {
                    recv(receiver) -> message => message.is_ok(),
                    default(LONG) => false,
                }
            });
            let [.., seen] = ["locking", "waiting", "joining", "asleep", "selecting"].map(parked);
            let kind = |name: &str| {
                let object = named(&seen, name).unwrap().wait.as_ref().unwrap().object;
                object.map(|object| seen.object(object).unwrap())
            };
            assert_eq!(kind("locking").unwrap().kind, "mutex");
            assert_eq!(kind("locking").unwrap().owner.unwrap().get(), 0);
            assert_eq!(kind("waiting").unwrap().kind, "event");
            assert_eq!(kind("joining").unwrap().kind, "fiber");
            assert_eq!(kind("joining").unwrap().fiber, Some(named(&seen, "waiting").unwrap().id));
            assert_eq!(kind("selecting").unwrap().kind, "channel");
            assert!(kind("asleep").is_none());
            let reasons = seen.parked_by_reason();
            assert_eq!(reasons["locking a mutex"], 1, "{reasons:?}");
            drop(guard);
            event.set();
            assert!(joining.join().unwrap());
            locking.join().unwrap();
            asleep.cancel();
            selecting.cancel();
        });
    });
}

#[test]
fn children_of_a_nursery_know_it() {
    guarded(|| {
        run(2, || {
            let event = Event::new();
            let done: Result<(), ()> = nursery(|n| {
                let opener = n.spawn(|| {
                    let inner: Result<(), ()> = nursery(|n| {
                        n.spawn(|| event.wait().unwrap());
                        n.spawn(|| event.wait().unwrap());
                        Ok(())
                    });
                    inner.unwrap();
                });
                let _ = &opener;
                let seen = loop {
                    let seen = snapshot().unwrap();
                    if seen.parked_by_reason().get("waiting for an event") == Some(&2)
                        && seen.parked_by_reason().contains_key("waiting for the children of a nursery")
                    {
                        break seen;
                    }
                    yield_now();
                };
                let object = seen.objects.iter().find(|object| object.kind == "nursery").unwrap();
                assert_eq!((object.length, object.waiting.len()), (Some(2), 1));
                let children = seen.fibers.iter().filter(|fiber| fiber.nursery == Some(object.id)).count();
                assert_eq!(children, 2, "{seen:#?}");
                event.set();
                Ok(())
            });
            done.unwrap();
        });
    });
}

/// Touches so many bytes of its stack, and comes back.
#[inline(never)]
fn use_stack<const BYTES: usize>() {
    let bytes = [black_box(1u8); BYTES];
    black_box(&bytes);
}

#[test]
fn a_parked_fiber_is_seen_with_how_much_of_its_stack_it_has_used() {
    guarded(|| {
        run(1, || {
            let event = Arc::new(Event::new());
            let spawn = |name, use_stack: fn()| {
                let event = Arc::clone(&event);
                Builder::new().name(name).spawn(move || {
                    use_stack();
                    event.wait().unwrap();
                })
            };
            let fibers = [spawn("modest", || ()), spawn("greedy", use_stack::<{ 64 << 10 }>)];
            let [.., seen] = ["modest", "greedy"].map(parked);
            let used = |name| {
                let fiber = named(&seen, name).unwrap();
                let (used, size) = (fiber.stack_used.unwrap(), fiber.stack_size.unwrap());
                assert!(used > 0 && used <= size && used % rustix::param::page_size() == 0, "{used} of {size}");
                used
            };
            assert!(used("modest") < 64 << 10, "{seen:#?}");
            assert!(used("greedy") >= 64 << 10, "{seen:#?}");
            event.set();
            join_all(fibers).into_iter().for_each(Result::unwrap);
        });
    });
}

#[test]
fn fresh_fibers_are_counted_by_where_they_were_spawned() {
    guarded(|| {
        run(1, || {
            for round in 0.. {
                let some: Vec<_> = (0..100).map(|_| spawn(|| ())).collect();
                let others: Vec<_> = (0..30).map(|_| spawn(|| ())).collect();
                let seen = snapshot().unwrap();
                join_all(some.into_iter().chain(others)).into_iter().for_each(|end| end.unwrap());
                assert_eq!(seen.counts.spawned, 130 * (round + 1));
                assert_eq!(snapshot().unwrap().counts.finished, seen.counts.spawned);
                // A spawner whose time is over, perhaps because its thread was kept from its processor, gives way to them.
                if seen.counts.finished == 130 * round {
                    let counts: Vec<_> = seen.fresh.iter().map(|fresh| fresh.count).collect();
                    assert_eq!((counts, seen.counts.fresh), (vec![100, 30], 130));
                    return;
                }
            }
        });
    });
}

#[test]
fn a_runtime_is_seen_from_outside_while_all_its_workers_are_busy() {
    guarded(|| {
        let runtime = fixed(2).build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let started = Arc::new(AtomicUsize::new(0));
        let (_sender, receiver) = bounded::<u32>(1);
        let waiter = runtime.spawn(move || receiver.recv().is_ok());
        until(|| runtime.dump().counts.parked == 1);
        let hogs: Vec<_> = (0..2)
            .map(|_| {
                let (stop, started) = (Arc::clone(&stop), Arc::clone(&started));
                runtime.handle().builder().name("hog").spawn(move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                })
            })
            .collect();
        until(|| started.load(Ordering::Relaxed) == 2);
        let seen = runtime.dump();
        assert_eq!((seen.counts.running, seen.counts.parked), (2, 1));
        let is_held = |state| matches!(state, WorkerState::Running | WorkerState::Stuck);
        assert!(seen.workers.iter().all(|worker| is_held(worker.state) && worker.running.is_some()));
        stop.store(true, Ordering::Relaxed);
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
        waiter.cancel();
        common::shut_down(runtime);
    });
}

#[test]
fn a_thread_that_waits_is_seen() {
    guarded(|| {
        let runtime = fixed(1).build().unwrap();
        let (sender, receiver) = bounded::<u32>(1);
        let thread = std::thread::Builder::new().name("outsider".into()).spawn(move || receiver.recv()).unwrap();
        let is_outsider = |seen: &Snapshot| {
            seen.threads.iter().any(|thread| {
                thread.name.as_deref() == Some("outsider") && thread.wait.reason == "receiving from a channel"
            })
        };
        until(|| is_outsider(&runtime.dump()));
        sender.send(7).unwrap();
        assert_eq!(thread.join().unwrap(), Ok(7));
        assert!(!is_outsider(&runtime.dump()));
        common::shut_down(runtime);
    });
}

/// Fibers come, wait for one another in many ways and go, while others, that stay, are looked at again and again.
#[test]
fn who_lives_throughout_is_seen_in_every_dump_of_a_storm() {
    const STAYING: usize = 500;
    const CHURNING: usize = 10_000;
    with_workers(|workers| {
        let runtime = Runtime::builder().workers(workers).max_workers(workers).build().unwrap();
        common::watchdog::watch(runtime.handle());
        let stop = Arc::new(AtomicBool::new(false));
        let end = Arc::new(Event::new());
        let staying: Vec<_> = (0..STAYING)
            .map(|number| {
                let end = Arc::clone(&end);
                runtime.handle().builder().name("staying").spawn(move || {
                    // Some give way all the time, some wait.
                    while number % 2 == 0 && !end.is_set() {
                        yield_now();
                        if sleep(Duration::from_micros(100)).is_err() {
                            break;
                        }
                    }
                    end.wait().unwrap();
                })
            })
            .collect();
        let lock = Arc::new(Mutex::new(0u64));
        let churning: Vec<_> = (0..8)
            .map(|_| {
                let (stop, lock) = (Arc::clone(&stop), Arc::clone(&lock));
                runtime.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let fibers: Vec<_> = (0..CHURNING / 8)
                            .map(|number| {
                                let lock = Arc::clone(&lock);
                                spawn(move || {
                                    let (sender, receiver) = bounded(number % 3);
                                    let other = spawn(move || sender.send(number));
                                    assert_eq!(receiver.recv(), Ok(number));
                                    other.join().unwrap().unwrap();
                                    let mut count = lock.lock();
                                    if number % 16 == 0 {
                                        yield_now();
                                    }
                                    *count += 1;
                                })
                            })
                            .collect();
                        join_all(fibers).into_iter().for_each(|end| end.unwrap());
                    }
                })
            })
            .collect();
        until(|| runtime.dump().fibers.iter().filter(|fiber| fiber.name.is_some()).count() == STAYING);
        for _ in 0..rounds(100) {
            let seen = runtime.dump();
            let staying = seen.fibers.iter().filter(|fiber| fiber.name.as_deref() == Some("staying"));
            let ids: BTreeSet<_> = staying.map(|fiber| fiber.id).collect();
            assert_eq!(ids.len(), STAYING, "every one, once");
            let all: BTreeSet<_> = seen.fibers.iter().map(|fiber| (fiber.worker, fiber.id)).collect();
            assert_eq!(all.len(), seen.fibers.len(), "nobody twice");
            assert!(seen.cycles.is_empty(), "{seen}");
        }
        stop.store(true, Ordering::Relaxed);
        end.set();
        churning.into_iter().for_each(|fiber| fiber.join().unwrap());
        staying.into_iter().for_each(|fiber| fiber.join().unwrap());
        assert!(*lock.lock() > 0);
        common::shut_down(runtime);
    });
}

#[test]
fn more_fresh_fibers_than_are_looked_at_are_counted() {
    guarded(|| {
        let runtime = fixed(1).build().unwrap();
        let (begun, let_go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let stuck = {
            let (begun, let_go) = (Arc::clone(&begun), Arc::clone(&let_go));
            runtime.spawn(move || {
                begun.store(true, Ordering::Relaxed);
                while !let_go.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        until(|| begun.load(Ordering::Relaxed));
        let fresh: Vec<_> = (0..20_000).map(|_| runtime.spawn(|| ())).collect();
        let seen = runtime.dump();
        assert_eq!(seen.counts.fresh, 20_000);
        assert!(seen.to_string().contains("fresh fibers besides: "), "{seen}");
        assert!(seen.to_json().contains("\"live\":20001,"));
        let_go.store(true, Ordering::Relaxed);
        join_all(fresh).into_iter().for_each(Result::unwrap);
        stuck.join().unwrap();
    });
}

#[test]
fn of_cycles_that_share_a_fiber_one_is_told() {
    guarded(|| {
        let runtime = fixed(2).on_deadlock(sisal::inspect::OnDeadlock::Ignore).build().unwrap();
        let lock: &'static Mutex<()> = Box::leak(Box::new(Mutex::new(())));
        let opener = runtime.spawn(move || {
            let _guard = lock.lock();
            let _ = nursery(|n| {
                (0..100).for_each(|_| drop(n.spawn(|| drop(lock.lock()))));
                Ok::<_, ()>(())
            });
        });
        until(|| runtime.dump().counts.parked == 101);
        assert_eq!(runtime.dump().cycles.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
        drop(opener);
        // It never ends.
        std::mem::forget(runtime);
    });
}
