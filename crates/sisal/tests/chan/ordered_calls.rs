//! Every call of a channel for work, from fibers and from threads, and what a close, a cancel or a panic does to it.

use crate::common::gate::Gate;
use crate::common::places::{Place, everywhere, everywhere_with_a_runtime, join_all, settle};
use crate::common::{LONG, background, fixed, shut_down, until, watchdog, with_workers};
use sisal::chan::{
    OrderedReceiver, OrderedRecvError, OrderedRecvTimeoutError, OrderedSender, OrderedTryRecvError, SendError,
    SendTimeoutError, TrySendError, ordered,
};
use sisal::{CancelToken, Cause, in_fiber, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A channel of the runtime in which there is one piece of work that ends when the gate is opened, and returns 0.
fn with_one_at(place: &Place, gate: &Gate, capacity: usize) -> (OrderedSender<i32>, OrderedReceiver<i32>) {
    let (tx, rx) = place.inside(move || ordered(capacity));
    let way = gate.way();
    tx.send(move || way.pass().map(|()| 0).unwrap()).unwrap();
    (tx, rx)
}

fn is_empty<T>(received: Result<T, OrderedTryRecvError>) -> bool {
    matches!(received, Err(OrderedTryRecvError::Empty))
}

#[test]
fn fibers_and_threads_send_and_receive_and_the_work_of_each_comes_in_its_order() {
    const SENDERS: usize = 3;
    const EACH: usize = 40;
    everywhere(|place| {
        // Of the runtime, and of nobody where the body is a thread.
        for (tx, rx) in [place.inside(|| ordered(4)), ordered(4)] {
            let senders = place.crowd(SENDERS, |sender| {
                let tx = tx.clone();
                move || (0..EACH).for_each(|number| tx.send(move || (sender, number)).unwrap())
            });
            drop(tx);
            let rx = Arc::new(rx);
            let receivers = place.crowd(2, |_| {
                let rx = Arc::clone(&rx);
                move || rx.iter().map(Result::unwrap).collect::<Vec<_>>()
            });
            join_all(senders);
            let received = join_all(receivers);
            for sender in 0..SENDERS {
                let of_it = |results: &Vec<(usize, usize)>| {
                    let all = results.iter().filter(|result| result.0 == sender);
                    all.map(|result| result.1).collect::<Vec<_>>()
                };
                let mut all: Vec<_> =
                    received.iter().map(of_it).inspect(|numbers| assert!(numbers.is_sorted())).collect();
                let mut all: Vec<_> = all.drain(..).flatten().collect();
                all.sort_unstable();
                assert_eq!(all, (0..EACH).collect::<Vec<_>>());
            }
            assert!(rx.is_empty() && rx.is_closed());
        }
    });
}

#[test]
fn what_a_thread_sends_runs_in_the_runtime_that_the_channel_was_made_in() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (tx, rx) = runtime.run(|| ordered(2));
        tx.send(in_fiber).unwrap();
        tx.try_send(in_fiber).unwrap();
        assert!(rx.recv().unwrap() && rx.recv().unwrap());
        tx.send_timeout(in_fiber, LONG).unwrap();
        thread::spawn(move || tx.send_deadline(in_fiber, Instant::now() + LONG).unwrap()).join().unwrap();
        assert!(rx.recv_timeout(LONG).unwrap() && rx.recv_deadline(Instant::now() + LONG).unwrap());
        shut_down(runtime);
    });
}

#[test]
fn where_there_is_no_runtime_the_sender_does_the_work_itself() {
    watchdog::guarded(|| {
        let here = || (in_fiber(), thread::current().id());
        let (tx, rx) = ordered(4);
        tx.send(here).unwrap();
        tx.try_send(here).unwrap();
        tx.send_timeout(here, Duration::ZERO).unwrap();
        let other = tx.clone();
        let sender = thread::spawn(move || {
            other.send_deadline(here, Instant::now()).unwrap();
            thread::current().id()
        });
        let there = sender.join().unwrap();
        drop(tx);
        let done_by: Vec<_> = rx.iter().map(Result::unwrap).collect();
        let me = (false, thread::current().id());
        assert_eq!(done_by, [me, me, me, (false, there)]);
    });
}

