//! Channels for work: the results come in the order in which the work was sent.

use crate::common::gate::Gate;
use crate::common::places::{everywhere, everywhere_with_a_runtime, settle};
use crate::common::{rounds, until, with_workers};
use sisal::chan::{OrderedRecvError, SendError, ordered};
use sisal::{Cause, Handle, JoinError, sleep, yield_now};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn results_come_in_the_order_of_the_work_whatever_order_it_ends_in() {
    everywhere_with_a_runtime(|place| {
        let (tx, rx) = place.inside(|| ordered(8));
        let sender = place.spawn(move || {
            for number in 0..40u64 {
                let work = move || {
                    // In each eight the first ends last.
                    sleep(Duration::from_micros(200 * (8 - number % 8))).unwrap();
                    number
                };
                tx.send(work).ok().unwrap();
            }
        });
        let results: Vec<_> = (0..40).map(|_| rx.recv().unwrap()).collect();
        assert_eq!(results, (0..40).collect::<Vec<_>>());
        sender.join();
    });
}

#[test]
fn a_result_waits_for_all_before_it() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let way = gate.way();
        let (tx, rx) = place.inside(|| ordered(4));
        tx.send(move || way.pass().map(|()| 0).unwrap()).ok().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        for number in 1..4 {
            let done = Arc::clone(&done);
            tx.send(move || {
                done.fetch_add(1, Ordering::Relaxed);
                number
            })
            .ok()
            .unwrap();
        }
        until(|| done.load(Ordering::Relaxed) == 3);
        let receiver = place.spawn(move || (0..4).map(|_| rx.recv().unwrap()).collect::<Vec<_>>());
        settle();
        assert!(!receiver.is_finished(), "the first is not ready");
        gate.open();
        assert_eq!(receiver.join(), [0, 1, 2, 3]);
    });
}

#[test]
fn no_more_than_so_many_are_under_way() {
    const MOST: usize = 3;
    everywhere_with_a_runtime(|place| {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (tx, rx) = place.inside(|| ordered(MOST));
        let sender = {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            place.spawn(move || {
                for _ in 0..30 {
                    let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                    let work = move || {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        // As many as may be are under way at once. One more, if there could be one, would have its turn now.
                        until(|| most.load(Ordering::SeqCst) >= MOST);
                        settle();
                        running.fetch_sub(1, Ordering::SeqCst);
                    };
                    tx.send(work).ok().unwrap();
                }
            })
        };
        assert_eq!(std::iter::from_fn(|| rx.recv().ok()).count(), 30);
        sender.join();
        assert_eq!(most.load(Ordering::SeqCst), MOST);
    });
}

#[test]
fn one_more_than_may_be_under_way_waits_to_be_sent_though_somebody_waits_for_the_first() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let begun = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = place.inside(|| ordered(2));
        let receiver = place.spawn(move || rx.iter().map(Result::unwrap).collect::<Vec<_>>());
        let (way, count) = (gate.way(), Arc::clone(&begun));
        let sender = place.spawn(move || {
            for number in 0..3 {
                let (way, count) = (way.clone(), Arc::clone(&count));
                let work = move || {
                    count.fetch_add(1, Ordering::SeqCst);
                    way.pass().map(|()| number).unwrap()
                };
                tx.send(work).ok().unwrap();
            }
        });
        until(|| begun.load(Ordering::SeqCst) == 2);
        settle();
        assert!(!sender.is_finished() && begun.load(Ordering::SeqCst) == 2);
        gate.open();
        assert_eq!(receiver.join(), [0, 1, 2]);
        sender.join();
    });
}

#[test]
fn work_that_panics_is_an_error_in_its_place() {
    everywhere_with_a_runtime(|place| {
        let (tx, rx) = place.inside(|| ordered(4));
        for number in 0..4 {
            let work = move || if number == 1 { panic!("on purpose: {number}") } else { number };
            tx.send(work).ok().unwrap();
        }
        drop(tx);
        assert_eq!(rx.recv().ok(), Some(0));
        let Err(OrderedRecvError::Panicked(panic)) = rx.recv() else { panic!("the second has panicked") };
        assert_eq!(panic.message(), "on purpose: 1");
        assert_eq!((rx.recv().ok(), rx.recv().ok()), (Some(2), Some(3)));
        assert!(matches!(rx.recv(), Err(OrderedRecvError::Closed)));
    });
}

