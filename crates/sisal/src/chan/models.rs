//! What the models of all flavours have in common. Threads only: that is all a model knows.
//!
//! Every scenario asserts that each item is received or given back exactly once, and that the outcomes it is about were reached. A lost
//! wake is a wait without end, which fails the model.
#![allow(unsafe_code, reason = "values are moved by way of slots")]

use super::blocking;
use super::error::{RecvTimeoutError, SendTimeoutError};
use super::port::{Attempt, Channel, ReceivePort, SendPort};
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::park::{Waiting, me, park};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use loom::sync::Arc;
use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::Mutex;

pub(super) type Item = Box<usize>;

pub(super) fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

pub(super) fn send_now<C: SendPort<Item>>(channel: &C, item: usize) -> Attempt {
    let mut slot = MaybeUninit::new(Box::new(item));
    // SAFETY: the slot holds a value, which is gone if it was sent, and leaks otherwise.
    unsafe { channel.try_send(slot.as_mut_ptr()) }
}

pub(super) fn receive_now<C: ReceivePort<Item>>(channel: &C) -> Attempt {
    let mut slot = MaybeUninit::<Item>::uninit();
    // SAFETY: the slot can be written, and holds a value if one was received.
    unsafe {
        let attempt = channel.try_receive(slot.as_mut_ptr());
        if attempt == Attempt::Done {
            slot.assume_init_drop();
        }
        attempt
    }
}

fn send_each<C: SendPort<Item>>(channel: &C, item: usize) {
    blocking::send(channel, Box::new(item), None, Location::caller()).unwrap();
}

fn receive_all<C: ReceivePort<Item>>(channel: &C, items: usize) -> Vec<usize> {
    (0..items).map(|_| *blocking::receive(channel, None, Location::caller()).unwrap()).collect()
}

/// Two senders with one item each, and a receiver of both.
pub(super) fn take_turns<C>(make: fn() -> C)
where
    C: SendPort<Item> + ReceivePort<Item> + Send + Sync + 'static,
{
    let seen: &'static Mutex<HashSet<Vec<usize>>> = Box::leak(Box::default());
    check(2, move || {
        let channel = Arc::new(make());
        let senders = [0, 1].map(|item| {
            let channel = channel.clone();
            loom::thread::spawn(move || send_each(&*channel, item))
        });
        let mut received = receive_all(&*channel, 2);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        seen.lock().unwrap().insert(received.clone());
        received.sort_unstable();
        assert_eq!(received, [0, 1]);
    });
    assert_eq!(seen.lock().unwrap().len(), 2, "in either order");
}

/// One sends, one closes, one receives until it is told that the channel is closed.
pub(super) fn close_against_send<C>(make: fn() -> C)
where
    C: SendPort<Item> + ReceivePort<Item> + Channel + Send + Sync + 'static,
{
    let seen: &'static Mutex<HashSet<(bool, usize)>> = Box::leak(Box::default());
    check(2, move || {
        let channel = Arc::new(make());
        let sender = {
            let channel = channel.clone();
            loom::thread::spawn(move || match blocking::send(&*channel, Box::new(7), None, Location::caller()) {
                Ok(()) => true,
                Err(SendTimeoutError::Closed(item)) => {
                    assert_eq!(*item, 7, "given back");
                    false
                }
                Err(other) => unreachable!("{other}"),
            })
        };
        let closer = {
            let channel = channel.clone();
            loom::thread::spawn(move || assert!(channel.close()))
        };
        let mut received = 0;
        loop {
            match blocking::receive(&*channel, None, Location::caller()) {
                Ok(_) => received += 1,
                Err(RecvTimeoutError::Closed) => break,
                Err(other) => unreachable!("{other}"),
            }
        }
        closer.join().unwrap();
        let sent = sender.join().unwrap();
        assert_eq!(received, usize::from(sent), "what was let in is received, and nothing else");
        seen.lock().unwrap().insert((sent, received));
    });
    assert_eq!(seen.lock().unwrap().len(), 2, "sent and refused");
}

/// One waits to receive and gives up, another waits to receive; one item is sent, and by whoever gave up unsuccessfully once more.
///
/// Whoever gives up waits before the others come: it is the first to be found, which is when it matters. And so no two ever wait actively
/// for a third, which a model, that lets them take turns for ever, does not get through.
pub(super) fn give_up_against_send<C>(make: fn() -> C)
where
    C: SendPort<Item> + ReceivePort<Item> + Channel + Send + Sync + 'static,
{
    let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
    check(3, move || {
        let channel = Arc::new(make());
        let mut others = None;
        let fickle_got_it = receive_or_give_up(&*channel, || {
            others.get_or_insert_with(|| {
                let (one, another) = (channel.clone(), channel.clone());
                let receiver = loom::thread::spawn(move || receive_all(&*one, 1));
                (receiver, loom::thread::spawn(move || send_each(&*another, 7)))
            });
        });
        let (receiver, sender) = others.expect("nothing to receive at first");
        if fickle_got_it {
            send_each(&*channel, 7);
        }
        sender.join().unwrap();
        assert_eq!(receiver.join().unwrap(), [7]);
        seen.lock().unwrap().insert(fickle_got_it);
    });
    assert_eq!(seen.lock().unwrap().len(), 2, "gave up in time, and not");
}

/// Waits, says so, and ends its own wait at once if nobody else has, as a deadline would. True if it received something.
fn receive_or_give_up<C: ReceivePort<Item>>(channel: &C, mut waits: impl FnMut()) -> bool {
    let mut slot = MaybeUninit::<Item>::uninit();
    loop {
        let wait = Wait::new(me());
        let waiter = Waiter::new(&wait, 0);
        waiter.set_slot(slot.as_mut_ptr().cast());
        // SAFETY: the slot can be written; the waiter is delisted below, or its wait was ended by the channel.
        match unsafe { channel.receive_or_enlist(slot.as_mut_ptr(), &waiter) } {
            Attempt::Done => break,
            Attempt::Closed => unreachable!("nobody closes it"),
            Attempt::Waits => waits(),
        }
        if wait.claim_own(Woken::Deadline) {
            channel.delist_receiver(&waiter);
            return false;
        }
        let waiting = Waiting {
            reason: Reason::Receive,
            object: Object::NONE,
            place: Location::caller(),
            deadline: None,
            cancellable: false,
        };
        let woken = park(&wait, &waiting);
        assert_eq!(woken, Woken::Object(0));
        if waiter.was_handed() {
            break;
        }
    }
    // SAFETY: an attempt was done, or the value was handed over.
    drop(unsafe { slot.assume_init() });
    true
}
