//! Closing: who can, what it wakes, and what is still received afterwards.

use crate::common::flavours::{FLAVOURS, Flavour, Ledger};
use crate::common::places::{everywhere, join_all, settle};
use crate::common::{LONG, until};
use sisal::chan::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError, bounded,
    unbounded,
};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The kinds that keep items.
const QUEUES: [Flavour; 3] = [Flavour::Bounded(3), Flavour::Bounded(8), Flavour::Unbounded];

#[derive(Debug, PartialEq, Eq)]
struct Spilt(u8);

impl fmt::Display for Spilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cups spilt", self.0)
    }
}

impl Error for Spilt {}

#[track_caller]
fn check_closed(tx: &Sender<i32>, rx: &Receiver<i32>) {
    assert!(tx.is_closed() && rx.is_closed());
    assert_eq!(tx.send(1), Err(SendError::Closed(1)));
    assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
    assert_eq!(tx.send_timeout(3, LONG), Err(SendTimeoutError::Closed(3)));
    assert_eq!(tx.send_timeout(4, Duration::ZERO), Err(SendTimeoutError::Closed(4)));
    for _ in 0..3 {
        assert_eq!(rx.recv(), Err(RecvError::Closed));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(rx.recv_timeout(LONG), Err(RecvTimeoutError::Closed));
        assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Closed));
    }
}

#[test]
fn either_side_closes_and_only_the_first_close_does_it() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            assert!(!tx.is_closed() && !rx.is_closed());
            assert!(tx.close());
            assert!(!tx.close() && !rx.close());
            check_closed(&tx, &rx);
            let (tx, rx) = flavour.make();
            assert!(rx.close());
            assert!(!tx.close() && !rx.close());
            check_closed(&tx, &rx);
        }
    });
}

#[test]
fn what_was_sent_before_the_close_is_received_after_it_in_order() {
    everywhere(|_| {
        for flavour in QUEUES {
            for by_sender in [true, false] {
                let (tx, rx) = flavour.make();
                (0..3).for_each(|number| tx.send(number).unwrap());
                assert!(if by_sender { tx.close() } else { rx.close() });
                assert_eq!(tx.send(9), Err(SendError::Closed(9)));
                assert_eq!((tx.len(), rx.len()), (3, 3));
                assert_eq!((rx.recv(), rx.try_recv(), rx.recv_timeout(LONG)), (Ok(0), Ok(1), Ok(2)));
                check_closed(&tx, &rx);
            }
        }
    });
}

#[test]
fn the_last_sender_closes_when_it_goes() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make::<i32>();
            let receiver = place.spawn(move || rx.recv());
            let other = tx.clone();
            drop(tx);
            settle();
            assert!(!receiver.is_finished(), "{flavour:?}");
            drop(other);
            assert_eq!(receiver.join(), Err(RecvError::Closed));
        }
    });
}

#[test]
fn what_the_last_sender_left_is_received() {
    everywhere(|_| {
        for flavour in QUEUES {
            let (tx, rx) = flavour.make();
            (0..3).for_each(|number| tx.send(number).unwrap());
            assert!(!rx.is_closed());
            drop(tx);
            assert!(rx.is_closed());
            assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
            assert_eq!(rx.recv(), Err(RecvError::Closed));
        }
    });
}

#[test]
fn the_last_receiver_closes_when_it_goes() {
    everywhere(|_| {
        for flavour in QUEUES {
            let (tx, rx) = flavour.make();
            let other = rx.clone();
            drop(rx);
            tx.send(1).unwrap();
            drop(other);
            assert!(tx.is_closed());
            assert_eq!(tx.send(2), Err(SendError::Closed(2)));
            assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
        }
    });
}

#[test]
fn what_is_queued_is_dropped_with_the_last_receiver() {
    everywhere(|_| {
        for flavour in QUEUES {
            let ledger = Ledger::of(3);
            let (tx, rx) = flavour.make();
            (0..3).for_each(|number| tx.send(ledger.make(number)).unwrap());
            let other = rx.clone();
            drop(rx);
            assert_eq!(ledger.dropped(), 0);
            drop(other);
            assert_eq!(ledger.dropped(), 3, "though a sender is still there");
            ledger.check();
        }
    });
}

#[test]
fn a_close_wakes_every_receiver_that_waits() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make::<i32>();
            let receivers = place.crowd(6, |number| {
                let rx = rx.clone();
                move || match number % 2 {
                    0 => rx.recv().map_err(|error| error == RecvError::Closed),
                    _ => rx.recv_timeout(LONG).map_err(|error| error == RecvTimeoutError::Closed),
                }
            });
            settle();
            assert!(tx.close());
            assert_eq!(join_all(receivers), [Err(true); 6], "{flavour:?}");
        }
    });
}

#[test]
fn a_close_gives_every_sender_that_waits_its_item_back() {
    everywhere(|place| {
        for capacity in [0, 1, 3] {
            for by_drop in [true, false] {
                let (tx, rx) = bounded(capacity);
                (0..capacity).for_each(|_| tx.send(100).unwrap());
                let senders = place.crowd(6, |number| {
                    let tx = tx.clone();
                    move || match number % 2 {
                        0 => tx.send(number).unwrap_err().into_inner(),
                        _ => tx.send_timeout(number, LONG).unwrap_err().into_inner(),
                    }
                });
                settle();
                if by_drop {
                    drop(rx);
                } else {
                    assert!(rx.close());
                    assert_eq!(
                        rx.iter().collect::<Vec<_>>(),
                        vec![100; capacity],
                        "of those that waited none is admitted"
                    );
                }
                assert_eq!(join_all(senders), [0, 1, 2, 3, 4, 5]);
            }
        }
    });
}

