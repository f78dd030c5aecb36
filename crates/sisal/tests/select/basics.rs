//! `select!`: which arm runs, and when the default does.

use crate::common::flavours::{FLAVOURS, Flavour};
use crate::common::places::{Place, everywhere, join_all, settle};
use crate::common::{LONG, in_main_fiber};
use sisal::chan::{
    Policy, Receiver, RecvError, SendError, Sender, TryRecvError, after, bounded, bounded_with, never, unbounded,
};
use sisal::{Select, select, spawn, yield_now};
use std::time::{Duration, Instant};

#[test]
fn the_arm_that_is_ready_runs() {
    everywhere(|_| {
        let ((tx1, rx1), (tx2, rx2)) = (unbounded(), unbounded());
        tx1.send(1).unwrap();
        select! {
            recv(rx1) -> received => assert_eq!(received, Ok(1)),
            recv(rx2) -> _ => panic!("nothing is there"),
        }
        tx2.send(2).unwrap();
        select! {
            recv(rx1) -> _ => panic!("nothing is there"),
            recv(rx2) -> received => assert_eq!(received, Ok(2)),
        }
        let (full, _keep) = bounded(0);
        select! {
            send(full, 3) -> _ => panic!("nobody receives"),
            send(tx1, 3) -> sent => sent.unwrap(),
        }
        assert_eq!((rx1.recv(), rx2.try_recv()), (Ok(3), Err(TryRecvError::Empty)));
    });
}

#[test]
fn an_arm_whose_channel_is_closed_is_ready() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let ((tx, rx), (_open, open)) = (flavour.make::<i32>(), bounded::<i32>(0));
            tx.close();
            select! {
                recv(open) -> _ => panic!("nothing is there"),
                recv(rx) -> received => assert_eq!(received, Err(RecvError::Closed)),
            }
            select! {
                recv(open) -> _ => panic!("nothing is there"),
                send(tx, 7) -> sent => assert_eq!(sent, Err(SendError::Closed(7))),
            }
            select! {
                recv(rx) -> received => assert_eq!(received, Err(RecvError::Closed)),
                default => panic!("an arm is ready"),
            }
            select! {
                send(tx, 8) -> sent => assert_eq!(sent, Err(SendError::Closed(8))),
                default(LONG) => panic!("an arm is ready"),
            }
        }
    });
}

#[test]
fn what_is_left_in_a_closed_channel_comes_before_its_end() {
    everywhere(|_| {
        let ((tx, rx), (_open, open)) = (unbounded(), bounded::<i32>(0));
        (0..3).for_each(|number| tx.send(number).unwrap());
        drop(tx);
        for expected in [Ok(0), Ok(1), Ok(2), Err(RecvError::Closed), Err(RecvError::Closed)] {
            select! {
                recv(rx) -> received => assert_eq!(received, expected),
                recv(open) -> _ => panic!("nothing is there"),
            }
        }
    });
}

#[test]
fn the_default_runs_when_no_arm_is_ready_and_only_then() {
    everywhere(|_| {
        let ((tx, rx), (full, _keep)) = (unbounded(), bounded(0));
        let try_both = || {
            select! {
                recv(rx) -> received => received.ok(),
                send(full, 1) -> _ => panic!("nobody receives"),
                default => None,
            }
        };
        assert_eq!(try_both(), None);
        tx.send(7).unwrap();
        assert_eq!((try_both(), try_both()), (Some(7), None));
    });
}

#[test]
fn a_default_with_a_time_runs_when_it_is_over_and_not_before() {
    everywhere(|_| {
        let (_tx, rx) = bounded::<i32>(0);
        let time = Duration::from_millis(3);
        let start = Instant::now();
        select! {
            recv(rx) -> _ => panic!("nothing is there"),
            default(time) => assert!(start.elapsed() >= time),
        }
        let start = Instant::now();
        select! { default(time) => assert!(start.elapsed() >= time) }
    });
}

