//! Who is still inside a nursery, and how its opener waits for the last one to go.
//!
//! # The words
//! - *Inside*: how many are. One for the body, and one for each child, from before it is queued until it has ended.
//! - *Opener*: where the opener waits. Written once, before the body counts itself out.
//!
//! The roster lies in the frame of the opener, as everything else of the nursery does.
//!
//! # Protocol
//! - *Come* (for a new child, by somebody who is inside): add one.
//! - *Go* (a child, the last thing it does: its closure and its result are dropped, its scope is left): subtract one. If others are
//!   left, that was its last touch of the nursery. If not, the opener waits: read where, claim that wait, unpark it.
//! - *Close* (the opener, when its body is done): make a wait and write down where it is; subtract one. If nobody is left, go on; else
//!   park. Nothing but the last child ends that wait.
//!
//! # Why it is right
//! Whoever adds is inside, so the count is not zero then; hence one subtraction makes it zero, and it stays so.
//!
//! - If that is the opener's, every child's subtraction came before, and was its last touch: the frame may go.
//! - If it is a child's, the opener's came before. So its wait can be read, nobody else claims it, and the opener stays in its frame until
//!   it is unparked, which is done with the token alone. All other children have had their last touch before. So nobody touches
//!   a frame that is gone, and the opener is woken, once.
//!
//! What a child did is seen by the opener: each subtraction is a read-modify-write that releases, so the one that makes the count zero
//! acquires them all; if it is a child's, the claim and the unpark hand that on.
#![allow(unsafe_code, reason = "children reach the frame of the opener by pointer")]

use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting, pay_fuel};
use crate::prim::atomic::{AtomicUsize, Ordering};
use crate::prim::cell::UnsafeCell;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::ptr::NonNull;

/// See the [module](self).
///
/// On a cache line of its own: children write to it, and what stands beside it in the frame of the opener is in use, too (`nursery`: 160 ns
/// a child, or 230 if a counter of the body comes to lie there).
#[repr(align(64))]
pub(crate) struct Roster {
    inside: AtomicUsize,
    opener: UnsafeCell<Option<NonNull<Wait<Who>>>>,
}

// SAFETY: the cell is written by the opener before its subtraction, and read by whoever makes the count zero after that.
unsafe impl Sync for Roster {}
// SAFETY: a wait may be claimed from any thread.
unsafe impl Send for Roster {}

impl Watched for Roster {
    fn sight(&self) -> Sight {
        // Whoever waits for it has counted itself out.
        Sight { length: Some(self.inside.load(Ordering::Relaxed)), ..Sight::new("nursery") }
    }
}

impl Roster {
    /// The body is inside.
    pub(crate) fn new() -> Roster {
        Roster { inside: AtomicUsize::new(1), opener: UnsafeCell::new(None) }
    }

    /// One child more. The caller is inside.
    #[inline]
    pub(crate) fn come(&self) {
        // ORDERING: Relaxed: the caller's own share keeps the count from zero, and is given back by the caller later.
        let before = self.inside.fetch_add(1, Ordering::Relaxed);
        debug_assert_ne!(before, 0, "INVARIANT: only those inside let others in");
    }

    /// How many children there are, as far as can be seen, while the body runs.
    pub(crate) fn children(&self) -> usize {
        self.inside.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// A child goes.
    ///
    /// # Safety
    /// The roster is that of a nursery this child is inside. Afterwards the child touches nothing of the nursery, and nothing
    /// that the frames around it lent. (Not a reference: the frame may be gone before this returns.)
    #[inline]
    pub(crate) unsafe fn go(roster: NonNull<Roster>) {
        // SAFETY: we are still inside, so the frame is there.
        // ORDERING: AcqRel: Release pairs with the Acquire of the last subtraction: what this child did comes before the end.
        // Acquire, if it is the last: all that the others did, and the opener's wait, come before what follows.
        if unsafe { (*roster.as_ptr()).inside.fetch_sub(1, Ordering::AcqRel) } == 1 {
            // SAFETY: the last one, and a child: the opener stays in its frame until it is unparked.
            unsafe { Roster::wake_opener(roster) };
        }
    }

    #[cold]
    unsafe fn wake_opener(roster: NonNull<Roster>) {
        // SAFETY: by the caller's promise the frame stays until the unpark, and with it the wait, which was written down before.
        let token = unsafe {
            let opener = roster.as_ref().opener.with(|opener| *opener);
            opener.and_then(|opener| opener.as_ref().claim(Woken::Object(0)))
        };
        park::unpark(token.unwrap_or_else(|| unreachable!("INVARIANT: the opener waits, and for nothing else")));
    }

    /// The body is done: waits until all children have gone. Nothing else ends this wait.
    pub(crate) fn close(&self, place: Place) {
        if self.is_empty() || !self.wait(place) {
            pay_fuel(place);
        }
    }

    /// Whether all children have gone, and the body alone is inside.
    fn is_empty(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `go`. Nobody is left who could come or go: as good as subtracting the body.
        self.inside.load(Ordering::Acquire) == 1
    }

    /// Waits, if there is still somebody to wait for when that is written down.
    fn wait(&self, place: Place) -> bool {
        let wait = Wait::new(park::me());
        // SAFETY: nobody reads it before the subtraction below.
        self.opener.with_mut(|opener| unsafe { *opener = Some(NonNull::from(&wait)) });
        // ORDERING: AcqRel: Release pairs with the Acquire in `go`: where we wait can be read. Acquire pairs with the Release there.
        if self.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
            return false;
        }
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Nursery, object, place, deadline: None, cancellable: false };
        let woken = park::park(&wait, &waiting);
        debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but the last child ends this wait");
        true
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::fiber::ambient::Scope;
    use crate::fiber::cancel_node::CancelNode;
    use crate::park::poke;
    use crate::prim::cancel::Cause;
    use crate::prim::parker::Awake;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::panic::Location;
    use std::sync::Mutex;