#[test]
fn a_reason_for_closing_is_told_to_both_sides() {
    everywhere(|_| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            assert!(tx.close_reason().is_none() && rx.close_reason().is_none());
            assert!(tx.close_with(Spilt(3)));
            for reason in [tx.close_reason(), rx.close_reason(), tx.clone().close_reason()] {
                let reason = reason.unwrap();
                assert_eq!(reason.to_string(), "3 cups spilt");
                assert_eq!(reason.downcast_ref::<Spilt>(), Some(&Spilt(3)));
            }
            check_closed(&tx, &rx);
            let (tx, rx) = flavour.make::<i32>();
            assert!(rx.close_with("no more tea"));
            assert_eq!(tx.close_reason().unwrap().to_string(), "no more tea");
        }
    });
}

#[test]
fn the_reason_is_that_of_the_first_close() {
    everywhere(|_| {
        let (tx, rx) = unbounded::<i32>();
        assert!(tx.close_with("first"));
        assert!(!rx.close_with("second") && !tx.close());
        assert_eq!(rx.close_reason().unwrap().to_string(), "first");
        let (tx, rx) = unbounded::<i32>();
        assert!(tx.close());
        assert!(!rx.close_with("too late"));
        assert!(tx.close_reason().is_none() && rx.close_reason().is_none());
    });
}

#[test]
fn without_a_reason_there_is_none() {
    everywhere(|_| {
        let (tx, rx) = bounded::<i32>(1);
        drop(tx);
        assert!(rx.close_reason().is_none());
        let (tx, rx) = bounded::<i32>(1);
        drop(rx);
        assert!(tx.close_reason().is_none());
    });
}

#[test]
fn a_receiver_that_was_woken_by_the_close_sees_its_reason() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make::<i32>();
            let receiver = place.spawn(move || {
                assert_eq!(rx.recv(), Err(RecvError::Closed));
                rx.close_reason().map(|reason| reason.to_string())
            });
            settle();
            tx.close_with("the end");
            assert_eq!(receiver.join().as_deref(), Some("the end"));
        }
    });
}

#[test]
fn a_queue_of_one_item_that_is_closed_is_never_found_empty() {
    everywhere(|place| {
        for _ in 0..50 {
            let (tx, rx) = bounded(1);
            tx.send(1).unwrap();
            let other = rx.clone();
            let taker = place.spawn(move || other.try_recv());
            tx.close();
            let (mine, taken) = (rx.recv(), taker.join());
            let is_shared =
                matches!((mine, taken), (Ok(1), Err(TryRecvError::Closed)) | (Err(RecvError::Closed), Ok(1)));
            assert!(is_shared, "{mine:?} and {taken:?}");
        }
    });
}

#[test]
fn a_pipeline_ends_when_its_source_does() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, mut rx) = flavour.make();
            let mut stages = Vec::new();
            for _ in 0..4 {
                let (to, next) = flavour.make();
                let from = std::mem::replace(&mut rx, next);
                stages.push(place.spawn(move || from.iter().for_each(|number: i32| to.send(number + 1).unwrap())));
            }
            stages.push(place.spawn(move || (0..50).for_each(|number| tx.send(number).unwrap())));
            assert_eq!(rx.iter().sum::<i32>(), (4..54).sum());
            join_all(stages);
        }
    });
}

#[test]
fn a_pipeline_ends_when_nobody_receives_any_more() {
    everywhere(|place| {
        for capacity in [0, 1, 3] {
            let (tx, mut rx) = bounded(capacity);
            let mut stages = Vec::new();
            for _ in 0..4 {
                let (to, next) = bounded(capacity);
                let from = std::mem::replace(&mut rx, next);
                stages.push(place.spawn(move || while from.recv().is_ok_and(|item: i32| to.send(item).is_ok()) {}));
            }
            stages.push(place.spawn(move || while tx.send(1).is_ok() {}));
            assert_eq!(rx.recv(), Ok(1));
            drop(rx);
            join_all(stages);
        }
    });
}

#[test]
fn a_channel_that_nobody_else_has_is_closed_at_once() {
    for flavour in FLAVOURS {
        let (tx, _) = flavour.make();
        assert_eq!(tx.send(1), Err(SendError::Closed(1)));
        let (_, rx) = flavour.make::<i32>();
        assert_eq!(rx.recv(), Err(RecvError::Closed));
    }
}

#[test]
fn a_receiver_sees_the_end_of_a_sender_that_panics() {
    everywhere(|place| {
        for flavour in FLAVOURS {
            let (tx, rx) = flavour.make();
            let sender = place.spawn(move || {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                    tx.send(1).unwrap();
                    panic!("on purpose");
                }));
                assert!(result.is_err());
            });
            assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError::Closed)));
            until(|| sender.is_finished());
            sender.join();
        }
    });
}