#[test]
fn what_the_sender_does_itself_is_not_cancelled_with_it() {
    watchdog::guarded(|| {
        let (tx, rx) = ordered(1);
        let token = CancelToken::new();
        let inside = token.clone();
        let work = move || {
            inside.cancel();
            sisal::sleep(Duration::from_millis(1))
        };
        token.run(|| tx.send(work).unwrap());
        rx.recv().unwrap().expect("a nap that nobody cancels");
    });
}

#[test]
fn there_may_be_room_for_any_number() {
    watchdog::guarded(|| {
        let (tx, rx) = ordered(usize::MAX);
        tx.send(|| 7).unwrap();
        assert_eq!((rx.recv().unwrap(), tx.capacity()), (7, usize::MAX));
        drop(rx);
        assert!(tx.is_closed() && tx.send(|| 8).is_err());
    });
}

#[test]
fn a_panic_in_what_the_sender_does_itself_is_its_own_and_takes_no_room() {
    watchdog::guarded(|| {
        let (tx, rx) = ordered(2);
        for _ in 0..5 {
            assert!(catch_unwind(AssertUnwindSafe(|| tx.send(|| panic!("on purpose")))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| tx.try_send(|| panic!("on purpose")))).is_err());
            assert!(tx.is_empty());
        }
        tx.send(|| 1).unwrap();
        tx.send(|| 2).unwrap();
        assert!(tx.is_full());
        assert_eq!((rx.recv().unwrap(), rx.try_recv().unwrap()), (1, 2));
        assert!(is_empty(rx.try_recv()));
    });
}