    /// What lies in the opener's frame. The cells stand for memory that is lent or freed: loom sees whether all uses by children
    /// come before the opener has it to itself again.
    struct Frame {
        roster: Roster,
        lent: [UnsafeCell<usize>; 2],
        node: UnsafeCell<CancelNode>,
    }

    // SAFETY: what the models check.
    unsafe impl Sync for Frame {}
    // SAFETY: as above.
    unsafe impl Send for Frame {}

    impl Frame {
        fn new() -> Frame {
            let lent = [UnsafeCell::new(0), UnsafeCell::new(0)];
            Frame { roster: Roster::new(), lent, node: UnsafeCell::new(CancelNode::new(None)) }
        }

        fn with_node<R>(&self, f: impl FnOnce(&CancelNode) -> R) -> R {
            // SAFETY: shared until the frame goes, which loom checks.
            self.node.with(|node| f(unsafe { &*node }))
        }

        fn go(&self) {
            // SAFETY: called by children, at their end.
            unsafe { Roster::go(NonNull::from(&self.roster)) };
        }

        /// The opener leaves: nobody else uses any of it any more.
        fn free(&self) {
            self.roster.opener.with_mut(|_| ());
            self.node.with_mut(|_| ());
        }
    }

    fn model(preemptions: usize, check: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(check);
    }

    fn spawn<T: 'static>(frame: &Arc<Frame>, child: impl FnOnce(&Frame) -> T + 'static) -> loom::thread::JoinHandle<T> {
        frame.roster.come();
        let frame = frame.clone();
        loom::thread::spawn(move || {
            let value = child(&frame);
            frame.go();
            value
        })
    }

    /// Two children that write into what they were lent, and go; one was let in by the other. The opener goes on once, when both
    /// have, and sees what they wrote. Reached: it finds them gone, finds them gone when it has made its wait, is woken.
    #[test]
    fn loom_nursery_ends_with_its_last_child() {
        let seen: &'static Mutex<HashSet<&str>> = Box::leak(Box::default());
        model(3, move || {
            let frame = Arc::new(Frame::new());
            // SAFETY: each child has one, until it goes.
            let write = |number: usize| move |frame: &Frame| frame.lent[number].with_mut(|lent| unsafe { *lent = 7 });
            let shared = frame.clone();
            let first = spawn(&frame, move |frame| {
                let second = spawn(&shared, write(1));
                write(0)(frame);
                second
            });
            let how = match &frame.roster {
                roster if roster.is_empty() => "gone",
                roster if roster.wait(Location::caller()) => "woken",
                _ => "gone meanwhile",
            };
            frame.free();
            for lent in &frame.lent {
                // SAFETY: the children have gone.
                assert_eq!(lent.with(|lent| unsafe { *lent }), 7);
            }
            seen.lock().unwrap().insert(how);
            first.join().unwrap().join().unwrap();
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from(["gone", "gone meanwhile", "woken"]));
    }

    /// How a child of a nursery that is being cancelled fares.
    #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
    enum Fate {
        /// It was not run.
        Dropped,
        /// It was told when it was about to wait.
        Told,
        /// It was poked in its wait.
        Poked,
    }

    /// As `nursery::child` and `park` do it: look; enter the scope; follow before the first wait; wait; leave the scope.
    fn attend(frame: &Frame) -> Fate {
        if frame.with_node(|node| node.cause().is_some()) {
            return Fate::Dropped;
        }
        let (me, nursery) = (park::me(), frame.with_node(|node| NonNull::from(node)));
        let Who::Thread(parker) = me.clone() else { unreachable!("the models are threads") };
        let scope = Scope::new(me, None, [Some(nursery), None], crate::prim::clock::Moment::NEVER);
        // SAFETY: left below.
        let mut cause = frame.with_node(|_| unsafe { scope.follow(&poke) });
        let mut fate = Fate::Told;
        while cause.is_none() {
            assert_eq!(parker.park(|| None), Awake::Poked);
            fate = Fate::Poked;
            cause = scope.node.as_ref().and_then(CancelNode::cause);
        }
        assert_eq!(cause, Some(Cause::Request));
        frame.with_node(|_| scope.leave());
        fate
    }

    /// A child starts while its sibling cancels the nursery and the body ends: it is dropped, told or poked, and nobody touches the
    /// nursery's node when the opener has left. Reached: all three.
    #[test]
    fn loom_nursery_cancel_reaches_a_child_that_starts() {
        let seen: &'static Mutex<HashSet<Fate>> = Box::leak(Box::default());
        model(3, move || {
            let frame = Arc::new(Frame::new());
            let canceller = spawn(&frame, |frame| frame.with_node(|node| node.cancel(Cause::Request, &poke)));
            let child = spawn(&frame, attend);
            frame.roster.close(Location::caller());
            frame.free();
            canceller.join().unwrap();
            seen.lock().unwrap().insert(child.join().unwrap());
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([Fate::Dropped, Fate::Told, Fate::Poked]));
    }
}
