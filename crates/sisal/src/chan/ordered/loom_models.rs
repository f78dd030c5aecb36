//! Models of places, their order, and of those who take and give them up. Work is what a model says is done.

use super::queue::{Entrance, Exit, UnderWay, queue};
use crate::chan::error::{RecvTimeoutError, SendTimeoutError, TryRecvError};
use crate::chan::models::check;
use crate::fiber::waiter::Woken;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use crate::sync::Semaphore;
use loom::thread;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::sync::{Arc, Mutex};

/// Work with a number.
struct Piece {
    number: usize,
    /// Has a permit when it is done.
    end: Arc<Semaphore>,
}

impl UnderWay for Piece {
    fn is_done(&self) -> bool {
        self.end.available() > 0
    }

    fn wait_by(&self, _: Option<Moment>, _: Place) -> Woken {
        drop(self.end.acquire().unwrap());
        Woken::Object(0)
    }
}

fn done(number: usize) -> Piece {
    Piece { number, end: Arc::new(Semaphore::new(1)) }
}

/// As a sender does it. False if the channel was closed.
fn send(entrance: &Entrance<Piece>, piece: Piece) -> bool {
    let permit = match entrance.room_by(None, Location::caller()) {
        Ok(permit) => permit,
        Err(SendTimeoutError::Closed(())) => return false,
        Err(other) => unreachable!("{other}"),
    };
    let reserved = entrance.reserve(permit);
    assert!(reserved.is_none() || entrance.len() <= entrance.capacity(), "no more than there is room for");
    reserved.map(|reserved| reserved.fill(piece)).is_some()
}

fn receive(exit: &Exit<Piece>) -> Option<usize> {
    match exit.receive_by(None, Location::caller()) {
        Ok(piece) => Some(piece.number),
        Err(RecvTimeoutError::Closed) => None,
        Err(other) => unreachable!("{other}"),
    }
}

/// The outcomes of a model, over all its runs.
#[derive(Copy, Clone)]
struct Seen<T: 'static>(&'static Mutex<HashSet<T>>);

impl<T: Eq + Hash + Debug> Seen<T> {
    fn new() -> Seen<T> {
        Seen(Box::leak(Box::default()))
    }

    fn note(&self, outcome: T) {
        self.0.lock().unwrap().insert(outcome);
    }

    fn assert(&self, expected: impl IntoIterator<Item = T>) {
        assert_eq!(*self.0.lock().unwrap(), expected.into_iter().collect());
    }
}

/// Two pieces are sent, and the second is done first. Whoever receives gets the first first; an attempt in vain before takes nothing
/// away. Reached: in vain, and not.
#[test]
fn loom_ordered_gives_results_in_the_order_of_their_places() {
    let at_once = Seen::new();
    check(3, move || {
        let (entrance, exit) = queue(2);
        let ends = [0, 1].map(|_| Arc::new(Semaphore::new(0)));
        for (number, end) in ends.iter().enumerate() {
            assert!(send(&entrance, Piece { number, end: Arc::clone(end) }));
        }
        let worker = thread::spawn(move || ends.iter().rev().for_each(|end| end.add_permits(1)));
        let first = match exit.receive_now() {
            Ok(piece) => Some(piece.number),
            Err(TryRecvError::Empty) => None,
            Err(other) => unreachable!("{other}"),
        };
        at_once.note(first.is_some());
        assert_eq!(first.or_else(|| receive(&exit)), Some(0));
        assert_eq!(receive(&exit), Some(1));
        assert_eq!((entrance.len(), exit.receive_now().err()), (0, Some(TryRecvError::Empty)));
        worker.join().unwrap();
    });
    at_once.assert([false, true]);
}