#[test]
fn a_panic_is_an_error_in_its_place_by_whatever_call_it_is_received() {
    everywhere_with_a_runtime(|place| {
        let (tx, rx) = place.inside(|| ordered(6));
        for number in 0..6 {
            tx.send(move || if number % 2 == 0 { panic!("on purpose: {number}") } else { number }).unwrap();
        }
        let message = |panic: sisal::Panic| panic.message().to_owned();
        match rx.recv() {
            Err(OrderedRecvError::Panicked(panic)) => assert_eq!(message(panic), "on purpose: 0"),
            other => panic!("{other:?}"),
        }
        assert_eq!(rx.recv().unwrap(), 1);
        match rx.recv_timeout(LONG) {
            Err(OrderedRecvTimeoutError::Panicked(panic)) => assert_eq!(message(panic), "on purpose: 2"),
            other => panic!("{other:?}"),
        }
        assert_eq!(rx.recv_deadline(Instant::now() + LONG).unwrap(), 3);
        loop {
            match rx.try_recv() {
                Err(OrderedTryRecvError::Empty) => sisal::yield_now(),
                Err(OrderedTryRecvError::Panicked(panic)) => break assert_eq!(message(panic), "on purpose: 4"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(rx.recv().unwrap(), 5);
    });
}

#[test]
fn trying_to_send_gives_the_work_back_when_there_is_no_room_and_when_it_is_closed() {
    everywhere(|_| {
        let (tx, rx) = ordered(2);
        assert_eq!((tx.capacity(), tx.len(), tx.is_empty()), (2, 0, true));
        tx.try_send(|| 1).unwrap();
        tx.try_send(|| 2).unwrap();
        assert!(tx.is_full() && rx.is_full() && (tx.len(), rx.len()) == (2, 2));
        let error = tx.try_send(|| 3).unwrap_err();
        assert!(matches!(error, TrySendError::Full(_)));
        assert_eq!((error.into_inner()(), rx.recv().unwrap()), (3, 1));
        assert!(!tx.is_full() && (tx.len(), rx.len()) == (1, 1));
        tx.try_send(|| 4).unwrap();
        assert!(rx.close() && !tx.close());
        let error = tx.try_send(|| 5).unwrap_err();
        assert!(matches!(error, TrySendError::Closed(_)), "closed, though it is full, too");
        assert_eq!((error.into_inner()(), rx.recv().unwrap(), rx.recv().unwrap()), (5, 2, 4));
        assert!(matches!(rx.try_recv(), Err(OrderedTryRecvError::Closed)));
    });
}

#[test]
fn a_send_that_has_a_time_gives_the_work_back_when_it_is_over_and_not_before() {
    everywhere(|place| {
        let (tx, rx) = ordered(1);
        tx.send(|| 1).unwrap();
        let start = Instant::now();
        let error = tx.send_timeout(|| 2, Duration::from_millis(2)).unwrap_err();
        assert!(matches!(error, SendTimeoutError::TimedOut(_)) && start.elapsed() >= Duration::from_millis(2));
        assert_eq!((error.into_inner()(), tx.len()), (2, 1));
        let then = Instant::now() + Duration::from_millis(2);
        let error = tx.send_deadline(|| 3, then).unwrap_err();
        assert!(error.is_timed_out() && Instant::now() >= then);
        let senders = place.crowd(2, |number| {
            let tx = tx.clone();
            move || match number {
                0 => tx.send_timeout(|| 4, LONG).is_ok(),
                _ => tx.send_deadline(|| 4, Instant::now() + LONG).is_ok(),
            }
        });
        settle();
        assert_eq!((0..3).map(|_| rx.recv().unwrap()).collect::<Vec<_>>(), [1, 4, 4]);
        assert_eq!(join_all(senders), [true; 2]);
        rx.close();
        assert!(tx.send_timeout(|| 5, LONG).unwrap_err().is_closed());
    });
}

#[test]
fn trying_to_receive_gives_nothing_before_its_turn_though_later_work_is_done() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let (tx, rx) = with_one_at(place, &gate, 2);
        let done = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&done);
        tx.send(move || told.fetch_add(1, Ordering::SeqCst) as i32 + 1).unwrap();
        until(|| done.load(Ordering::SeqCst) == 1);
        for _ in 0..3 {
            assert!(is_empty(rx.try_recv()));
            assert_eq!(rx.len(), 2, "what was looked at stays");
        }
        gate.open();
        let mut received = Vec::new();
        until_two(&rx, &mut received);
        assert_eq!(received, [0, 1]);
        assert!(is_empty(rx.try_recv()));
        drop(tx);
        assert!(matches!(rx.try_recv(), Err(OrderedTryRecvError::Closed)));
    });
}

fn until_two(rx: &OrderedReceiver<i32>, received: &mut Vec<i32>) {
    while received.len() < 2 {
        match rx.try_recv() {
            Ok(number) => received.push(number),
            Err(error) => assert!(is_empty::<()>(Err(error))),
        }
        sisal::yield_now();
    }
}

#[test]
fn a_receive_whose_time_is_over_leaves_the_result_to_the_next() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let (tx, rx) = with_one_at(place, &gate, 1);
        let start = Instant::now();
        assert!(matches!(rx.recv_timeout(Duration::from_millis(1)), Err(OrderedRecvTimeoutError::TimedOut)));
        let then = Instant::now() + Duration::from_millis(1);
        assert!(matches!(rx.recv_deadline(then), Err(OrderedRecvTimeoutError::TimedOut)));
        assert!(start.elapsed() >= Duration::from_millis(2) && rx.len() == 1);
        gate.open();
        assert_eq!(rx.recv_timeout(LONG).unwrap(), 0);
        assert!(matches!(rx.recv_timeout(Duration::from_millis(1)), Err(OrderedRecvTimeoutError::TimedOut)), "empty");
        drop(tx);
        assert!(matches!(rx.recv_timeout(LONG), Err(OrderedRecvTimeoutError::Closed)));
    });
}