/// Has a fiber wait for a timer and something else, and takes the timer's message before that fiber runs again. Says for how long it waited
/// until it gave up; `wait` says whether it did.
fn waits_beside_a_thief(wait: fn(&Receiver<Instant>) -> bool) -> Duration {
    loop {
        let timer = after(Duration::from_millis(2));
        let due = Instant::now() + Duration::from_millis(2);
        let victim = {
            let timer = timer.clone();
            spawn(move || {
                let start = Instant::now();
                wait(&timer).then(|| start.elapsed())
            })
        };
        // There is one worker: it comes back from here when the other waits.
        yield_now();
        while Instant::now() < due {}
        let stolen = timer.try_recv();
        // On a slow machine the other may have been woken in time.
        if let (Ok(_), Some(waited)) = (stolen, victim.join().unwrap()) {
            return waited;
        }
    }
}

#[test]
fn a_default_with_a_time_does_not_run_early_since_another_took_what_a_timer_sent() {
    const LIMIT: Duration = Duration::from_millis(20);
    let waits: [fn(&Receiver<Instant>) -> bool; 3] = [
        |timer| {
            select! {
                recv(timer) -> _ => false,
                recv(never::<u8>()) -> _ => panic!("nothing comes"),
                default(LIMIT) => true,
            }
        },
        |timer| {
            let never = never::<u8>();
            let mut select = Select::new();
            select.recv(timer, |_| ());
            select.recv(&never, |_| panic!("nothing comes"));
            select.wait_timeout(LIMIT).is_none()
        },
        |timer| {
            select! {
                recv(timer) -> _ => false,
                default(LIMIT) => true,
            }
        },
    ];
    in_main_fiber(1, || {
        for (number, wait) in waits.into_iter().enumerate() {
            let waited = waits_beside_a_thief(wait);
            assert!(waited >= LIMIT, "{number}: {waited:?}");
        }
    });
}

#[test]
fn an_arm_that_becomes_ready_in_time_runs_in_place_of_the_default() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let selector = place.spawn(move || {
                select! {
                    recv(rx) -> received => received.unwrap(),
                    default(LONG) => panic!("it came in time"),
                }
            });
            settle();
            tx.send(7).unwrap();
            assert_eq!(selector.join(), 7);
        }
    });
}

#[test]
fn what_is_there_comes_before_a_time_that_is_over() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        tx.send(1).unwrap();
        select! {
            recv(rx) -> received => assert_eq!(received, Ok(1)),
            default(Duration::ZERO) => panic!("it was there"),
        }
        select! {
            recv(rx) -> _ => panic!("nothing is there"),
            default(Duration::ZERO) => {}
        }
    });
}

#[test]
fn a_select_waits_until_one_of_its_arms_is_ready_and_takes_from_that_alone() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let ((tx1, rx1), (tx2, rx2)) = (flavour.make(), flavour.make());
            let (back1, back2) = (rx1.clone(), rx2.clone());
            let selector = place.spawn(move || {
                select! {
                    recv(rx1) -> received => (1, received),
                    recv(rx2) -> received => (2, received),
                }
            });
            settle();
            assert!(!selector.is_finished());
            tx2.send("two").unwrap();
            assert_eq!(selector.join(), (2, Ok("two")));
            // Nobody waits on the other any more.
            let is_sent = tx1.try_send("one").is_ok();
            assert_eq!(is_sent, flavour != Flavour::Rendezvous);
            assert_eq!((back1.len(), back2.len()), (usize::from(is_sent), 0));
        }
    });
}

#[test]
fn a_select_that_waits_to_send_sends_to_the_one_that_receives() {
    everywhere(|place| {
        for capacity in [0, 1, 3] {
            let ((tx1, rx1), (tx2, rx2)) = (bounded(capacity), bounded(capacity));
            (0..capacity).for_each(|_| {
                tx1.send("old").unwrap();
                tx2.send("old").unwrap();
            });
            let selector = place.spawn(move || {
                select! {
                    send(tx1, "one") -> sent => sent.map(|()| 1),
                    send(tx2, "two") -> sent => sent.map(|()| 2),
                }
            });
            settle();
            assert!(!selector.is_finished());
            let received: Vec<_> = (0..=capacity).map(|_| rx2.recv().unwrap()).collect();
            assert_eq!(received.last(), Some(&"two"));
            assert_eq!(selector.join(), Ok(2));
            assert!(rx1.try_iter().eq(std::iter::repeat_n("old", capacity)), "nothing was sent there");
        }
    });
}

