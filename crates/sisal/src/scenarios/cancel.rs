//! Cancelling those who wait, while what they wait for comes.
#![allow(unsafe_code, reason = "children reach the frame of the opener by pointer")]

use super::{join_all, outcomes, spawn_each};
use crate::chan::{RecvError, bounded};
use crate::fiber::cancel_node::CancelNode;
use crate::nursery::CancelToken;
use crate::nursery::roster::Roster;
use crate::park::poke;
use crate::park::scope::{Entry, within};
use crate::prim::cancel::{Cancelled, Cause};
use crate::prim::cell::UnsafeCell;
use crate::select::hidden::{recv, wait};
use crate::sync::{Condvar, Event, Mutex, Semaphore};
use shuttle::thread;
use std::collections::HashSet;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

const REQUESTED: Cancelled = Cancelled { cause: Cause::Request };

/// One waits for a permit, one for a message, one for a message by a select, each inside of a token or of a child of it; one gives all
/// three what they want, and one cancels. Each has got it, or was told so and it is still there. Reached: all eight.
#[test]
fn shuttle_token_cancels_waits_that_take_nothing() {
    let seen = outcomes(|| {
        let token = CancelToken::new();
        let semaphore = Arc::new(Semaphore::new(0));
        let (sender, receiver) = bounded(1);
        let (meet, meeting) = bounded(1);
        let waiters = [
            thread::spawn({
                let (token, semaphore) = (token.clone(), semaphore.clone());
                move || match token.run(|| semaphore.acquire().map(|permit| permit.forget())) {
                    Ok(()) => true,
                    Err(error) => error != REQUESTED,
                }
            }),
            thread::spawn({
                let (token, receiver) = (token.child(), receiver.clone());
                move || match token.run(|| receiver.recv()) {
                    Ok(7) => true,
                    other => other != Err(RecvError::Cancelled(REQUESTED)),
                }
            }),
            thread::spawn({
                let (token, receiver, meeting) = (token.child(), crate::chan::never::<u32>(), meeting.clone());
                move || {
                    token.child().run(|| {
                        let (mut never, mut arm) = (recv(&receiver), recv(&meeting));
                        match wait([never.any(), arm.any()]) {
                            0 => never.take() != Err(RecvError::Cancelled(REQUESTED)),
                            _ => arm.take() == Ok(8),
                        }
                    })
                }
            }),
        ];
        let canceller = thread::spawn(move || token.cancel());
        semaphore.add_permits(1);
        sender.send(7).unwrap();
        meet.send(8).unwrap();
        let got = join_all(waiters);
        canceller.join().unwrap();
        let left = [semaphore.available(), receiver.len(), meeting.len()].map(|left| left == 1);
        assert!(got.iter().zip(left).all(|(&got, left)| got != left), "got {got:?}, left {left:?}");
        got
    });
    assert_eq!(seen.len(), 8, "{seen:?}");
}

/// Two wait for a condition, one of them inside of a token that is cancelled, while it is signalled to one: a cancelled wait swallows no
/// notification. Reached: the token's wait is cancelled, and not.
#[test]
fn shuttle_token_cancels_a_wait_without_its_notification() {
    let seen = outcomes(|| {
        let token = CancelToken::new();
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let take = |shared: &(Mutex<u32>, Condvar)| {
            let mut things = shared.0.lock();
            shared.1.wait_while(&mut things, |things| *things == 0).map(|()| *things -= 1)
        };
        let fickle = thread::spawn({
            let (token, shared) = (token.clone(), shared.clone());
            move || {
                let taken = token.run(|| take(&shared));
                assert!(taken.is_ok() || taken == Err(REQUESTED));
                taken.is_ok()
            }
        });
        let steady = thread::spawn({
            let shared = shared.clone();
            move || take(&shared).unwrap()
        });
        let canceller = thread::spawn(move || token.cancel());
        let put = || {
            *shared.0.lock() += 1;
            shared.1.notify_one();
        };
        put();
        canceller.join().unwrap();
        let fickle_took = fickle.join().unwrap();
        if fickle_took {
            put();
        }
        steady.join().unwrap();
        assert_eq!(*shared.0.lock(), 0);
        fickle_took
    });
    assert_eq!(seen, HashSet::from([false, true]));
}