#[test]
fn while_one_waits_for_its_turn_another_that_tries_gets_nothing() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let (_tx, rx) = with_one_at(place, &gate, 1);
        let rx = Arc::new(rx);
        let other = Arc::clone(&rx);
        let patient = place.spawn(move || other.recv().unwrap());
        settle();
        assert!(is_empty(rx.try_recv()));
        assert!(matches!(rx.recv_timeout(Duration::from_millis(1)), Err(OrderedRecvTimeoutError::TimedOut)));
        gate.open();
        assert_eq!(patient.join(), 0);
    });
}

#[test]
fn a_close_by_either_side_gives_back_what_waits_to_be_sent_and_what_was_sent_is_received() {
    everywhere(|place| {
        for by_sender in [true, false] {
            let (tx, rx) = ordered(2);
            tx.send(|| 1).unwrap();
            tx.send(|| 2).unwrap();
            let senders = place.crowd(3, |number| {
                let tx = tx.clone();
                move || match number {
                    0 => tx.send_timeout(|| 7, LONG).map_err(SendTimeoutError::into_inner).unwrap_err()(),
                    _ => match tx.send(|| 7) {
                        Err(SendError::Closed(work)) => work(),
                        other => panic!("{other:?}"),
                    },
                }
            });
            settle();
            assert!(!tx.is_closed());
            assert!(if by_sender { tx.close_with("enough") } else { rx.close_with("enough") });
            assert!(!tx.close() && !rx.close_with("again") && tx.is_closed() && rx.is_closed());
            assert_eq!(join_all(senders), [7; 3]);
            assert_eq!((rx.len(), rx.recv().unwrap(), rx.recv().unwrap(), rx.len()), (2, 1, 2, 0));
            assert!(matches!(rx.recv(), Err(OrderedRecvError::Closed)));
            let reasons = [tx.close_reason(), rx.close_reason()].map(|reason| reason.unwrap().to_string());
            assert_eq!(reasons, ["enough"; 2]);
        }
    });
}

#[test]
fn a_close_wakes_those_who_wait_to_receive() {
    everywhere(|place| {
        let (tx, rx) = ordered::<u8>(1);
        let rx = Arc::new(rx);
        let receivers = place.crowd(3, |number| {
            let rx = Arc::clone(&rx);
            move || match number {
                0 => matches!(rx.recv_timeout(LONG), Err(OrderedRecvTimeoutError::Closed)),
                _ => matches!(rx.recv(), Err(OrderedRecvError::Closed)),
            }
        });
        settle();
        assert!(tx.close());
        assert_eq!(join_all(receivers), [true; 3]);
    });
}

#[test]
fn a_cancelled_send_gives_the_work_back_and_takes_no_room() {
    everywhere(|place| {
        let token = CancelToken::new();
        let (tx, rx) = ordered(1);
        tx.send(|| 0).unwrap();
        let senders = place.crowd(2, |number| {
            let (token, tx) = (token.clone(), tx.clone());
            move || {
                token.run(|| match number {
                    0 => match tx.send(|| 7) {
                        Err(SendError::Cancelled(work, cancelled)) => (work(), cancelled.cause),
                        other => panic!("{other:?}"),
                    },
                    _ => match tx.send_timeout(|| 7, LONG) {
                        Err(SendTimeoutError::Cancelled(work, cancelled)) => (work(), cancelled.cause),
                        other => panic!("{other:?}"),
                    },
                })
            }
        });
        settle();
        token.cancel();
        assert_eq!(join_all(senders), [(7, Cause::Request); 2]);
        assert_eq!((tx.len(), rx.recv().unwrap()), (1, 0));
        token.run(|| tx.send(|| 1)).unwrap();
        assert_eq!(token.run(|| rx.recv_timeout(LONG)).ok().or_else(|| rx.recv().ok()), Some(1));
    });
}

