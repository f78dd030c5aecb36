//! Senders that wait for room while the receiver, on another worker, is quick; and then is not.

use crate::common::places::{Place, everywhere};
use sisal::chan::{Receiver, SendError, Sender, bounded};
use sisal::sync::Event;
use std::sync::Arc;

const CAPACITY: usize = 64;
/// How often the sender waits, or nearly so: enough that the channel expects its receiver to be quick.
const WAITS: usize = 200;

/// A sender and a receiver on threads of their own, if there are several, after the one has received all that the other has sent.
fn after_a_quick_stretch<R: Send + 'static>(
    sends: impl FnOnce(Sender<usize>) -> R + Send + 'static,
    receives: impl FnOnce(Receiver<usize>) + Send + 'static,
    place: &Place,
) -> R {
    let (tx, rx) = bounded(CAPACITY);
    let drained = Arc::new(Event::new());
    let is_drained = drained.clone();
    let receiver = place.spawn_on(0, move || {
        for wait in 0..WAITS {
            while !rx.is_full() && wait + 1 < WAITS {
                sisal::yield_now();
            }
            (0..CAPACITY).for_each(|number| assert_eq!(rx.recv(), Ok(wait * CAPACITY + number)));
        }
        drained.set();
        receives(rx);
    });
    let sender = place.spawn_on(1, move || {
        (0..WAITS * CAPACITY).for_each(|number| tx.send(number).unwrap());
        is_drained.wait().unwrap();
        sends(tx)
    });
    receiver.join();
    sender.join()
}

/// Sends until there is no room.
fn fill(tx: &Sender<usize>) {
    while tx.try_send(0).is_ok() {}
}

#[test]
fn a_single_place_is_enough_for_a_sender_on_whom_the_receiver_waits() {
    everywhere(|place| {
        for _ in 0..4 {
            let (full, sent) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let (is_full, was_sent) = (full.clone(), sent.clone());
            after_a_quick_stretch(
                move |tx| {
                    fill(&tx);
                    full.set();
                    tx.send(1).unwrap();
                    sent.set();
                },
                move |rx| {
                    is_full.wait().unwrap();
                    rx.recv().unwrap();
                    was_sent.wait().unwrap();
                    assert_eq!(rx.iter().last(), Some(1));
                },
                place,
            );
        }
    });
}

#[test]
fn whoever_waits_for_room_is_told_of_the_end() {
    everywhere(|place| {
        let sent = after_a_quick_stretch(
            |tx| {
                fill(&tx);
                tx.send(1)
            },
            |rx| {
                while !rx.is_full() {
                    sisal::yield_now();
                }
                drop(rx);
            },
            place,
        );
        assert_eq!(sent, Err(SendError::Closed(1)));
    });
}
