//! Models of the protocol.

use super::*;
use crate::chan::arm::{Arm, SendArm};
use crate::chan::models::{Item, check, close_against_send, give_up_against_send, receive_now, send_now, take_turns};
use crate::chan::port::SendPort;
use crate::chan::{Policy, Sender, bounded_with};
use crate::fiber::waiter::Wait;
use crate::park::{Waiting, me, park};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use loom::sync::Arc;
use std::collections::HashSet;
use std::panic::Location;
use std::sync::Mutex;

/// One waits for half the room, one for any, and two items are received: the first place is told to the first of them, and the second,
/// which makes up half the room, to whoever is left.
#[test]
fn loom_array_signals_those_who_wait_for_half_the_room() {
    let seen: &'static Mutex<HashSet<(bool, bool)>> = Box::leak(Box::default());
    check(3, move || {
        let channel = Arc::new(Array::<Item>::new(4));
        (0..4).for_each(|item| assert_eq!(send_now(&*channel, item), Attempt::Done));
        let receiver = {
            let channel = channel.clone();
            loom::thread::spawn(move || (0..2).for_each(|_| assert_eq!(receive_now(&*channel), Attempt::Done)))
        };
        let other = {
            let channel = channel.clone();
            loom::thread::spawn(move || waits_for_room(&channel, Room::Any))
        };
        let patient = waits_for_room(&channel, Room::Half);
        let hasty = other.join().unwrap();
        receiver.join().unwrap();
        seen.lock().unwrap().insert((patient, hasty));
    });
    assert_eq!(seen.lock().unwrap().len(), 4, "either waited, or found room");
}

/// Two wait for any room, two receive, and a third looks whether it has to wait: whatever it finds, the two are told.
#[test]
fn loom_array_owes_a_signal_to_those_who_wait_already() {
    let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
    check(3, move || {
        let channel = Arc::new(Array::<Item>::new(2));
        (0..2).for_each(|item| assert_eq!(send_now(&*channel, item), Attempt::Done));
        let waits = [(); 3].map(|()| Wait::new(me()));
        let waiters = waits.each_ref().map(Waiter::solo);
        // SAFETY: they stay until the end of the model, when they are delisted.
        let enlist = |waiter| unsafe { channel.enlist_for(waiter, Room::Any) } == Enlisted::Yes;
        assert!(waiters[..2].iter().all(enlist));
        let receivers = [(); 2].map(|()| {
            let channel = channel.clone();
            loom::thread::spawn(move || assert_eq!(receive_now(&*channel), Attempt::Done))
        });
        seen.lock().unwrap().insert(enlist(&waiters[2]));
        receivers.into_iter().for_each(|receiver| receiver.join().unwrap());
        assert!(waits[..2].iter().all(|wait| wait.woken().is_some()));
        waiters.iter().for_each(|waiter| channel.delist_sender(waiter));
    });
    assert_eq!(seen.lock().unwrap().len(), 2, "has to wait, and has not");
}

/// Waits until the channel says that there is room; false if there is already.
fn waits_for_room(channel: &Array<Item>, room: Room) -> bool {
    let wait = Wait::new(me());
    let waiter = Waiter::solo(&wait);
    // SAFETY: the waiter stays until its wait was ended by the channel.
    if unsafe { channel.enlist_for(&waiter, room) } == Enlisted::No {
        return false;
    }
    let (object, place) = (Object::NONE, Location::caller());
    park(&wait, &Waiting { reason: Reason::Send, object, place, deadline: None, cancellable: false });
    true
}

/// Two senders, one of which has to wait for room, and a receiver: all items come, each once.
#[test]
fn loom_array_delivers_every_item_once() {
    take_turns(|| Array::<Item>::new(1), true);
}

/// A send against a close: what was let in is received, what was not is given back.
#[test]
fn loom_array_closes_exactly() {
    close_against_send(|| Array::<Item>::new(1), false);
}

/// The same where the sender finds no room at first.
#[test]
fn loom_array_closes_exactly_while_it_is_full() {
    let full = || {
        let channel = Array::<Item>::new(1);
        assert_eq!(send_now(&channel, 0), Attempt::Done);
        channel
    };
    close_against_send(full, true);
}

/// A receiver gives up while an item is sent to two: the other gets it.
#[test]
fn loom_array_signal_is_not_lost_to_one_who_gives_up() {
    give_up_against_send(|| Array::<Item>::new(1));
}

/// Two items fill the ring, one more is sent, and the oldest is to make room for it, while one is received: if it was received, nothing else is
/// dropped.
fn oldest_makes_room_only_if_there_is_none(send: fn(&Sender<usize>, usize)) {
    let seen: &'static Mutex<HashSet<Vec<usize>>> = Box::leak(Box::default());
    check(3, move || {
        let (sender, receiver) = bounded_with(2, Policy::DropOldest);
        [1, 2].iter().for_each(|&item| sender.send(item).unwrap());
        let other = {
            let receiver = receiver.clone();
            loom::thread::spawn(move || receiver.try_recv().unwrap())
        };
        send(&sender, 3);
        let first = other.join().unwrap();
        seen.lock().unwrap().insert(std::iter::once(first).chain(receiver.try_iter()).collect());
    });
    assert_eq!(*seen.lock().unwrap(), HashSet::from([vec![1, 2, 3], vec![2, 3]]));
}

#[test]
fn loom_array_drops_the_oldest_only_if_it_is_full() {
    oldest_makes_room_only_if_there_is_none(|sender, item| sender.send(item).unwrap());
}

#[test]
fn loom_array_drops_the_oldest_for_an_arm_only_if_it_is_full() {
    oldest_makes_room_only_if_there_is_none(|sender, item| {
        let arm = SendArm::new(sender, item);
        assert!(arm.choose_now(None), "it never waits");
        arm.take().unwrap();
    });
}

/// Two send, and the oldest is to make room: as many are dropped as there was no room for.
#[test]
fn loom_array_drops_as_many_of_the_oldest_as_it_must() {
    let seen: &'static Mutex<HashSet<Vec<usize>>> = Box::leak(Box::default());
    check(3, move || {
        let (sender, receiver) = bounded_with(2, Policy::DropOldest);
        sender.send(1).unwrap();
        let other = {
            let sender = sender.clone();
            loom::thread::spawn(move || sender.send(2).unwrap())
        };
        sender.send(3).unwrap();
        other.join().unwrap();
        seen.lock().unwrap().insert(receiver.try_iter().collect());
    });
    assert_eq!(*seen.lock().unwrap(), HashSet::from([vec![2, 3], vec![3, 2]]));
}
