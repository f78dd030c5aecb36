//! `Select`: arms that are known only at run time.

use crate::common::flavours::{FLAVOURS, Flavour, Ledger};
use crate::common::places::{everywhere, join_all, settle};
use crate::common::{LONG, until};
use sisal::chan::{RecvError, SendError, TryRecvError, after, bounded, never, unbounded};
use sisal::{Select, select};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

#[test]
fn the_handler_of_the_arm_that_is_ready_runs_and_its_result_is_returned() {
    everywhere(|_| {
        let ((numbers, number), (texts, text)) = (unbounded::<i32>(), unbounded::<&str>());
        let mut select = Select::new();
        select.recv(&number, |received| received.unwrap().to_string());
        select.recv(&text, |received| received.unwrap().to_owned());
        texts.send("tea").unwrap();
        assert_eq!(select.wait(), "tea");
        numbers.send(7).unwrap();
        assert_eq!(select.wait(), "7");
        assert_eq!(select.try_wait(), None);
    });
}

#[test]
fn arms_are_numbered_in_their_order() {
    let ((tx, _keep), rx) = (bounded(1), never::<u8>());
    let mut select = Select::new();
    assert_eq!(select.recv(&rx, |_| ()), 0);
    assert_eq!(select.send(&tx, || 1, |_| ()), 1);
    assert_eq!(select.recv(&rx, |_| ()), 2);
}

#[test]
fn a_hundred_arms_are_waited_for() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (txs, rxs): (Vec<_>, Vec<_>) = (0..100).map(|_| flavour.make::<usize>()).unzip();
            let mut select = Select::new();
            for (number, rx) in rxs.iter().enumerate() {
                select.recv(rx, move |received| assert_eq!(received, Ok(number)));
            }
            let sender = place.spawn(move || {
                for (number, tx) in txs.iter().enumerate().rev() {
                    tx.send(number).unwrap();
                }
                txs
            });
            (0..100).for_each(|_| select.wait());
            assert_eq!(select.try_wait(), None);
            drop(sender.join());
        }
    });
}

#[test]
fn a_wait_waits() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ((tx1, rx1), (tx2, rx2)) = (flavour.make(), flavour.make());
            let second = rx2.clone();
            let selector = place.spawn(move || {
                let mut select = Select::new();
                select.recv(&rx1, |received| (1, received));
                select.recv(&rx2, |received| (2, received));
                [select.wait(), select.wait()]
            });
            settle();
            assert!(!selector.is_finished());
            tx2.send("b").unwrap();
            until(|| second.is_empty());
            tx1.send("a").unwrap();
            assert_eq!(selector.join(), [(2, Ok("b")), (1, Ok("a"))]);
        }
    });
}

#[test]
fn a_value_is_made_anew_for_each_wait() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        let next = Cell::new(0);
        let mut select = Select::new();
        let make = || {
            next.set(next.get() + 1);
            next.get()
        };
        select.send(&tx, make, |sent| sent.unwrap());
        (0..5).for_each(|_| select.wait());
        drop(select);
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn a_value_that_was_not_sent_is_dropped() {
    everywhere(|_| {
        let ledger = Ledger::of(4);
        let next = Cell::new(0);
        let ((full, _keep), (tx, rx)) = (bounded(0), unbounded());
        let mut select = Select::new();
        let make = || ledger.make(next.replace(next.get() + 1));
        select.send(&full, make, |_| ());
        select.recv(&rx, |received| received.unwrap());
        tx.send(()).unwrap();
        select.wait();
        assert_eq!(select.try_wait(), None);
        assert_eq!(select.wait_timeout(Duration::from_micros(100)), None);
        drop(select);
        let made = next.get();
        assert!(made <= 3, "at most one for each wait");
        (made..4).for_each(|number| drop(ledger.make(number)));
        ledger.check();
    });
}

#[test]
fn handlers_share_what_is_around_them() {
    everywhere(|_| {
        let ((tx1, rx1), (tx2, rx2)) = (unbounded(), unbounded());
        let log = RefCell::new(Vec::new());
        let mut select = Select::new();
        select.recv(&rx1, |received| log.borrow_mut().push(("one", received.ok())));
        select.recv(&rx2, |received| log.borrow_mut().push(("two", received.ok())));
        let mut count = 0;
        tx1.send(1).unwrap();
        select.wait();
        tx2.send(2).unwrap();
        select.wait();
        drop(select);
        let mut counting = Select::new();
        counting.recv(&rx1, |_| count += 1);
        tx1.send(3).unwrap();
        counting.wait();
        drop(counting);
        assert_eq!((count, log.into_inner()), (1, vec![("one", Some(1)), ("two", Some(2))]));
    });
}