/// Two senders and room for one: each gets its place when the other's was received, and each piece is received once. Reached: either
/// order, and both with a sender that found no room.
#[test]
fn loom_ordered_room_goes_from_one_to_the_next() {
    let seen = Seen::new();
    check(2, move || {
        let (entrance, exit) = queue(1);
        let senders = [0, 1].map(|number| {
            let entrance = entrance.clone();
            thread::spawn(move || {
                let found_none = entrance.len() == 1;
                assert!(send(&entrance, done(number)));
                found_none
            })
        });
        let order = [receive(&exit), receive(&exit)];
        let waited = senders.map(|sender| sender.join().unwrap());
        assert!(order == [Some(0), Some(1)] || order == [Some(1), Some(0)], "{order:?}");
        assert_eq!(exit.len(), 0);
        seen.note((order[0], waited.contains(&true)));
    });
    seen.assert([(Some(0), false), (Some(1), false), (Some(0), true), (Some(1), true)]);
}

/// One who waits for room, one who closes, one who receives until the end: what was let in is received, and nothing else. Reached: let
/// in, and refused.
#[test]
fn loom_ordered_closes_exactly() {
    let let_in = Seen::new();
    check(3, move || {
        let (entrance, exit) = queue(1);
        assert!(send(&entrance, done(0)));
        let sender = {
            let entrance = entrance.clone();
            thread::spawn(move || send(&entrance, done(1)))
        };
        let closer = thread::spawn(move || assert!(entrance.close()));
        assert_eq!(receive(&exit), Some(0));
        let second = receive(&exit);
        if second.is_some() {
            assert_eq!((second, receive(&exit)), (Some(1), None));
        }
        closer.join().unwrap();
        assert_eq!(sender.join().unwrap(), second.is_some());
        let_in.note(second.is_some());
    });
    let_in.assert([false, true]);
}

/// There is no room, and nobody receives: whoever waits for some is told of the close. Reached: it came before it was closed, and after.
#[test]
fn loom_ordered_tells_of_the_close_who_waits_for_room() {
    let was_closed = Seen::new();
    check(3, move || {
        let (entrance, exit) = queue(1);
        assert!(send(&entrance, done(0)));
        let sender = thread::spawn(move || {
            was_closed.note(entrance.is_closed());
            assert!(!send(&entrance, done(1)));
        });
        assert!(exit.close());
        sender.join().unwrap();
        assert_eq!((exit.len(), receive(&exit), receive(&exit), exit.len()), (1, Some(0), None, 0));
    });
    was_closed.assert([false, true]);
}

/// One takes a place and abandons it, another waits for the room or had it before: its piece is received. Reached: the place
/// was there to be passed over, and not.
#[test]
fn loom_ordered_passes_over_a_place_that_was_abandoned() {
    let was_first = Seen::new();
    check(3, move || {
        let (entrance, exit) = queue(1);
        let fickle = {
            let entrance = entrance.clone();
            thread::spawn(move || {
                let permit = entrance.room_by(None, Location::caller()).unwrap();
                drop(entrance.reserve(permit));
            })
        };
        let sender = thread::spawn(move || {
            was_first.note(entrance.len() == 1);
            assert!(send(&entrance, done(7)));
        });
        assert_eq!(receive(&exit), Some(7));
        fickle.join().unwrap();
        sender.join().unwrap();
        // All senders are gone.
        assert_eq!((receive(&exit), exit.len()), (None, 0));
    });
    was_first.assert([false, true]);
}

/// Two receivers, of whom one only tries, and a place that is taken, filled and done under their eyes: whoever comes last to it finds
/// it as the other has left it. Reached: the one who tries gets it, and does not.
#[test]
fn loom_ordered_keeps_for_the_next_what_one_could_not_wait_for() {
    let got_it = Seen::new();
    check(2, move || {
        let (entrance, exit) = queue(2);
        let exit = Arc::new(exit);
        let patient = {
            let exit = Arc::clone(&exit);
            thread::spawn(move || receive(&exit))
        };
        let sender = {
            let entrance = entrance.clone();
            thread::spawn(move || {
                let end = Arc::new(Semaphore::new(0));
                assert!(send(&entrance, Piece { number: 7, end: Arc::clone(&end) }));
                end.add_permits(1);
            })
        };
        let tried = exit.receive_now().map(|piece| piece.number);
        if tried == Ok(7) {
            assert!(send(&entrance, done(7)));
        }
        assert_eq!(patient.join().unwrap(), Some(7));
        sender.join().unwrap();
        got_it.note(tried.is_ok());
    });
    got_it.assert([false, true]);
}
