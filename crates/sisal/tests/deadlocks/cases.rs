//! Deadlocks of every kind, and what looks like one.

use crate::expected::{certain, contains_all, none, nothing_certain, plain, possible};
use crate::{Case, until_reported};
use sisal::chan::{bounded, unbounded};
use sisal::inspect::{external_wait, no_deadlock_check};
use sisal::sync::{Barrier, Mutex};
use sisal::{Builder, JoinHandle, Runtime, nursery, sleep, spawn};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Longer than it takes for a runtime to be looked at, and for a possible deadlock to be reported.
const A_WHILE: Duration = Duration::from_millis(1_500);

fn named<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name).spawn(f)
}

/// In a runtime of two workers, on the main thread.
fn run<T>(f: impl FnOnce() -> T) -> T {
    Runtime::builder().workers(2).max_workers(2).run(f).unwrap()
}

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
            certain(
                ended,
                &[
                    "workers: 2 total, 2 base, 0 added, 0 unavailable",
                    "fibers: 3 parked, 0 done, 2 spawned",
                    "on channel _ (capacity 3, 0 inside, open, 0 sending, 1 receiving)",
                    "on channel _ (capacity no limit, 0 inside, open, 0 sending, 1 receiving)",
                    "fiber #0 'main': joining a fiber at cases.rs",
                    "spawned at cases.rs",
                ],
            );
            let report = plain(&ended.stderr);
            for name in ["'left'", "'right'"] {
                let line = report.lines().find(|line| line.contains(name)).unwrap();
                assert!(line.ends_with(&format!("{name}: receiving from a channel at cases.rs")), "{line}");
            }
            assert!(!report.contains("cycle:"), "messages may come from anybody: {report}");
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
            certain(ended, &["fibers: 4 parked, 0 done, 3 spawned"]);
            let report = plain(&ended.stderr);
            let cycle = report.lines().find(|line| line.trim().starts_with("cycle: ")).expect("a cycle");
            for name in ["'a'", "'b'", "'c'"] {
                assert!(cycle.contains(&format!("{name} (locking a mutex) waits for ")), "{cycle}");
            }
            assert_eq!(
                report.matches(", held by fiber #").count(),
                6,
                "with their fibers, and by themselves: {report}"
            );
        },
    },
    Case {
        name: "a_child_that_joins_its_parent",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded::<JoinHandle<()>>(1);
                let parent = named("parent", move || {
                    let child = named("child", move || receiver.recv().unwrap().join().is_ok());
                    child.join().unwrap();
                });
                sender.send(parent).unwrap();
                let (_never, wait) = bounded::<()>(1);
                let _ = wait.recv();
            });
        },
        check: |ended| {
            certain(ended, &["fibers: 3 parked, 0 done, 2 spawned"]);
            let report = plain(&ended.stderr);
            let cycle = report.lines().find(|line| line.trim().starts_with("cycle: ")).expect("a cycle");
            assert!(cycle.contains("'parent' (joining a fiber) waits for "), "{cycle}");
            assert!(cycle.contains("'child' (joining a fiber) waits for "), "{cycle}");
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
            certain(ended, &["fibers: 2 parked, 0 done, 1 spawned", "on nursery _ (1 children)"]);
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
            certain(ended, &[]);
            let report = plain(&ended.stderr);
            let cycle = report.lines().find(|line| line.trim().starts_with("cycle: ")).expect("a cycle");
            assert!(cycle.contains("'main' (waiting for the children of a nursery) waits for "), "{cycle}");
            assert!(cycle.contains("(locking a mutex) waits for "), "{cycle}");
        },
    },
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
        check: |ended| possible(ended, &["fiber #0 'main': receiving from a channel at cases.rs"]),
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
        name: "a_thread_that_joins_what_never_ends",
        environment: &[],
        body: || {
            let runtime = Runtime::new().unwrap();
            let (_sender, receiver) = bounded::<u32>(1);
            drop(runtime.spawn(move || receiver.recv()).join());
        },
        check: |ended| {
            certain(ended, &["fibers: 1 parked, 0 done, 1 spawned", "thread main: joining a fiber at cases.rs"]);
        },
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
        name: "a_nursery_that_waits_for_a_signal",
        environment: &[],
        body: || {
            let mut child = std::process::Command::new("sh")
                .args(["-c", &format!("sleep 1; kill -TERM {}", std::process::id())])
                .spawn()
                .unwrap();
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let ended = sisal::Nursery::options().cancel_on_signals().run(|n| {
                    n.spawn(|| receiver.recv().map(drop));
                    Ok(())
                });
                assert!(ended.is_err());
            });
            child.wait().unwrap();
        },
        check: none,
    },
    Case {
        name: "a_writer_that_waits_for_a_reader_and_another_behind_it",
        environment: &[],
        body: || {
            run(|| {
                let lock = Arc::new(sisal::sync::RwLock::new(0));
                let guard = lock.read();
                let writers: Vec<_> = (0..2)
                    .map(|_| {
                        let lock = Arc::clone(&lock);
                        spawn(move || *lock.write() += 1)
                    })
                    .collect();
                sisal::blocking(|| thread::sleep(A_WHILE));
                drop(guard);
                sisal::join_all(writers).into_iter().for_each(|end| end.unwrap());
            });
        },
        check: none,
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
        name: "a_timer",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded(1);
                drop(spawn(move || {
                    sleep(A_WHILE).unwrap();
                    sender.send(7)
                }));
                assert_eq!(receiver.recv(), Ok(7));
                let (_sender, receiver) = bounded::<u32>(1);
                receiver.recv_timeout(A_WHILE).unwrap_err();
                sisal::timeout(A_WHILE, || receiver.recv()).unwrap_err();
            });
        },
        check: none,
    },
    Case {
        name: "a_descriptor",
        environment: &[],
        body: || {
            let (mut ours, mut theirs) = std::io::pipe().unwrap();
            let mut child =
                std::process::Command::new("sleep").arg("1.5").stdout(theirs.try_clone().unwrap()).spawn().unwrap();
            run(|| {
                let (sender, receiver) = bounded(1);
                let file = sisal::io::Pollable::new(ours.try_clone().unwrap()).unwrap();
                drop(spawn(move || {
                    // Ends when the child has ended.
                    let mut byte = [0];
                    (&file).read_exact(&mut byte).unwrap();
                    sender.send(byte[0])
                }));
                let _writer = spawn(move || {
                    sisal::blocking(move || {
                        child.wait().unwrap();
                        theirs.write_all(b"7").unwrap();
                    });
                });
                assert_eq!(receiver.recv(), Ok(b'7'));
            });
            drop(ours.read(&mut [0]));
        },
        check: none,
    },
    Case {
        name: "a_blocking_call",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded(1);
                drop(spawn(move || {
                    sisal::blocking(|| thread::sleep(A_WHILE));
                    sender.send(7)
                }));
                assert_eq!(receiver.recv(), Ok(7));
            });
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
        name: "a_signal_that_is_listened_for",
        environment: &[],
        body: || {
            let signals = sisal::signal::listen(&[sisal::signal::Signal::USER1]).unwrap();
            let mut child = std::process::Command::new("sh")
                .args(["-c", &format!("sleep 1.5; kill -USR1 {}", std::process::id())])
                .spawn()
                .unwrap();
            run(|| assert_eq!(signals.recv(), Ok(sisal::signal::Signal::USER1)));
            child.wait().unwrap();
        },
        check: none,
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
        name: "two_locks_while_the_rest_runs",
        environment: &[],
        body: || {
            run(|| {
                let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
                let both = Arc::new(Barrier::new(2));
                for number in 0..2 {
                    let (locks, both) = (Arc::clone(&locks), Arc::clone(&both));
                    drop(named(["one", "other"][number], move || {
                        let _own = locks[number].lock();
                        both.wait();
                        drop(locks[1 - number].lock());
                    }));
                }
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
        name: "a_dump_at_a_signal",
        environment: &[("SISAL_DUMP", "quit")],
        body: || {
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let waiter = named("waiter", move || receiver.recv().is_err());
                let pid = std::process::id().to_string();
                let kill = sisal::process::Command::new("kill").args(["-QUIT", &pid]).status();
                assert!(kill.unwrap().success());
                sisal::blocking(until_reported);
                waiter.cancel();
                assert!(waiter.join().unwrap());
                println!("went on");
            });
        },
        check: |ended| {
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "went on\n"));
            assert!(ended.stderr.contains("sisal: runtime 'sisal': 2 workers"), "{}", ended.stderr);
            assert!(ended.stderr.contains("'waiter' [parked: receiving from a channel"), "{}", ended.stderr);
        },
    },
    Case {
        name: "cancelled_by_choice",
        environment: &[("SISAL_ON_DEADLOCK", "cancel")],
        body: || {
            let ended = run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                receiver.recv()
            });
            assert!(matches!(ended, Err(sisal::chan::RecvError::Cancelled(_))), "{ended:?}");
            println!("went on");
        },
        check: |ended| {
            assert_eq!(ended.code, Some(0));
            assert_eq!(ended.stdout, "went on\n");
            contains_all(&plain(&ended.stderr), &["sisal: deadlock: no fiber can ever run again"]);
        },
    },
    Case {
        name: "ignored_by_choice",
        environment: &[("SISAL_ON_DEADLOCK", "ignore")],
        body: || {
            run(|| {
                let (sender, receiver) = bounded(1);
                // Nobody could know, but a thread that does not exist yet.
                let later = Builder::new().name("later").spawn(move || receiver.recv());
                thread::spawn(move || {
                    thread::sleep(A_WHILE);
                    sender.send(7)
                });
                assert_eq!(later.join().unwrap(), Ok(7));
            });
        },
        check: none,
    },
];