#[test]
fn a_close_wakes_every_select_that_waits_there() {
    everywhere(|place| {
        let ((tx, rx), (full, kept)) = (bounded::<i32>(0), bounded(0));
        let selectors = place.crowd(6, |number| {
            let (rx, full) = (rx.clone(), full.clone());
            move || {
                select! {
                    recv(rx) -> received => received == Err(RecvError::Closed),
                    send(full, number) -> sent => sent == Err(SendError::Closed(number)),
                }
            }
        });
        settle();
        assert!(selectors.iter().all(|selector| !selector.is_finished()));
        drop(tx);
        assert_eq!(join_all(selectors), [true; 6]);
        let senders = place.crowd(4, |number| {
            let (full, (keep, open)) = (full.clone(), bounded::<i32>(0));
            move || {
                let _keep = keep;
                select! {
                    recv(open) -> received => panic!("nothing is there: {received:?}"),
                    send(full, number) -> sent => sent == Err(SendError::Closed(number)),
                }
            }
        });
        settle();
        drop(kept);
        assert_eq!(join_all(senders), [true; 4]);
    });
}

#[test]
fn a_select_stands_inside_the_arm_of_another() {
    everywhere(|_| {
        let (tx, rx) = unbounded();
        (0..3).for_each(|number| tx.send(number).unwrap());
        select! {
            recv(rx) -> first => {
                assert_eq!(first, Ok(0));
                select! {
                    recv(rx) -> second => {
                        assert_eq!(second, Ok(1));
                        select! {
                            recv(rx) -> third => assert_eq!(third, Ok(2)),
                            default => panic!("one is left"),
                        }
                    }
                    default(LONG) => panic!("two are left"),
                }
            }
        }
    });
}

#[test]
fn sending_where_a_full_channel_drops_is_always_ready() {
    everywhere(|_| {
        for policy in [Policy::DropNewest, Policy::DropOldest] {
            let is_oldest = matches!(policy, Policy::DropOldest);
            let (tx, rx) = bounded_with(2, policy);
            for number in 0..10 {
                select! {
                    send(tx, number) -> sent => sent.unwrap(),
                    default => panic!("it never waits"),
                }
            }
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), if is_oldest { [8, 9] } else { [0, 1] });
        }
    });
}

#[test]
fn a_timer_in_an_arm_ends_the_wait() {
    everywhere(|_| {
        let (_tx, rx) = bounded::<i32>(0);
        let time = Duration::from_millis(2);
        let start = Instant::now();
        select! {
            recv(rx) -> _ => panic!("nothing is there"),
            recv(after(time)) -> when => assert!(when.unwrap() >= start + time),
        }
        assert!(start.elapsed() >= time);
    });
}

/// Of two channels one is ready at any moment. Does someone who looks at both find that?
fn never_both_unready(place: &Place, rounds: usize, make_ready: fn(&Sender<i32>)) {
    let (done, found) = bounded(1);
    for _ in 0..rounds {
        let ((tx1, rx1), (tx2, rx2)) = (bounded(1), bounded(1));
        tx1.send(1).unwrap();
        let (done, first, second) = (done.clone(), rx1.clone(), rx2.clone());
        let looker = place.spawn(move || {
            let is_found = select! {
                recv(first) -> _ => true,
                recv(second) -> _ => true,
                default => false,
            };
            done.send(is_found).unwrap();
        });
        make_ready(&tx2);
        select! {
            recv(rx1) -> _ => {}
            default => {}
        }
        assert_eq!(found.recv(), Ok(true), "one of the two was ready at any moment");
        looker.join();
    }
}

#[test]
fn a_default_is_not_taken_while_one_arm_or_the_other_is_ready() {
    everywhere(|place| {
        never_both_unready(place, 100, |tx| tx.send(1).unwrap());
        never_both_unready(place, 100, |tx| assert!(tx.close()));
    });
}
