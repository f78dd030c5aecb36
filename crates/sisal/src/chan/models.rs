//! What the models of all flavours have in common. Threads only: that is all a model knows.
//!
//! Every scenario asserts that each item is received or given back exactly once, and that the outcomes it is about were reached. A lost
//! wake is a wait without end, which fails the model.
#![allow(unsafe_code, reason = "values are moved by way of slots")]

use super::blocking;
use super::error::{RecvTimeoutError, SendTimeoutError};
use super::port::{Attempt, Channel, ReceivePort, SendPort};
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::park::{Waiting, and_whether_it_waited, me, park};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use crate::prim::task_parker::TaskParker;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::Mutex;
use std::task::Wake;

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

/// How a send or a receive went, and whether it had to wait for that, and was woken.
type Outcome = (&'static str, bool);

fn send<C: SendPort<Item>>(channel: &C, item: usize) -> Outcome {
    match and_whether_it_waited(|| blocking::send(channel, Box::new(item), None, Location::caller())) {
        (Ok(()), waited) => ("sent", waited),
        (Err(SendTimeoutError::Closed(back)), waited) => {
            assert_eq!(*back, item, "given back");
            ("refused", waited)
        }
        (Err(other), _) => unreachable!("{other}"),
    }
}

/// None if the channel is closed.
fn receive<C: ReceivePort<Item>>(channel: &C) -> (Option<usize>, Outcome) {
    match and_whether_it_waited(|| blocking::receive(channel, None, Location::caller())) {
        (Ok(item), waited) => (Some(*item), ("received", waited)),
        (Err(RecvTimeoutError::Closed), waited) => (None, ("closed", waited)),
        (Err(other), _) => unreachable!("{other}"),
    }
}

fn send_each<C: SendPort<Item>>(channel: &C, item: usize) -> Outcome {
    let sent = send(channel, item);
    assert_eq!(sent.0, "sent");
    sent
}

fn receive_all<C: ReceivePort<Item>>(channel: &C, items: usize) -> (Vec<usize>, Vec<Outcome>) {
    (0..items).map(|_| receive(channel)).map(|(item, how)| (item.expect("nobody closes it"), how)).unzip()
}

/// Each of these at once and after a wait; but for senders where they never have to wait.
fn every_way(ways: &[&'static str], senders_wait: bool) -> HashSet<Outcome> {
    let can_wait = |way| senders_wait || !["sent", "refused"].contains(&way);
    ways.iter().flat_map(|&way| [(way, false), (way, can_wait(way))]).collect()
}

/// Two senders with one item each, and a receiver of both. Reached: either order, and waits on both sides, but for senders where they never
/// have to.
pub(super) fn take_turns<C>(make: fn() -> C, senders_wait: bool)
where
    C: SendPort<Item> + ReceivePort<Item> + Send + Sync + 'static,
{
    let orders: &'static Mutex<HashSet<Vec<usize>>> = Box::leak(Box::default());
    let seen: &'static Mutex<HashSet<Outcome>> = Box::leak(Box::default());
    check(2, move || {
        let channel = Arc::new(make());
        let senders = [0, 1].map(|item| {
            let channel = channel.clone();
            loom::thread::spawn(move || send_each(&*channel, item))
        });
        let (mut received, receipts) = receive_all(&*channel, 2);
        let sent = senders.map(|sender| sender.join().unwrap());
        seen.lock().unwrap().extend(sent.into_iter().chain(receipts));
        orders.lock().unwrap().insert(received.clone());
        received.sort_unstable();
        assert_eq!(received, [0, 1]);
    });
    assert_eq!(orders.lock().unwrap().len(), 2, "in either order");
    assert_eq!(*seen.lock().unwrap(), every_way(&["sent", "received"], senders_wait));
}

/// One sends, one closes, one receives until it is told that the channel is closed. Reached: sent and refused, received and told, each at once
/// and after a wait, but for senders where they never have to.
pub(super) fn close_against_send<C>(make: fn() -> C, senders_wait: bool)
where
    C: SendPort<Item> + ReceivePort<Item> + Channel + Send + Sync + 'static,
{
    let seen: &'static Mutex<HashSet<Outcome>> = Box::leak(Box::default());
    check(2, move || {
        let channel = Arc::new(make());
        let before = channel.len();
        let sender = {
            let channel = channel.clone();
            loom::thread::spawn(move || send(&*channel, 7))
        };
        let closer = {
            let channel = channel.clone();
            loom::thread::spawn(move || assert!(channel.close()))
        };
        let mut received = 0;
        loop {
            let (item, how) = receive(&*channel);
            seen.lock().unwrap().insert(how);
            match item {
                Some(_) => received += 1,
                None => break,
            }
        }
        closer.join().unwrap();
        let sent = sender.join().unwrap();
        assert_eq!(received - before, usize::from(sent.0 == "sent"), "what was let in is received, and nothing else");
        seen.lock().unwrap().insert(sent);
    });
    assert_eq!(*seen.lock().unwrap(), every_way(&["sent", "refused", "received", "closed"], senders_wait));
}

/// One waits to receive and gives up, another receives; one item is sent, and by whoever gave up unsuccessfully once more. Reached: it gave up
/// in time and not, each with another that had to wait and with one that had not.
///
/// Whoever gives up waits before the others come: it is the first to be found, which is when it matters. And so no two ever wait actively
/// for a third, which a model, that lets them take turns for ever, does not get through.
pub(super) fn give_up_against_send<C>(make: fn() -> C)
where
    C: SendPort<Item> + ReceivePort<Item> + Channel + Send + Sync + 'static,
{
    let seen: &'static Mutex<HashSet<(bool, bool)>> = Box::leak(Box::default());
    check(3, move || {
        let channel = Arc::new(make());
        let mut others = None;
        let fickle_got_it = receive_or_give_up(&*channel, || {
            others.get_or_insert_with(|| {
                let (one, another) = (channel.clone(), channel.clone());
                let receiver = loom::thread::spawn(move || receive(&*one));
                (receiver, loom::thread::spawn(move || send_each(&*another, 7)))
            });
        });
        let (receiver, sender) = others.expect("nothing to receive at first");
        if fickle_got_it {
            send_each(&*channel, 7);
        }
        sender.join().unwrap();
        let (item, (_, waited)) = receiver.join().unwrap();
        assert_eq!(item, Some(7));
        seen.lock().unwrap().insert((fickle_got_it, waited));
    });
    assert_eq!(seen.lock().unwrap().len(), 4, "gave up in time, and not; the other waited, and had not to");
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

/// The waker of a task, that counts its wakes.
pub(super) struct Counter(AtomicUsize);

impl Counter {
    pub(super) fn new() -> std::sync::Arc<Counter> {
        std::sync::Arc::new(Counter(AtomicUsize::new(0)))
    }

    pub(super) fn wakes(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Counter {
    fn wake(self: std::sync::Arc<Counter>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// What became of the wait of a future that was dropped.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Left {
    /// Nobody had claimed it.
    InTime,
    /// It had been woken: the future itself passed on what it was given.
    Woken,
    /// It had been claimed: the unpark, which came later, passed that on.
    Behind,
}

impl Left {
    /// When all is over. Only a wait that was claimed is unparked.
    pub(super) fn of(parker: &TaskParker, counter: &Counter) -> Left {
        match (parker.is_unparked(), counter.wakes()) {
            (false, 0) => Left::InTime,
            (true, 1) => Left::Woken,
            (true, 0) => Left::Behind,
            other => unreachable!("{other:?}"),
        }
    }

    /// All there are, each with another who did not have to wait, and who did.
    pub(super) fn every_way() -> HashSet<(Left, bool)> {
        let ways = [Left::InTime, Left::Woken, Left::Behind];
        ways.into_iter().flat_map(|left| [(left, false), (left, true)]).collect()
    }
}
