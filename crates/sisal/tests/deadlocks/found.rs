//! Deadlocks of every kind, which are found.

use crate::expected::{certain, certain_with, plain};
use crate::{A_WHILE, Case, crossed_locks, named, run, until_reported};
use sisal::chan::{bounded, unbounded};
use sisal::inspect::no_deadlock_check;
use sisal::sync::{Barrier, Mutex};
use sisal::{Builder, JoinHandle, Runtime, nursery, spawn};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "two_fibers_that_wait_for_each_others_messages",
        environment: &[],
        body: || {
            run(|| {
                let (to_left, left) = bounded::<u32>(3);
                let (to_right, right) = unbounded::<u32>();
                let one = named("left", move || {
                    let message = left.recv();
                    to_right.send(1).unwrap();
                    message
                });
                let other = named("right", move || {
                    let message = right.recv();
                    to_left.send(1).unwrap();
                    message
                });
                let _ = (one.join(), other.join());
            });
        },
        check: |ended| {
            certain_with(
                ended,
                "
  workers: 2 total, 2 base, 0 added, 0 unavailable
  fibers: 3 parked, 0 done, 2 spawned
  fiber #0 'main': joining a fiber at found.rs
    on fiber #1
    spawned at found.rs
  fiber #1 'left': receiving from a channel at found.rs
    on channel _ (capacity 3, 0 inside, open, 0 sending, 1 receiving)
    spawned at found.rs
  fiber #2 'right': receiving from a channel at found.rs
    on channel _ (capacity no limit, 0 inside, open, 0 sending, 1 receiving)
    spawned at found.rs
  channel _ (capacity 3, 0 inside, open, 0 sending, 1 receiving)
  channel _ (capacity no limit, 0 inside, open, 0 sending, 1 receiving)",
            );
            // Messages may come from anybody: there is no cycle.
        },
    },
    Case {
        name: "three_locks_in_a_ring",
        environment: &[],
        body: || {
            run(|| {
                let locks: Arc<[Mutex<()>; 3]> = Arc::new([(); 3].map(|()| Mutex::new(())));
                let all_have_one = Arc::new(Barrier::new(3));
                let fibers: Vec<_> = (0..3)
                    .map(|number| {
                        let (locks, all_have_one) = (Arc::clone(&locks), Arc::clone(&all_have_one));
                        named(["a", "b", "c"][number], move || {
                            let _own = locks[number].lock();
                            all_have_one.wait();
                            drop(locks[(number + 1) % 3].lock());
                        })
                    })
                    .collect();
                drop(sisal::join_all(fibers));
            });
        },
        check: |ended| {
            certain_with(
                ended,
                "
  workers: 2 total, 2 base, 0 added, 0 unavailable
  fibers: 4 parked, 0 done, 3 spawned
  fiber #0 'main': joining a fiber at found.rs
    on fiber #1
    spawned at found.rs
  fiber #1 'a': locking a mutex at found.rs
    on mutex _ (1 waiting), held by fiber #2
    spawned at found.rs
  fiber #2 'b': locking a mutex at found.rs
    on mutex _ (1 waiting), held by fiber #3
    spawned at found.rs
  fiber #3 'c': locking a mutex at found.rs
    on mutex _ (1 waiting), held by fiber #1
    spawned at found.rs
  mutex _ (1 waiting), held by fiber #1
  mutex _ (1 waiting), held by fiber #2
  mutex _ (1 waiting), held by fiber #3
  cycle: #1 'a' (locking a mutex) waits for #2 'b' (locking a mutex) waits for #3 'c' (locking a mutex) waits for #1 'a'",
            );
        },
    },
    Case {
        name: "a_child_that_joins_its_parent",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded::<JoinHandle<()>>(1);
                // Where its child gets the next number.
                let parent = Builder::new().name("parent").spawn_on(0, move || {
                    let child = named("child", move || receiver.recv().unwrap().join().is_ok());
                    child.join().unwrap();
                });
                sender.send(parent).unwrap();
                let (_never, wait) = bounded::<()>(1);
                let _ = wait.recv();
            });
        },
        check: |ended| {
            certain_with(
                ended,
                "
  workers: 2 total, 2 base, 0 added, 0 unavailable
  fibers: 3 parked, 0 done, 2 spawned
  fiber #0 'main': receiving from a channel at found.rs
    on channel _ (capacity 1, 0 inside, open, 0 sending, 1 receiving)
    spawned at found.rs
  fiber #1 'parent': joining a fiber at found.rs
    on fiber #2
    spawned at found.rs
  fiber #2 'child': joining a fiber at found.rs
    on fiber #1
    spawned at found.rs
  channel _ (capacity 1, 0 inside, open, 0 sending, 1 receiving)
  cycle: #1 'parent' (joining a fiber) waits for #2 'child' (joining a fiber) waits for #1 'parent'",
            );
        },
    },
    Case {
        name: "all_receive_and_nobody_sends",
        environment: &[],
        body: || {
            run(|| {
                let (_sender, receiver) = bounded::<u32>(0);
                let fibers: Vec<_> = (0..10)
                    .map(|_| {
                        let receiver = receiver.clone();
                        spawn(move || receiver.recv())
                    })
                    .collect();
                drop(sisal::join_all(fibers));
            });
        },
        check: |ended| {
            certain(
                ended,
                &[
                    "fibers: 11 parked, 0 done, 10 spawned",
                    "on channel _ (capacity 0, 0 inside, open, 0 sending, 10 receiving)",
                ],
            );
        },
    },
    Case {
        name: "a_full_channel_that_nobody_empties",
        environment: &[],
        body: || {
            run(|| {
                let (sender, _receiver) = bounded(2);
                (0..3).for_each(|message| sender.send(message).unwrap());
            });
        },
        check: |ended| {
            certain(ended, &["on channel _ (capacity 2, 2 inside, open, 1 sending, 0 receiving)"]);
        },
    },
    Case {
        name: "a_nursery_that_waits_for_itself",
        environment: &[],
        body: || {
            run(|| {
                let end = sisal::sync::Event::new();
                let result: Result<(), ()> = nursery(|n| {
                    // It waits for what is done after the nursery.
                    n.spawn(|| _ = end.wait());
                    Ok(())
                });
                end.set();
                result
            })
            .unwrap();
        },
        check: |ended| {
            certain_with(
                ended,
                "
  workers: 2 total, 2 base, 0 added, 0 unavailable
  fibers: 2 parked, 0 done, 1 spawned
  fiber #0 'main': waiting for the children of a nursery at found.rs
    on nursery _ (1 children)
    spawned at found.rs
  fiber #1: waiting for an event at found.rs
    on event _ (1 waiting)
    spawned at found.rs
  nursery _ (1 children)
  event _ (1 waiting)",
            );
        },
    },
    Case {
        name: "a_child_that_wants_a_lock_of_its_nurserys_opener",
        environment: &[],
        body: || {
            run(|| {
                let lock = Mutex::new(0);
                let guard = lock.lock();
                let result: Result<(), ()> = nursery(|n| {
                    n.spawn(|| *lock.lock() += 1);
                    Ok(())
                });
                drop(guard);
                result
            })
            .unwrap();
        },
        check: |ended| {
            certain_with(
                ended,
                "
  workers: 2 total, 2 base, 0 added, 0 unavailable
  fibers: 2 parked, 0 done, 1 spawned
  fiber #0 'main': waiting for the children of a nursery at found.rs
    on nursery _ (1 children)
    spawned at found.rs
  fiber #1: locking a mutex at found.rs
    on mutex _ (1 waiting), held by fiber #0
    spawned at found.rs
  nursery _ (1 children)
  mutex _ (1 waiting), held by fiber #0
  cycle: #0 'main' (waiting for the children of a nursery) waits for #1 (locking a mutex) waits for #0 'main'",
            );
        },
    },
    Case {
        name: "a_thread_that_joins_what_never_ends",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (_sender, receiver) = bounded::<u32>(1);
            drop(runtime.spawn(move || receiver.recv()).join());
        },
        check: |ended| {
            certain(ended, &["fibers: 1 parked, 0 done, 1 spawned", "thread main: joining a fiber at found.rs"]);
        },
    },
    Case {
        name: "a_deadlock_shortly_after_a_thread_had_its_say",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded::<u32>(1);
            let thread = thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                sender.send(7).unwrap();
            });
            run(move || {
                receiver.recv().unwrap();
                sisal::blocking(move || thread.join().unwrap());
                let (_sender, receiver) = bounded::<u32>(1);
                let _ = receiver.recv();
            });
        },
        check: |ended| certain(ended, &["fibers: 1 parked, 0 done, 0 spawned"]),
    },
    Case {
        name: "a_thread_that_goes_without_a_word",
        environment: &[],
        body: || {
            let thread = thread::spawn(until_reported);
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let _ = receiver.recv();
            });
            drop(thread);
        },
        check: |ended| {
            assert_eq!(ended.code, Some(124));
            let report = plain(&ended.stderr);
            assert!(report.contains("sisal: possible deadlock") && report.contains("sisal: deadlock"), "{report}");
        },
    },
    Case {
        name: "a_fiber_that_is_meant_to_wait_keeps_nobody_from_saying_it",
        environment: &[],
        body: || {
            run(|| {
                let (requests, receiver) = unbounded::<u32>();
                drop(named("janitor", move || no_deadlock_check(|| receiver.iter().count())));
                let (_sender, receiver) = bounded::<u32>(1);
                let _ = receiver.recv();
                drop(requests);
            });
        },
        check: |ended| certain(ended, &["fibers: 2 parked, 0 done, 1 spawned"]),
    },
    Case {
        name: "two_locks_while_the_rest_runs",
        environment: &[],
        body: || {
            run(|| {
                let [one, other] = crossed_locks();
                drop((named("one", one), named("other", other)));
                // The rest, until it was looked at twice: it is reported once.
                let until = std::time::Instant::now() + 2 * A_WHILE;
                while std::time::Instant::now() < until {
                    sisal::yield_now();
                }
                std::process::exit(0);
            })
        },
        check: |ended| {
            assert_eq!(ended.code, Some(0));
            let report = plain(&ended.stderr);
            assert_eq!(
                report.matches("deadlock: 2 fibers wait for one another, while others run").count(),
                1,
                "{report}"
            );
            let cycle = report.lines().find(|line| line.trim().starts_with("cycle: ")).expect("a cycle");
            assert!(cycle.contains("'one' (locking a mutex) waits for "), "{cycle}");
            assert!(cycle.contains("'other' (locking a mutex) waits for "), "{cycle}");
        },
    },
    Case {
        name: "two_locks_on_workers_of_their_own_while_the_main_fiber_computes",
        environment: &[],
        body: || {
            let runtime = Runtime::builder().workers(3).max_workers(3);
            runtime
                .run(|| {
                    // Until nobody watches any more.
                    let compute = |span| {
                        let until = std::time::Instant::now() + span;
                        while std::time::Instant::now() < until {
                            std::hint::spin_loop();
                        }
                    };
                    compute(A_WHILE / 5);
                    for (worker, locks) in (1..).zip(crossed_locks()) {
                        drop(Builder::new().spawn_on(worker, locks));
                    }
                    compute(2 * A_WHILE);
                    std::process::exit(0);
                })
                .unwrap()
        },
        check: |ended| {
            let report = plain(&ended.stderr);
            assert!(report.contains("deadlock: 2 fibers wait for one another, while others run"), "{report}");
        },
    },
    Case {
        name: "a_thread_that_joins_what_has_long_been_stuck",
        environment: &[],
        body: || {
            let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
            let lock = Arc::new(Mutex::new(()));
            let stuck = runtime.spawn(move || {
                let _own = lock.lock();
                drop(lock.lock());
            });
            thread::sleep(A_WHILE / 5);
            let _ = stuck.join();
        },
        check: |ended| certain(ended, &["fibers: 1 parked, 0 done, 1 spawned"]),
    },
];
