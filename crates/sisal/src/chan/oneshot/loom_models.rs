//! Models of everything the sender can do against everything the receiver can.
#![allow(unsafe_code, reason = "the block is shared memory, owned as its word says")]

use super::*;
use crate::fiber::waiter::{Wait, Waiter};
use crate::park::{and_whether_it_waited, me};
use crate::prim::atomic::Ordering;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize as Counter;
use loom::thread;
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// Counts how often it is dropped.
struct Message(Arc<Counter>);

impl Drop for Message {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn outcome<T>(received: &Result<T, RecvError>) -> &'static str {
    match received {
        Ok(_) => "message",
        Err(RecvError::Closed) => "closed",
        Err(RecvError::Cancelled(_)) => unreachable!("nobody cancels"),
    }
}

/// The outcome of a receive that had to wait.
fn after_a_wait(outcome: &'static str) -> &'static str {
    match outcome {
        "message" => "message after a wait",
        "closed" => "closed after a wait",
        other => unreachable!("{other}"),
    }
}

fn recv(receiver: OneReceiver<Message>) -> &'static str {
    match and_whether_it_waited(|| receiver.recv()) {
        (received, false) => outcome(&received),
        (received, true) => after_a_wait(outcome(&received)),
    }
}

/// A wait whose time is up at once.
fn wait_briefly(receiver: &OneReceiver<Message>) -> Woken {
    let place = Location::caller();
    let waiting = Waiting { reason: Reason::Receive, object: Object::NONE, place, deadline: None, cancellable: true };
    let block = receiver.block.unwrap();
    // SAFETY: the receiver is not gone.
    unsafe { block.as_ref() }.meeting.wait_by(|wait| match wait.claim_own(Woken::Deadline) {
        true => Woken::Deadline,
        // The sender has been faster: its unpark is on its way.
        false => park(wait, &waiting),
    })
}

/// Counts its wakes.
struct Bell(Counter);

impl std::task::Wake for Bell {
    fn wake(self: std::sync::Arc<Bell>) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

fn poll(receiver: &mut OneReceiver<Message>, waker: &Waker) -> Poll<Result<Message, RecvError>> {
    Pin::new(receiver).poll(&mut Context::from_waker(waker))
}

fn after(polled: Poll<Result<Message, RecvError>>) -> &'static str {
    match polled {
        Poll::Ready(received) => outcome(&received),
        Poll::Pending => "nothing",
    }
}

/// Does what `how` says, and tells what came of it.
fn receive(how: &'static str, mut receiver: OneReceiver<Message>) -> &'static str {
    match how {
        "receives" => recv(receiver),
        "tries" => match receiver.try_recv() {
            Ok(_) => "message",
            Err(TryRecvError::Empty) => "nothing",
            Err(TryRecvError::Closed) => "closed",
        },
        "gives up" => match wait_briefly(&receiver) {
            Woken::Object(_) => "woken",
            _ => "gave up",
        },
        "gives up and receives" => {
            let _ = wait_briefly(&receiver);
            recv(receiver)
        }
        "polls twice" => match poll(&mut receiver, Waker::noop()).is_ready() {
            true => "ready",
            false => after(poll(&mut receiver, Waker::noop())),
        },
        "polls and receives" => match poll(&mut receiver, Waker::noop()) {
            Poll::Ready(received) => outcome(&received),
            Poll::Pending => recv(receiver),
        },
        "awaits" => {
            let bell = std::sync::Arc::new(Bell(Counter::new(0)));
            let waker = Waker::from(bell.clone());
            let first = poll(&mut receiver, &waker);
            while first.is_pending() && bell.0.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            match first {
                Poll::Ready(received) => outcome(&received),
                Poll::Pending => after_a_wait(after(poll(&mut receiver, &waker))),
            }
        }
        "is an arm" => be_an_arm(receiver),
        _ => "gone",
    }
}

/// An arm of a select that is over at once. When it is taken off, nobody looks at its record any more.
fn be_an_arm(receiver: OneReceiver<Message>) -> &'static str {
    let wait = Wait::new(me());
    let waiter = Waiter::new(&wait, 0);
    let block = receiver.block.unwrap();
    // SAFETY: the receiver is not gone.
    let meeting = unsafe { &block.as_ref().meeting };
    // SAFETY: taken off below, or its wait ended by the sender.
    if !unsafe { meeting.enlist_arm(&waiter) } {
        return "done before";
    }
    if wait.claim_own(Woken::Deadline) {
        meeting.delist_arm();
        assert!(!meeting.is_looked_at(), "the record is our own");
        return "over";
    }
    let place = Location::caller();
    let waiting = Waiting { reason: Reason::Receive, object: Object::NONE, place, deadline: None, cancellable: true };
    assert_eq!(park(&wait, &waiting), Woken::Object(0), "the sender has been faster: its unpark is on its way");
    assert!(!meeting.is_looked_at(), "the record is our own");
    "woken"
}