#[test]
fn a_cancelled_receive_leaves_the_result_and_work_is_not_cancelled_with_its_sender() {
    everywhere_with_a_runtime(|place| {
        let (gate, token) = (Gate::closed(), CancelToken::new());
        let (tx, rx) = token.run(|| with_one_at(place, &gate, 1));
        let (rx, inner) = (Arc::new(rx), token.clone());
        let other = Arc::clone(&rx);
        let receiver = place.spawn(move || match inner.run(|| other.recv()) {
            Err(OrderedRecvError::Cancelled(cancelled)) => cancelled.cause,
            other => panic!("{other:?}"),
        });
        settle();
        token.cancel();
        assert_eq!((receiver.join(), tx.len()), (Cause::Request, 1));
        gate.open();
        assert_eq!(rx.recv().unwrap(), 0);
    });
}

#[test]
fn at_the_limit_of_fibers_sends_wait_as_long_as_they_may_and_leave_nothing_behind() {
    for workers in [1, 2, 4] {
        watchdog::guarded(|| {
            let runtime = fixed(workers).max_fibers(2).build().unwrap();
            // The body is one of the two.
            runtime.run(|| {
                let gate = Gate::closed();
                let (tx, rx) = ordered(4);
                let way = gate.way();
                tx.send(move || way.pass().map(|()| 0).unwrap()).unwrap();
                assert!(tx.try_send(|| 1).unwrap_err().is_full());
                assert!(tx.send_timeout(|| 1, Duration::from_millis(1)).unwrap_err().is_timed_out());
                let token = CancelToken::new();
                token.cancel();
                assert!(token.run(|| tx.send(|| 1)).unwrap_err().is_cancelled());
                assert_eq!(tx.len(), 1);
                gate.open();
                tx.send_timeout(|| 1, LONG).unwrap();
                tx.send(|| 2).unwrap();
                drop(tx);
                assert_eq!(rx.iter().map(Result::unwrap).collect::<Vec<_>>(), [0, 1, 2]);
            });
            shut_down(runtime);
        });
    }
}

#[test]
fn what_a_thread_sends_to_a_runtime_that_has_stopped_is_reported_as_such() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (tx, rx) = runtime.run(|| ordered(4));
        assert!(runtime.shutdown(LONG).is_clean());
        (0..4).for_each(|_| tx.send(|| 1).unwrap());
        let is_stopped = |cause| cause == Cause::Shutdown;
        assert!(matches!(rx.recv(), Err(OrderedRecvError::Stopped(why)) if is_stopped(why.cause)));
        assert!(matches!(rx.try_recv(), Err(OrderedTryRecvError::Stopped(why)) if is_stopped(why.cause)));
        assert!(matches!(rx.recv_timeout(LONG), Err(OrderedRecvTimeoutError::Stopped(why)) if is_stopped(why.cause)));
        assert_eq!(rx.len(), 1);
    });
}

#[test]
fn senders_are_counted() {
    everywhere(|_| {
        let (tx, rx) = ordered::<u8>(1);
        let other = tx.clone();
        assert_eq!((tx.sender_count(), rx.sender_count()), (2, 2));
        drop(tx);
        assert_eq!((rx.sender_count(), rx.is_closed()), (1, false));
        drop(other);
        assert_eq!((rx.sender_count(), rx.is_closed()), (0, true));
    });
}

#[test]
fn an_iterator_that_does_not_wait_ends_before_what_is_not_done() {
    everywhere_with_a_runtime(|place| {
        let gate = Gate::closed();
        let (tx, rx) = with_one_at(place, &gate, 3);
        (1..=2).for_each(|number| tx.send(move || number).unwrap());
        assert!(rx.try_iter().next().is_none());
        gate.open();
        let mut received = Vec::new();
        while received.len() < 3 {
            received.extend(rx.try_iter().map(Result::unwrap));
            yield_now();
        }
        assert_eq!(received, [0, 1, 2]);
    });
}

#[test]
fn an_iterator_that_owns_the_receiver_waits_until_the_channel_is_closed() {
    everywhere(|place| {
        let (tx, rx) = ordered(2);
        let sending = place.spawn(move || (0..20).for_each(|number| tx.send(move || number).unwrap()));
        assert_eq!(rx.into_iter().map(Result::unwrap).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
        sending.join();
    });
}
