//! What is done by choice.

use crate::expected::{contains_all, none, plain};
use crate::{A_WHILE, Case, named, run, until_reported};
use sisal::Builder;
use sisal::chan::bounded;
use std::sync::Arc;
use std::thread;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "a_dump_at_a_signal",
        environment: &[("SISAL_DUMP", "quit")],
        body: || {
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let waiter = named("waiter", move || receiver.recv().is_err());
                while sisal::inspect::snapshot().unwrap().counts.parked == 0 {
                    sisal::yield_now();
                }
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
        name: "cancelled_by_choice_in_vain",
        environment: &[("SISAL_ON_DEADLOCK", "cancel"), ("SISAL_STATS", "1")],
        body: || {
            run(|| {
                let (_sender, receiver) = bounded::<u32>(1);
                let waiter = named("waiter", move || _ = receiver.recv());
                let lock = sisal::sync::Mutex::new(());
                let _guard = lock.lock();
                drop(lock.lock());
                drop(waiter);
            });
        },
        check: |ended| {
            assert_eq!(ended.code, Some(124));
            let report = plain(&ended.stderr);
            assert_eq!(report.matches("sisal: deadlock: no fiber can ever run again").count(), 1, "{report}");
            assert!(report.contains("exit code 124: those who wait could not be cancelled"), "{report}");
            assert!(report.contains("1 fibers spawned, 1 ended"), "its statistics: {report}");
        },
    },
    Case {
        name: "reported_by_choice",
        environment: &[("SISAL_ON_DEADLOCK", "report")],
        body: || {
            let (sender, receiver) = bounded(1);
            let _thread = thread::spawn(move || {
                until_reported();
                sender.send(7)
            });
            run(|| {
                let lock = Arc::new(sisal::sync::Mutex::new(()));
                drop(named("stuck", move || {
                    let _guard = lock.lock();
                    drop(lock.lock());
                }));
                assert_eq!(receiver.recv(), Ok(7));
                println!("went on");
                std::process::exit(0);
            });
        },
        check: |ended| {
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "went on\n"));
            let report = plain(&ended.stderr);
            assert!(report.contains("sisal: deadlock: a fiber waits for itself, while something may come"), "{report}");
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