fn send(sends: bool, sender: OneSender<Message>, drops: &Arc<Counter>) -> &'static str {
    match sends.then(|| sender.send(Message(drops.clone()))) {
        Some(Ok(())) => "sent",
        Some(Err(_)) => "got it back",
        None => "gone",
    }
}

/// Everything the sender can do against everything the receiver can: no receiver sleeps for ever, and a message is dropped once,
/// whoever has it last. Returns what was reached.
fn check(sends: bool, how: &'static str) -> HashSet<(&'static str, &'static str)> {
    let seen: &'static Mutex<HashSet<_>> = Box::leak(Box::default());
    loom::model(move || {
        let drops = Arc::new(Counter::new(0));
        let (sender, receiver) = oneshot();
        let other = thread::spawn(move || receive(how, receiver));
        let sent = send(sends, sender, &drops);
        let received = other.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), usize::from(sends), "{sent}, {received}");
        assert!(!received.starts_with("message") || sent == "sent");
        seen.lock().unwrap().insert((sent, received));
    });
    seen.lock().unwrap().clone()
}

#[test]
fn loom_oneshot_send_meets_every_receiver() {
    assert_eq!(check(true, "receives"), HashSet::from([("sent", "message"), ("sent", "message after a wait")]));
    assert_eq!(
        check(true, "tries"),
        HashSet::from([("sent", "message"), ("sent", "nothing"), ("got it back", "nothing")])
    );
    assert_eq!(
        check(true, "gives up"),
        HashSet::from([("sent", "woken"), ("sent", "gave up"), ("got it back", "gave up")])
    );
    assert_eq!(
        check(true, "gives up and receives"),
        HashSet::from([("sent", "message"), ("sent", "message after a wait")])
    );
    assert_eq!(check(true, "goes"), HashSet::from([("sent", "gone"), ("got it back", "gone")]));
}

#[test]
fn loom_oneshot_drop_meets_every_receiver() {
    assert_eq!(check(false, "receives"), HashSet::from([("gone", "closed"), ("gone", "closed after a wait")]));
    assert_eq!(check(false, "tries"), HashSet::from([("gone", "closed"), ("gone", "nothing")]));
    assert_eq!(check(false, "gives up"), HashSet::from([("gone", "woken"), ("gone", "gave up")]));
    assert_eq!(
        check(false, "gives up and receives"),
        HashSet::from([("gone", "closed"), ("gone", "closed after a wait")])
    );
    assert_eq!(check(false, "goes"), HashSet::from([("gone", "gone")]));
}

#[test]
fn loom_oneshot_future_meets_every_sender() {
    assert_eq!(
        check(true, "polls twice"),
        HashSet::from([("sent", "ready"), ("sent", "message"), ("sent", "nothing"), ("got it back", "nothing")])
    );
    assert_eq!(
        check(true, "polls and receives"),
        HashSet::from([("sent", "message"), ("sent", "message after a wait")])
    );
    assert_eq!(check(true, "awaits"), HashSet::from([("sent", "message"), ("sent", "message after a wait")]));
    assert_eq!(
        check(false, "polls twice"),
        HashSet::from([("gone", "ready"), ("gone", "closed"), ("gone", "nothing")])
    );
    assert_eq!(
        check(false, "polls and receives"),
        HashSet::from([("gone", "closed"), ("gone", "closed after a wait")])
    );
    assert_eq!(check(false, "awaits"), HashSet::from([("gone", "closed"), ("gone", "closed after a wait")]));
}

#[test]
fn loom_oneshot_arm_meets_every_sender() {
    assert_eq!(
        check(true, "is an arm"),
        HashSet::from([("sent", "done before"), ("sent", "over"), ("got it back", "over"), ("sent", "woken")])
    );
    assert_eq!(
        check(false, "is an arm"),
        HashSet::from([("gone", "done before"), ("gone", "over"), ("gone", "woken")])
    );
}
