//! Channels that the clock sends to. Nothing here asks how late they are: only that they are not early.

use crate::common::LONG;
use crate::common::places::{everywhere, join_all};
use sisal::chan::{RecvTimeoutError, TryRecvError, after, at, never, tick, unbounded};
use sisal::{select, sleep_until};
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn one_message_comes_after_the_time_and_not_before() {
    everywhere(|_| {
        let start = Instant::now();
        let rx = after(SHORT);
        let when = rx.recv().unwrap();
        assert!(start.elapsed() >= SHORT);
        assert!(when >= start + SHORT && when <= Instant::now());
        let moment = Instant::now() + SHORT;
        let rx = at(moment);
        let when = rx.recv().unwrap();
        assert!(when >= moment && when <= Instant::now());
    });
}

#[test]
fn after_its_one_message_nothing_comes_and_nothing_is_closed() {
    everywhere(|_| {
        let rx = after(Duration::ZERO);
        rx.recv().unwrap();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::TimedOut));
        assert!(!rx.is_closed());
    });
}

#[test]
fn before_its_time_there_is_no_message() {
    everywhere(|_| {
        let rx = after(LONG);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        assert_eq!((rx.is_empty(), rx.len(), rx.is_closed()), (true, 0, false));
    });
}

#[test]
fn a_message_that_is_due_is_found_by_trying() {
    everywhere(|_| {
        let start = Instant::now();
        let rx = after(SHORT);
        let when = loop {
            match rx.try_recv() {
                Ok(when) => break when,
                Err(error) => assert_eq!(error, TryRecvError::Empty),
            }
            sisal::yield_now();
        };
        assert!(when >= start + SHORT);
        let rx = after(SHORT);
        crate::common::until(|| !rx.is_empty());
        assert_eq!(rx.len(), 1);
        rx.recv().unwrap();
        assert!(rx.is_empty());
    });
}

#[test]
fn times_that_are_over_come_at_once_and_the_longest_never() {
    everywhere(|_| {
        after(Duration::ZERO).recv().unwrap();
        at(Instant::now()).recv().unwrap();
        if let Some(past) = Instant::now().checked_sub(Duration::from_secs(1)) {
            at(past).recv().unwrap();
        }
        for endless in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 40)] {
            assert_eq!(after(endless).try_recv(), Err(TryRecvError::Empty));
            assert_eq!(after(endless).recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
        }
    });
}

