//! Other threads and other runtimes, which may still see to it.

use crate::expected::{none, nothing_certain, plain, possible};
use crate::{A_WHILE, Case, crossed_locks, named, run, until_reported};
use sisal::chan::{bounded, unbounded};
use sisal::inspect::{external_wait, no_deadlock_check};
use sisal::sync::{Event, Mutex};
use sisal::{Cancelled, Nursery, Runtime, sleep, spawn};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

/// Spawns one child that waits for the end of another, which wants a lock of it. When the nursery is cancelled, the wait ends, and so do both.
fn spawn_cycle<'scope>(n: &'scope Nursery<'scope, '_, Cancelled>, lock: &'scope Mutex<()>, is_locked: &'scope Event) {
    let wants = n.spawn(|| {
        is_locked.wait().unwrap();
        drop(lock.lock());
    });
    n.spawn(move || {
        let _guard = lock.lock();
        is_locked.set();
        assert!(wants.wait().is_err());
    });
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a_thread_that_sends_in_the_end",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            let thread = thread::spawn(move || {
                until_reported();
                sender.send(7)
            });
            assert_eq!(run(|| receiver.recv()), Ok(7));
            thread.join().unwrap().unwrap();
        },
        check: |ended| possible(ended, &["fiber #0 'main': receiving from a channel at others.rs"]),
    },
    Case {
        name: "a_thread_that_sends_to_a_runtime_in_the_background",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (sender, receiver) = bounded(1);
            let fiber = runtime.spawn(move || receiver.recv());
            thread::sleep(A_WHILE);
            sender.send(7).unwrap();
            assert_eq!(fiber.join().unwrap(), Ok(7));
        },
        check: none,
    },
    Case {
        name: "two_runtimes_that_send_to_each_other",
        environment: &[],
        body: || {
            let other = Runtime::new().unwrap();
            let (sender, receiver) = bounded(1);
            drop(other.spawn(move || {
                sisal::blocking(until_reported);
                sender.send(7)
            }));
            assert_eq!(run(|| receiver.recv()), Ok(7));
        },
        check: |ended| possible(ended, &[]),
    },
    Case {
        name: "a_lock_of_another_runtimes_fiber_of_the_same_number",
        environment: &[],
        body: || {
            static LOCK: Mutex<()> = Mutex::new(());
            let (locked, is_locked) = std::sync::mpsc::channel();
            let other = thread::spawn(move || {
                run(|| {
                    let _guard = LOCK.lock();
                    locked.send(()).unwrap();
                    sleep(A_WHILE).unwrap();
                });
            });
            is_locked.recv().unwrap();
            run(|| drop(LOCK.lock()));
            other.join().unwrap();
        },
        check: nothing_certain,
    },
    Case {
        name: "a_join_of_another_runtimes_fiber_of_the_same_number",
        environment: &[],
        body: || {
            let other = Arc::new(Runtime::new().unwrap());
            run(|| {
                let first = spawn(move || other.run(|| sisal::blocking(|| thread::sleep(A_WHILE))));
                first.join().unwrap();
            });
        },
        check: nothing_certain,
    },
    Case {
        name: "a_thread_inside_a_timeout",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (_sender, receiver) = bounded::<u32>(1);
            let ended = sisal::timeout(A_WHILE, || {
                runtime.handle().nursery(|n| {
                    n.spawn(|| receiver.recv().map(drop));
                    Ok(())
                })
            });
            assert!(ended.is_err());
        },
        check: nothing_certain,
    },
    Case {
        name: "a_cycle_that_a_threads_timeout_ends",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (lock, is_locked) = (Mutex::new(()), Event::new());
            let (lock, is_locked) = (&lock, &is_locked);
            let ended = sisal::timeout(A_WHILE, || {
                runtime.handle().nursery(|n| {
                    spawn_cycle(n, lock, is_locked);
                    Ok(())
                })
            });
            println!("{ended:?}");
        },
        check: |ended| {
            nothing_certain(ended);
            assert_eq!(ended.stdout, "Ok(())\n");
        },
    },
    Case {
        name: "a_cycle_that_a_thread_cancels_in_the_end",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (lock, is_locked) = (Mutex::new(()), Event::new());
            let (lock, is_locked) = (&lock, &is_locked);
            let (started, has_started) = (Event::new(), Event::new());
            let ended = runtime.handle().nursery(|n| {
                // In a nursery of a child that has started before there is a token.
                n.spawn(|| {
                    has_started.set();
                    started.wait().unwrap();
                    let inner = sisal::nursery(|n| {
                        spawn_cycle(n, lock, is_locked);
                        Ok(())
                    });
                    inner.unwrap();
                });
                has_started.wait().unwrap();
                let token = n.token();
                started.set();
                thread::spawn(move || {
                    thread::sleep(A_WHILE);
                    token.cancel();
                });
                Ok::<(), Cancelled>(())
            });
            println!("{ended:?}");
        },
        check: |ended| {
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Ok(())\n"));
            assert!(!ended.stderr.contains("ever run again"), "{}", ended.stderr);
        },
    },
    Case {
        name: "a_thread_that_waits_for_signals",
        environment: &[],
        body: || {
            let signals = sisal::signal::listen(&[sisal::signal::Signal::USER1]).unwrap();
            let stop = Arc::new(sisal::sync::Event::new());
            let stopped = Arc::clone(&stop);
            let thread = thread::spawn(move || {
                signals.recv().unwrap();
                stop.set();
            });
            let mut child = std::process::Command::new("sh")
                .args(["-c", &format!("sleep 1.5; kill -USR1 {}", std::process::id())])
                .spawn()
                .unwrap();
            run(|| stopped.wait().unwrap());
            thread.join().unwrap();
            child.wait().unwrap();
        },
        check: nothing_certain,
    },
    Case {
        name: "two_locks_while_the_main_fiber_waits_for_a_thread",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            let thread = thread::spawn(move || {
                until_reported();
                sender.send(7)
            });
            let received = run(|| {
                let [one, other] = crossed_locks();
                drop((named("one", one), named("other", other)));
                let received = receiver.recv();
                println!("{received:?}");
                // Those two never end.
                std::process::exit(0);
            });
            let _: Result<u32, sisal::chan::RecvError> = received;
            thread.join().unwrap().unwrap();
        },
        check: |ended| {
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Ok(7)\n"));
            let report = plain(&ended.stderr);
            let partial = "sisal: deadlock: 2 fibers wait for one another, while something may come from outside\n";
            assert_eq!(report.matches(partial).count(), 1, "{report}");
            assert!(report.contains("sisal: possible deadlock: ") && !report.contains("ever run again"), "{report}");
        },
    },
    Case {
        name: "locks_that_a_thread_will_give_back",
        environment: &[],
        body: || {
            static LOCK: Mutex<()> = Mutex::new(());
            let guard = LOCK.lock();
            let thread = thread::spawn(|| run(|| drop(LOCK.lock())));
            until_reported();
            drop(guard);
            thread.join().unwrap();
        },
        check: |ended| possible(ended, &["on mutex _ (1 waiting), held by a plain thread"]),
    },
    Case {
        name: "a_future_that_a_thread_wakes_in_the_end",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            let thread = thread::spawn(move || {
                thread::sleep(A_WHILE);
                sender.send(7)
            });
            assert_eq!(run(|| sisal::block_on(async { receiver.recv_async().await })), Ok(7));
            thread.join().unwrap().unwrap();
        },
        check: none,
    },
    Case {
        name: "fibers_that_are_meant_to_wait_for_each_other",
        environment: &[],
        body: || {
            run(|| {
                crossed_locks().into_iter().for_each(|locks| drop(spawn(|| no_deadlock_check(locks))));
                let until = std::time::Instant::now() + 2 * A_WHILE;
                while std::time::Instant::now() < until {
                    sisal::yield_now();
                }
                assert!(sisal::inspect::snapshot().unwrap().cycles.is_empty());
                std::process::exit(0);
            })
        },
        check: none,
    },
    Case {
        name: "only_fibers_that_are_meant_to_wait",
        environment: &[],
        body: || {
            let (requests, receiver) = unbounded::<u32>();
            let runtime = Runtime::new().unwrap();
            let janitor = runtime.spawn(move || no_deadlock_check(|| receiver.iter().count()));
            let joined = thread::spawn(move || janitor.join().unwrap());
            thread::sleep(A_WHILE);
            drop(requests);
            assert_eq!(joined.join().unwrap(), 0);
        },
        check: none,
    },
    Case {
        name: "an_external_wait",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            let thread = thread::spawn(move || {
                thread::sleep(A_WHILE);
                sender.send(7)
            });
            assert_eq!(run(|| external_wait(|| receiver.recv())), Ok(7));
            thread.join().unwrap().unwrap();
        },
        check: none,
    },
    Case {
        name: "a_cycle_of_joins_that_a_thread_cancels_by_a_handle",
        environment: &[],
        body: || {
            run(|| {
                let (give, given) = bounded::<sisal::SharedHandle<()>>(1);
                let one = spawn(move || _ = given.recv().unwrap().wait()).shared();
                let awaited = one.clone();
                let other = spawn(move || assert!(awaited.wait().is_err())).shared();
                give.send(other.clone()).unwrap();
                thread::spawn(move || {
                    thread::sleep(A_WHILE);
                    other.cancel();
                });
                one.wait().unwrap();
            });
        },
        check: |ended| {
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert!(!ended.stderr.contains("ever run again"), "{}", ended.stderr);
        },
    },
    Case {
        name: "a_guard_that_another_fiber_of_the_thread_has",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            thread::spawn(move || {
                thread::sleep(A_WHILE);
                sender.send(())
            });
            let lock: &'static Mutex<u32> = Box::leak(Box::new(Mutex::new(0)));
            run(move || {
                let guard = lock.lock();
                let holder = sisal::spawn_local(move || {
                    no_deadlock_check(|| receiver.recv()).unwrap();
                    drop(guard);
                });
                drop(lock.lock());
                holder.join().unwrap();
            });
        },
        check: nothing_certain,
    },
    Case {
        name: "a_guard_that_a_fiber_spawned_beside_it_has",
        environment: &[],
        body: || {
            let (sender, receiver) = bounded(1);
            thread::spawn(move || {
                thread::sleep(A_WHILE);
                sender.send(())
            });
            let lock: &'static Mutex<u32> = Box::leak(Box::new(Mutex::new(0)));
            run(move || {
                let between = Rc::new(Cell::new(None));
                let given = Rc::clone(&between);
                let wants = sisal::spawn_local(move || {
                    given.set(Some(lock.lock()));
                    drop(lock.lock());
                });
                drop(sisal::spawn_local(move || {
                    no_deadlock_check(|| receiver.recv()).unwrap();
                    drop(between.take());
                }));
                wants.join().unwrap();
            });
        },
        check: nothing_certain,
    },
    Case {
        name: "both_halves_of_a_fork_that_are_meant_to_wait",
        environment: &[],
        body: || {
            let (one, of_one) = bounded(1);
            let (other, of_other) = bounded(1);
            thread::spawn(move || {
                thread::sleep(A_WHILE);
                one.send(1).unwrap();
                other.send(2).unwrap();
            });
            let received = run(|| no_deadlock_check(|| sisal::par::join(|| of_one.recv(), || of_other.recv())));
            assert_eq!(received, (Ok(1), Ok(2)));
        },
        check: none,
    },
];