#[test]
fn trying_does_not_wait() {
    everywhere(|_| {
        let ((tx, rx), (full, _keep)) = (unbounded(), bounded(0));
        let mut select = Select::new();
        select.recv(&rx, |received| received.ok());
        select.send(&full, || 1, |_| None);
        assert_eq!(select.try_wait(), None);
        tx.send(7).unwrap();
        assert_eq!((select.try_wait(), select.try_wait()), (Some(Some(7)), None));
    });
}

#[test]
fn a_wait_ends_when_its_time_is_over_and_not_before() {
    everywhere(|_| {
        let (tx, rx) = unbounded::<u8>();
        let mut select = Select::new();
        select.recv(&rx, |received| received);
        let time = Duration::from_millis(2);
        let start = Instant::now();
        assert_eq!(select.wait_timeout(time), None);
        assert!(start.elapsed() >= time);
        let deadline = Instant::now() + time;
        assert_eq!(select.wait_deadline(deadline), None);
        assert!(Instant::now() >= deadline);
        tx.send(1).unwrap();
        assert_eq!(select.wait_timeout(Duration::ZERO), Some(Ok(1)), "what is there comes before the time");
        tx.send(2).unwrap();
        assert_eq!(select.wait_deadline(start), Some(Ok(2)));
        assert_eq!(select.wait_timeout(Duration::ZERO), None);
    });
}

#[test]
fn what_comes_in_time_is_taken() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        let selector = place.spawn(move || {
            let mut select = Select::new();
            select.recv(&rx, |received| received);
            [select.wait_timeout(LONG), select.wait_deadline(Instant::now() + LONG), select.wait_timeout(Duration::MAX)]
        });
        tx.send(1).unwrap();
        settle();
        tx.send(2).unwrap();
        settle();
        drop(tx);
        assert_eq!(selector.join(), [Some(Ok(1)), Some(Ok(2)), Some(Err(RecvError::Closed))]);
    });
}

#[test]
fn without_arms_there_is_nothing_to_wait_for() {
    let result = catch_unwind(AssertUnwindSafe(|| Select::<()>::new().wait()));
    assert!(result.is_err());
}

#[test]
fn closed_channels_are_ready() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let ((tx, rx), (_open, open)) = (flavour.make(), bounded::<i32>(0));
            rx.close();
            let mut select = Select::new();
            select.recv(&open, |_| false);
            select.recv(&rx, |received| received == Err(RecvError::Closed));
            assert!(select.wait() && select.try_wait().unwrap());
            let mut select = Select::new();
            select.recv(&open, |_| false);
            select.send(&tx, || 7, |sent| sent == Err(SendError::Closed(7)));
            assert!(select.wait() && select.wait_timeout(LONG).unwrap());
        }
    });
}

#[test]
fn a_close_wakes_it() {
    everywhere(|place| {
        let ((tx, rx), (full, kept)) = (bounded::<i32>(0), bounded::<i32>(0));
        let selectors = place.crowd(4, |_| {
            let (rx, full) = (rx.clone(), full.clone());
            move || {
                let mut select = Select::new();
                select.recv(&rx, |received| received.is_err());
                select.send(&full, || 1, |sent| sent.is_err());
                select.wait()
            }
        });
        settle();
        drop(tx);
        assert_eq!(join_all(selectors), [true; 4]);
        drop(kept);
    });
}

#[test]
fn it_meets_the_other_kind_of_select_and_plain_calls() {
    everywhere(|place| {
        let ((tx1, rx1), (tx2, rx2)) = (bounded(0), bounded(0));
        let sender = place.spawn(move || {
            let number = Cell::new(0);
            let mut select = Select::new();
            select.send(&tx1, || number.get(), Result::unwrap);
            select.send(&tx2, || number.get(), Result::unwrap);
            for next in 1..=90 {
                select.wait();
                number.set(next);
            }
        });
        for number in 0..90 {
            let received = match number % 3 {
                0 => select! {
                    recv(rx1) -> received => received,
                    recv(rx2) -> received => received,
                },
                1 => rx1.recv(),
                _ => rx2.recv(),
            };
            assert_eq!(received, Ok(number));
        }
        sender.join();
    });
}

