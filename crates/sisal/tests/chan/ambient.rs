//! Waits on channels inside of `timeout` and `deadline`: they end with these, unless they need not wait.

use crate::common::LONG;
use crate::common::places::{everywhere, join_all};
use sisal::chan::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, bounded, broadcast, oneshot, watch};
use sisal::{Cause, deadline, select, timeout};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);

#[track_caller]
fn ended_by_deadline<T>(result: Result<T, RecvError>) {
    match result {
        Err(RecvError::Cancelled(cancelled)) => assert_eq!(cancelled.cause, Cause::Deadline),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("nothing was sent"),
    }
}

#[test]
fn a_receive_ends_with_the_time_around_it_and_not_before() {
    everywhere(|_| {
        let (_tx, rx) = bounded::<u8>(0);
        let start = Instant::now();
        ended_by_deadline(timeout(SHORT, || rx.recv()));
        assert!(start.elapsed() >= SHORT);
        let end = Instant::now() + SHORT;
        ended_by_deadline(deadline(end, || rx.recv()));
        assert!(Instant::now() >= end);
    });
}

#[test]
fn a_send_ends_with_the_time_around_it_and_gives_the_item_back() {
    everywhere(|_| {
        for capacity in [0, 1] {
            let (tx, _rx) = bounded(capacity);
            (0..capacity).for_each(|_| tx.send(0).unwrap());
            let Err(SendError::Cancelled(item, cancelled)) = timeout(SHORT, || tx.send(7)) else {
                panic!("there is no room")
            };
            assert_eq!((item, cancelled.cause), (7, Cause::Deadline));
            assert_eq!(tx.len(), capacity);
        }
    });
}

#[test]
fn of_its_own_time_and_that_around_it_the_earlier_counts() {
    everywhere(|_| {
        let (tx, rx) = bounded(0);
        assert_eq!(timeout(LONG, || rx.recv_timeout(SHORT)), Err(RecvTimeoutError::TimedOut));
        assert_eq!(timeout(LONG, || tx.send_timeout(1, SHORT)), Err(SendTimeoutError::TimedOut(1)));
        let received = timeout(SHORT, || rx.recv_timeout(LONG));
        assert!(matches!(received, Err(RecvTimeoutError::Cancelled(cancelled)) if cancelled.cause == Cause::Deadline));
        let sent = timeout(SHORT, || tx.send_timeout(1, LONG));
        assert!(matches!(sent, Err(SendTimeoutError::Cancelled(1, cancelled)) if cancelled.cause == Cause::Deadline));
    });
}

#[test]
fn what_need_not_wait_succeeds_though_the_time_around_it_is_over() {
    everywhere(|_| {
        timeout(Duration::ZERO, || {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            assert_eq!(rx.recv(), Ok(1));
            select! { send(tx, 2) -> sent => sent.unwrap() }
            select! { recv(rx) -> received => assert_eq!(received, Ok(2)) }
            ended_by_deadline(rx.recv());
        });
    });
}

#[test]
fn a_select_that_is_ended_runs_its_first_arm() {
    everywhere(|_| {
        let ((_tx, rx), (tx, _rx)) = (bounded::<u8>(0), bounded::<u8>(0));
        timeout(SHORT, || {
            select! {
                recv(rx) -> received => ended_by_deadline(received),
                send(tx, 1) -> sent => panic!("not the first: {sent:?}"),
                default(LONG) => panic!("not the first"),
            }
        });
        timeout(SHORT, || {
            select! {
                send(tx, 1) -> sent => assert!(sent.unwrap_err().is_cancelled()),
                recv(rx) -> received => panic!("not the first: {received:?}"),
            }
        });
        let start = Instant::now();
        assert_eq!(timeout(SHORT, || select! { default(LONG) => 7 }), 7);
        assert!(start.elapsed() >= SHORT);
    });
}

#[test]
fn the_other_kinds_of_channels_end_with_the_time_around_them() {
    everywhere(|_| {
        timeout(SHORT, || {
            let (_tx, rx) = oneshot::<u8>();
            ended_by_deadline(rx.recv());
            let (_tx, mut rx) = watch(0);
            ended_by_deadline(rx.changed());
            let (_tx, mut rx) = broadcast::<u8>(1);
            assert!(matches!(rx.recv(), Err(sisal::chan::BroadcastRecvError::Cancelled(_))));
        });
    });
}

#[test]
fn whoever_ran_out_of_time_leaves_the_channel_to_the_others() {
    everywhere(|place| {
        let (tx, rx) = bounded(0);
        let receivers = place.crowd(6, |number| {
            let rx = rx.clone();
            move || if number % 2 == 0 { timeout(SHORT, || rx.recv()).ok() } else { rx.recv().ok() }
        });
        (0..3).for_each(|number| tx.send(number).unwrap());
        // Those with little time may have been quick enough to take some of the three.
        let mut sent = 3;
        while receivers.iter().any(|receiver| !receiver.is_finished()) {
            if tx.try_send(sent).is_ok() {
                sent += 1;
            }
            sisal::yield_now();
        }
        let mut received: Vec<i32> = join_all(receivers).into_iter().flatten().collect();
        received.sort_unstable();
        assert_eq!(received, (0..sent).collect::<Vec<_>>(), "each item went to one");
    });
}
