//! The kernels of bugs that large programs in Go have had: each is found as a deadlock, or listed as a leak.

use crate::expected::{certain, plain};
use crate::{Case, run};
use sisal::chan::{bounded, unbounded};
use sisal::inspect::leaks;
use sisal::sync::{Condvar, Mutex, RwLock, WaitGroup};
use sisal::{Builder, select, sleep, spawn};
use std::sync::Arc;
use std::time::Duration;

/// Prints the names of those that have waited for long, when there are so many, while the program itself goes on.
fn print_leaks(expected: usize) {
    loop {
        sleep(Duration::from_millis(10)).unwrap();
        let leaks = leaks(Duration::from_millis(50));
        if leaks.len() >= expected {
            let mut names: Vec<_> = leaks.iter().filter_map(|fiber| fiber.name.clone()).collect();
            names.sort();
            println!("{}", names.join(" "));
            // Leaked for good: nobody is to wait for them.
            std::process::exit(0);
        }
    }
}

pub(crate) const CASES: &[Case] = &[
    Case {
        // An early return that keeps the lock: here a guard that is forgotten.
        name: "a_missing_unlock",
        environment: &[],
        body: || {
            run(|| {
                let lock = Arc::new(Mutex::new(0));
                let forgetful = Arc::clone(&lock);
                Builder::new().name("forgetful").spawn(move || std::mem::forget(forgetful.lock())).join().unwrap();
                *lock.lock() += 1;
            });
        },
        check: |ended| certain(ended, &["fiber #0 'main': locking a mutex at forgotten.rs"]),
    },
    Case {
        // A function that locks what its caller has locked.
        name: "a_double_lock",
        environment: &[],
        body: || {
            run(|| {
                let lock = Mutex::new(0);
                let _guard = lock.lock();
                *lock.lock() += 1;
            });
        },
        check: |ended| {
            certain(ended, &["fiber #0 'main': locking a mutex at forgotten.rs"]);
            let report = plain(&ended.stderr);
            assert!(report.contains("cycle: #0 'main' (locking a mutex) waits for #0 'main'"), "{report}");
        },
    },
    Case {
        // A reader that reads again behind a writer that waits.
        name: "a_read_lock_within_a_read_lock",
        environment: &[],
        body: || {
            run(|| {
                let lock = Arc::new(RwLock::new(0));
                let guard = lock.read();
                let writer = Arc::clone(&lock);
                drop(Builder::new().name("writer").spawn(move || *writer.write() += 1));
                // The writer has announced itself when nobody can read any more.
                while lock.try_read().is_some() {
                    sleep(Duration::from_millis(1)).unwrap();
                }
                drop(lock.read());
                drop(guard);
            });
        },
        check: |ended| {
            certain(ended, &["fiber #0 'main': locking for reading at forgotten.rs"]);
            assert!(plain(&ended.stderr).contains("'writer': locking for writing"), "{}", ended.stderr);
        },
    },
    Case {
        // A consumer that ranges over a channel whose producer keeps a sender for ever.
        name: "a_channel_that_is_never_closed",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = unbounded::<u32>();
                drop(Builder::new().name("consumer").spawn(move || receiver.iter().count()));
                sender.send(1).unwrap();
                print_leaks(1);
                drop(sender);
            });
        },
        check: |ended| assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "consumer\n")),
    },
    Case {
        // A caller that times out, and leaves the one who answers with nobody to take the answer.
        name: "an_answer_that_nobody_takes",
        environment: &[],
        body: || {
            run(|| {
                let (sender, receiver) = bounded::<u32>(0);
                drop(Builder::new().name("answering").spawn(move || sender.send(1).is_ok()));
                print_leaks(1);
                drop(receiver);
            });
        },
        check: |ended| assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "answering\n")),
    },
    Case {
        // A select none of whose arms has anybody on the other side.
        name: "a_select_with_no_sender",
        environment: &[],
        body: || {
            run(|| {
                let ((_one, first), (_two, second)) = (bounded::<u32>(1), bounded::<u32>(1));
                select! {
                    recv(first) -> message => _ = message,
                    recv(second) -> message => _ = message,
                }
            });
        },
        check: |ended| {
            certain(
                ended,
                &[
                    "fiber #0 'main': selecting at forgotten.rs",
                    "channel _ (capacity 1, 0 inside, open, 0 sending, 1 receiving)",
                ],
            );
            assert_eq!(plain(&ended.stderr).matches("1 receiving)").count(), 3, "both, and one with its fiber");
        },
    },
    Case {
        // A lock held while sending, to one who wants the lock before it receives.
        name: "a_lock_held_across_a_send",
        environment: &[],
        body: || {
            run(|| {
                let lock = Arc::new(Mutex::new(0));
                let (sender, receiver) = bounded::<u32>(0);
                let guard = lock.lock();
                let wanted = Arc::clone(&lock);
                drop(Builder::new().name("receiver").spawn(move || {
                    let _guard = wanted.lock();
                    receiver.recv()
                }));
                sender.send(1).unwrap();
                drop(guard);
            });
        },
        check: |ended| {
            certain(ended, &["fiber #0 'main': sending to a channel at forgotten.rs"]);
            let report = plain(&ended.stderr);
            assert!(report.contains("'receiver': locking a mutex"), "{report}");
            assert!(report.contains("on mutex _ (1 waiting), held by fiber #0"), "{report}");
        },
    },
    Case {
        // A member that never says that it is done.
        name: "a_wait_group_without_a_done",
        environment: &[],
        body: || {
            run(|| {
                let group = WaitGroup::new();
                let member = group.clone();
                drop(Builder::new().name("member").spawn(move || std::mem::forget(member)));
                group.wait().unwrap();
            });
        },
        check: |ended| certain(ended, &["fiber #0 'main': waiting for a group at forgotten.rs"]),
    },
    Case {
        // A signal that came before the wait.
        name: "a_condition_that_was_signalled_too_early",
        environment: &[],
        body: || {
            run(|| {
                let pair = Arc::new((Mutex::new(()), Condvar::new()));
                let signaller = Arc::clone(&pair);
                spawn(move || signaller.1.notify_one()).join().unwrap();
                let mut guard = pair.0.lock();
                let _ = pair.1.wait(&mut guard);
            });
        },
        check: |ended| certain(ended, &["fiber #0 'main': waiting for a condition at forgotten.rs"]),
    },
    Case {
        // What somebody has in hand is no leak: only the one fiber that nobody will send to is.
        name: "waits_for_what_goes_on",
        environment: &[],
        body: || {
            run(|| {
                let (end, ending) = bounded::<()>(1);
                let lock = Arc::new(Mutex::new(()));
                let busy = {
                    let lock = Arc::clone(&lock);
                    Builder::new().name("holds the lock").spawn(move || {
                        let _guard = lock.lock();
                        sleep(Duration::from_secs(3600))
                    })
                };
                drop(Builder::new().name("wants the lock").spawn(move || drop(lock.lock())));
                drop(Builder::new().name("joins").spawn(move || drop(busy.join())));
                drop(Builder::new().name("opens a nursery").spawn(|| {
                    sisal::nursery(|n| {
                        n.spawn(|| _ = sleep(Duration::from_secs(3600)));
                        Ok::<(), ()>(())
                    })
                }));
                drop(Builder::new().name("gives up in time").spawn(|| {
                    let (_sender, receiver) = bounded::<u32>(1);
                    receiver.recv_timeout(Duration::from_secs(3600))
                }));
                let forgotten = Builder::new().name("forgotten").spawn(move || ending.recv());
                drop(Builder::new().name("joins the forgotten").spawn(move || drop(forgotten.join())));
                print_leaks(2);
                drop(end);
            });
        },
        check: |ended| assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "forgotten joins the forgotten\n")),
    },
];