/// One waits for the cancellation of a child of a token, one enters another child, and two cancel both child and token. All go on.
/// Reached: who waits comes before and after.
#[test]
fn shuttle_token_tells_all_below_it() {
    let seen = outcomes(|| {
        let token = CancelToken::new();
        let below = token.child();
        let waiters = spawn_each(2, {
            let below = below.clone();
            move |_| {
                let has_to_wait = !below.is_cancelled();
                below.wait().unwrap();
                has_to_wait
            }
        });
        let entered = thread::spawn({
            let token = token.clone();
            move || {
                let child = token.child();
                let event = Event::new();
                assert_eq!(child.run(|| event.wait()), Err(REQUESTED));
                child.cause()
            }
        });
        let cancellers = [below.clone(), token].map(|token| thread::spawn(move || token.cancel()));
        assert_eq!(entered.join().unwrap(), Some(Cause::Request));
        join_all(cancellers);
        assert_eq!(below.cause(), Some(Cause::Request));
        join_all(waiters)
    });
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// What lies in the frame of a nursery's opener. The cells stand for memory that is lent or freed: who uses it when the opener has it to itself
/// again fails.
struct Frame {
    roster: Roster,
    node: UnsafeCell<CancelNode>,
    lent: Event,
    is_left: UnsafeCell<()>,
}

// SAFETY: what the scenario checks.
unsafe impl Sync for Frame {}
// SAFETY: as above.
unsafe impl Send for Frame {}

impl Frame {
    /// As `nursery::child`: comes, is run inside a scope of the nursery unless that is cancelled, and goes.
    fn spawn<T: Send + 'static>(
        self: &Arc<Frame>,
        child: impl FnOnce(&Arc<Frame>) -> T + Send + 'static,
    ) -> thread::JoinHandle<Option<T>> {
        self.roster.come();
        let frame = Arc::clone(self);
        thread::spawn(move || {
            let result = frame.is_left.with(|_| {
                frame.node.with(|node| {
                    // SAFETY: shared until the frame is left, which is what the scenario checks.
                    let node = unsafe { &*node };
                    (node.cause().is_none())
                        .then(|| within(Entry::Child(node), crate::prim::clock::Moment::NEVER, |_| child(&frame)))
                })
            });
            // SAFETY: a child, at its end.
            unsafe { Roster::go(NonNull::from(&frame.roster)) };
            result
        })
    }
}

/// A nursery of three children that wait, one of which lets in a fourth first, while a fifth cancels it and the body ends: every child is
/// not run, or cancelled, and the opener goes on when all have gone. Reached: all run, and some not.
#[test]
fn shuttle_nursery_is_left_when_all_that_was_cancelled_has_gone() {
    let seen = outcomes(|| {
        let frame = Arc::new(Frame {
            roster: Roster::new(),
            node: UnsafeCell::new(CancelNode::new(None)),
            lent: Event::new(),
            is_left: UnsafeCell::new(()),
        });
        let attend = |frame: &Arc<Frame>| frame.lent.wait();
        let mut children: Vec<_> = (0..2).map(|_| frame.spawn(attend)).collect();
        let parent = frame.spawn(move |frame| {
            let grandchild = frame.spawn(attend);
            assert_eq!(attend(frame), Err(REQUESTED));
            grandchild
        });
        let canceller = frame.spawn(|frame| {
            // SAFETY: as in `spawn`.
            frame.node.with(|node| unsafe { &*node }.cancel(Cause::Request, &poke));
        });
        frame.roster.close(Location::caller());
        // The opener leaves: nobody else uses any of it any more.
        frame.is_left.with_mut(|_| ());
        frame.node.with_mut(|_| ());
        canceller.join().unwrap();
        children.extend(parent.join().unwrap());
        let ended = join_all(children);
        assert!(ended.iter().flatten().all(|ended| *ended == Err(REQUESTED)), "{ended:?}");
        ended.len() == 3 && ended.iter().all(Option::is_some)
    });
    assert_eq!(seen, HashSet::from([false, true]));
}