#[test]
fn when_all_senders_are_gone_the_rest_is_received_and_then_the_end_is_seen() {
    everywhere(|place| {
        let (tx, rx) = place.inside(|| ordered(4));
        let other = tx.clone();
        tx.send(|| 1).ok().unwrap();
        drop(tx);
        other.send(|| 2).ok().unwrap();
        drop(other);
        assert_eq!((rx.recv().ok(), rx.recv().ok()), (Some(1), Some(2)));
        assert!(matches!(rx.recv(), Err(OrderedRecvError::Closed)));
        assert!(matches!(rx.recv(), Err(OrderedRecvError::Closed)));
    });
}

#[test]
fn a_receiver_that_waits_sees_the_end() {
    everywhere(|place| {
        let (tx, rx) = place.inside(|| ordered::<u8>(1));
        let receiver = place.spawn(move || matches!(rx.recv(), Err(OrderedRecvError::Closed)));
        settle();
        drop(tx);
        assert!(receiver.join());
    });
}

#[test]
fn work_for_nobody_is_given_back() {
    everywhere(|place| {
        let (tx, rx) = place.inside(|| ordered(1));
        drop(rx);
        let error = tx.send(|| 42).unwrap_err();
        assert!(matches!(error, SendError::Closed(_)));
        assert_eq!(error.into_inner()(), 42);
    });
}

#[test]
fn a_sender_that_waits_is_given_its_work_back_when_the_receiver_goes() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let way = gate.way();
        let (tx, rx) = place.inside(|| ordered(1));
        let is_sent = Arc::new(AtomicBool::new(false));
        let sender = place.spawn({
            let is_sent = is_sent.clone();
            move || {
                tx.send(move || way.pass().map(|()| 0).unwrap()).ok().unwrap();
                is_sent.store(true, Ordering::Relaxed);
                tx.send(|| 42).unwrap_err().into_inner()()
            }
        });
        until(|| is_sent.load(Ordering::Relaxed));
        settle();
        drop(rx);
        gate.open();
        assert_eq!(sender.join(), 42);
    });
}

#[test]
fn results_are_iterated_over() {
    everywhere(|place| {
        let (tx, rx) = place.inside(|| ordered(16));
        (0..10).for_each(|number| tx.send(move || number * number).ok().unwrap());
        drop(tx);
        let squares: Vec<_> = rx.iter().filter_map(Result::ok).collect();
        assert_eq!(squares, (0..10).map(|number| number * number).collect::<Vec<i32>>());
    });
}

#[test]
fn results_are_received_by_a_thread_too() {
    with_workers(|workers| {
        let runtime = crate::common::background(workers);
        let (tx, rx) = runtime.run(|| ordered(4));
        let sender = runtime.spawn(move || {
            for number in 0..rounds(500) {
                let work = move || {
                    (0..number % 4).for_each(|_| yield_now());
                    number
                };
                tx.send(work).ok().unwrap();
            }
        });
        for number in 0..rounds(500) {
            assert_eq!(rx.recv().ok(), Some(number));
        }
        sender.join().unwrap();
        assert!(matches!(rx.recv(), Err(OrderedRecvError::Closed)));
        crate::common::shut_down(runtime);
    });
}

#[test]
fn one_at_least_may_be_under_way() {
    assert!(catch_unwind(|| drop(ordered::<u8>(0))).is_err());
}

#[test]
fn work_that_was_not_begun_when_the_runtime_stopped_is_reported_as_such() {
    crate::common::watchdog::guarded(|| {
        let runtime = crate::common::background(1);
        let sender = runtime.spawn(|| {
            let (tx, rx) = ordered(4);
            tx.send(|| 1).ok().unwrap();
            Handle::current().unwrap().request_stop();
            rx
        });
        let rx = sender.join().unwrap_or_else(|error: JoinError| panic!("{error}"));
        let stopped = match rx.recv() {
            Err(OrderedRecvError::Stopped(cancelled)) => cancelled,
            other => panic!("the work was not to run: {:?}", other.ok()),
        };
        assert_eq!(stopped.cause, Cause::Shutdown);
        assert!(runtime.shutdown(crate::common::LONG).is_clean());
    });
}