#[test]
fn a_receive_may_end_before_the_message_comes_and_be_repeated() {
    everywhere(|_| {
        let rx = after(Duration::from_millis(4));
        let mut tries = 0;
        while rx.recv_timeout(Duration::from_micros(300)).is_err() {
            tries += 1;
        }
        // Thirteen whole waits fit into the time.
        assert!(tries <= 15, "{tries} tries");
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn one_message_goes_to_one_of_many_receivers() {
    everywhere(|place| {
        let rx = after(SHORT);
        let (done, told) = unbounded();
        let receivers = place.crowd(5, |_| {
            let (rx, done, told) = (rx.clone(), done.clone(), told.clone());
            move || {
                select! {
                    recv(rx) -> message => {
                        message.unwrap();
                        // The others wait for nothing else.
                        (0..4).for_each(|_| done.send(()).unwrap());
                        true
                    }
                    recv(told) -> _ => false,
                }
            }
        });
        assert_eq!(join_all(receivers).into_iter().filter(|got| *got).count(), 1);
    });
}

#[test]
fn the_earlier_of_two_comes_first() {
    everywhere(|_| {
        let base = Instant::now();
        let (late, early) = (at(base + Duration::from_millis(6)), at(base + Duration::from_millis(3)));
        let first = select! {
            recv(late) -> when => when.unwrap(),
            recv(early) -> when => when.unwrap(),
        };
        // On a machine that was so slow that both were due, either may be taken.
        assert!(first >= base + Duration::from_millis(3));
        select! {
            recv(late) -> when => assert!(when.unwrap() >= base + Duration::from_millis(6)),
            recv(early) -> _ => assert!(base.elapsed() >= Duration::from_millis(6), "both were due"),
        }
    });
}

#[test]
fn a_ticker_sends_again_and_again_and_never_early() {
    everywhere(|_| {
        let start = Instant::now();
        let rx = tick(SHORT);
        let mut last = start;
        for count in 1..=5 {
            let when = rx.recv().unwrap();
            assert!(when >= start + SHORT * count, "tick {count} came {:?} after the start", when - start);
            assert!(when > last && when <= Instant::now());
            last = when;
        }
        assert!(!rx.is_closed());
    });
}

#[test]
fn a_ticker_keeps_one_message_for_a_receiver_that_is_slow() {
    everywhere(|_| {
        let rx = tick(SHORT);
        for _ in 0..3 {
            sleep_until(Instant::now() + SHORT * 6).unwrap();
            let start = Instant::now();
            let count = rx.try_iter().take(100).count() as u128;
            // One was kept; more can only have come while they were counted.
            let most = 2 + start.elapsed().as_nanos() / SHORT.as_nanos();
            assert!((1..=most).contains(&count), "{count} were kept, {most} at most expected");
        }
    });
}

#[test]
fn the_messages_of_a_ticker_are_shared_among_its_receivers() {
    everywhere(|place| {
        let start = Instant::now();
        let rx = tick(Duration::from_millis(1));
        let receivers = place.crowd(3, |_| {
            let rx = rx.clone();
            move || (0..4).map(|_| rx.recv().unwrap()).collect::<Vec<_>>()
        });
        let mut all = join_all(receivers).concat();
        assert!(start.elapsed() >= Duration::from_millis(12), "twelve ticks take their time");
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12, "no two got the same");
    });
}

#[test]
fn a_ticker_needs_a_time() {
    assert!(catch_unwind(|| drop(tick(Duration::ZERO))).is_err());
}

#[test]
fn a_ticker_in_a_select_shares_it_with_other_arms() {
    everywhere(|place| {
        let ticks = tick(Duration::from_micros(500));
        let (tx, rx) = sisal::chan::bounded(0);
        let sender = place.spawn(move || while tx.send(()).is_ok() {});
        let (mut ticked, mut received) = (0, 0);
        while ticked < 5 || received < 5 {
            select! {
                recv(ticks) -> _ => ticked += 1,
                recv(rx) -> _ => received += 1,
            }
        }
        drop(rx);
        sender.join();
    });
}

#[test]
fn from_nowhere_nothing_ever_comes() {
    everywhere(|_| {
        let rx = never::<u8>();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::TimedOut));
        assert_eq!(rx.recv_deadline(Instant::now() + SHORT), Err(RecvTimeoutError::TimedOut));
        assert_eq!((rx.is_empty(), rx.len(), rx.is_closed()), (true, 0, false));
        assert_eq!(rx.try_iter().next(), None);
    });
}

#[test]
fn an_arm_is_turned_off_by_a_channel_from_nowhere() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        (0..100).for_each(|number| tx.send(number).unwrap());
        for number in 0..100 {
            let off = never();
            select! {
                recv(if number % 2 == 0 { &rx } else { &off }) -> received => assert_eq!(received, Ok(number / 2)),
                default => assert_eq!(number % 2, 1),
            }
        }
    });
}

#[test]
fn clones_of_one_timer_are_the_same_channel_and_others_are_not() {
    let (timer, ticker, other) = (after(LONG), tick(LONG), after(LONG));
    assert!(timer.same_channel(&timer.clone()) && ticker.same_channel(&ticker.clone()));
    assert!(!timer.same_channel(&other) && !timer.same_channel(&ticker));
}

#[test]
fn ten_thousand_timers_that_nobody_waits_for_disturb_nobody() {
    everywhere(|_| {
        let kept: Vec<_> = (0..1_000).map(|number| after(Duration::from_micros(number))).collect();
        (0..9_000).for_each(|_| drop(after(LONG)));
        assert!(kept.iter().all(|rx| rx.recv().is_ok()));
    });
}