#[test]
fn it_does_not_meet_itself() {
    everywhere(|_| {
        let (tx, rx) = bounded(0);
        let mut select = Select::new();
        select.send(&tx, || 1, |sent| panic!("nobody receives: {sent:?}"));
        select.recv(&rx, |received| panic!("nobody sends: {received:?}"));
        assert_eq!(select.try_wait(), None::<()>);
        assert_eq!(select.wait_timeout(Duration::from_millis(1)), None);
    });
}

#[test]
fn a_channel_may_stand_in_several_arms() {
    everywhere(|_| {
        for flavour in [Flavour::Bounded(100), Flavour::Unbounded] {
            let (tx, rx) = flavour.make();
            let mut select = Select::new();
            select.send(&tx, || 0, Result::unwrap);
            select.send(&tx, || 1, Result::unwrap);
            (0..100).for_each(|_| select.wait());
            let ones: usize = rx.try_iter().sum();
            assert!((10..=90).contains(&ones), "{ones} of 100 were the second");
        }
    });
}

#[test]
fn it_is_left_without_a_trace_when_its_time_is_over() {
    everywhere(|_| {
        let ((tx, rx), (full, takes)) = (bounded(0), bounded(0));
        let mut select = Select::new();
        select.recv(&rx, |_: Result<i32, _>| ());
        select.send(&full, || 1, |_| ());
        (0..5).for_each(|_| assert_eq!(select.wait_timeout(Duration::from_micros(200)), None));
        assert!(tx.try_send(1).is_err(), "nobody waits there any more");
        assert_eq!(takes.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn a_timer_ends_the_wait() {
    everywhere(|_| {
        let (timer, off) = (after(Duration::from_millis(2)), never::<u8>());
        let mut select = Select::new();
        select.recv(&off, |_| false);
        select.recv(&timer, |when| when.is_ok());
        assert!(select.wait());
        assert_eq!(select.try_wait(), None);
    });
}

#[test]
fn a_handler_that_panics_leaves_the_arms_as_they_were() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        let mut select = Select::new();
        select.recv(&rx, |received| assert!(received == Ok(2), "on purpose"));
        tx.send(1).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| select.wait())).is_err());
        tx.send(2).unwrap();
        select.wait();
        assert_eq!(select.try_wait(), None);
    });
}

#[test]
fn a_merger_of_many_channels_loses_nothing() {
    const SOURCES: usize = 6;
    const EACH: usize = 100;
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (txs, rxs): (Vec<_>, Vec<_>) = (0..SOURCES).map(|_| flavour.make()).unzip();
            let sources: Vec<_> = txs
                .into_iter()
                .map(|tx| place.spawn(move || (0..EACH).for_each(|number| tx.send(number).unwrap())))
                .collect();
            let next: Vec<_> = rxs.iter().map(|_| Cell::new(0)).collect();
            let mut select = Select::new();
            for (rx, next) in rxs.iter().zip(&next) {
                select.recv(rx, move |received| match received {
                    Ok(number) => assert_eq!(number, next.replace(number + 1), "each in its order"),
                    Err(error) => assert_eq!((error, next.get()), (RecvError::Closed, EACH)),
                });
            }
            // A closed channel stays ready: some of these waits only tell of that.
            while next.iter().any(|next| next.get() < EACH) {
                select.wait();
            }
            join_all(sources);
        }
    });
}

#[test]
fn a_message_that_was_taken_back_is_not_sent() {
    use sisal::CancelToken;
    use sisal::select::hidden::{send, wait};
    let (sender, receiver) = bounded::<Box<u8>>(1);
    sender.send(Box::new(0)).unwrap();
    let mut arm = send(&sender, Box::new(7));
    let token = CancelToken::new();
    token.cancel();
    token.run(|| wait([arm.any()]));
    let message = arm.take().unwrap_err().into_inner();
    receiver.recv().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| wait([arm.any()]))).is_err());
    assert_eq!((receiver.try_recv(), *message), (Err(TryRecvError::Empty), 7));
}
