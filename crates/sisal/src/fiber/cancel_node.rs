//! The tree by which cancellation spreads.
//!
//! A node is something that can be cancelled as a whole: everything called inside a `timeout`, a nursery, a child of one, a token.
//! What is to end with it *follows* it: other nodes, and whatever else wants to be called. Nodes and followers live in frames or
//! in counted blocks, and are linked into their parent under the parent's lock.
//!
//! # Protocol
//! - *Follow*: lock the parent; if it is cancelled, say by what; else link.
//! - *Cancel*: lock; if there is a cause already, nothing is left to do; write the cause; cancel every follower, with the lock held, so
//!   that none can go meanwhile; poke the owner. Locks are taken from parent to child only, and a node begins to follow others when it
//!   is made, so there are no circles.
//! - *Unfollow*: lock the parent; unlink. Afterwards nobody comes from there any more, so the follower may go.
//!
//! A tree may be as deep as its users like, and stacks are small: a cancellation walks it without recursion. The way back is kept in
//! the nodes on the way, which are locked: each holds the guard of the node above it, and the follower by which the walk came.
//!
//! A poke tells the owner's thread to look at its waits. It is sent while the node is locked by its parent, or by
//! somebody who keeps the node alive otherwise; the cause is written before. So an owner that has begun to follow, has seen no
//! cause, and then waits, is poked.
#![allow(unsafe_code, reason = "followers in the frames of their owners are reached by pointer")]

use super::who::Who;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::lock::{Lock, LockGuard};
use crate::prim::task_parker::later;
use crate::queue::chain::{Chain, ChainLink, Chained};
use std::ptr::NonNull;

/// See the [module](self).
pub(crate) struct CancelNode {
    /// 0, or the cause's number plus 1. Written once, under the lock.
    cause: AtomicU32,
    inner: Lock<Inner>,
    /// Who runs inside, if that is one fiber or thread.
    owner: Option<Who>,
    /// When it will be cancelled by itself, or by something that it follows: a timer does that, at this time or a little later.
    limit: Moment,
    /// Whether a shield lies around it, or around what it follows: the end of the runtime does not come by nodes, and is kept off here, too.
    is_shielded: bool,
    /// 1 if somebody has been given the means to cancel it. For those who look; it decides nothing here.
    is_open: std::sync::atomic::AtomicU8,
}

struct Inner {
    followers: Chain<Follower>,
    /// During a cancellation that came from above: how it goes on when it is done here.
    back: Option<Back>,
}

/// The way from a node back to the one above it.
struct Back {
    above: &'static CancelNode,
    guard: LockGuard<'static, Inner>,
    by: &'static Follower,
}

/// Something that is cancelled with a node.
pub(crate) struct Follower {
    what: What,
    link: ChainLink<Follower>,
}

/// What a follower is.
pub(crate) enum What {
    Node(NonNull<CancelNode>),
    /// Calls the function with the pointer. Under the lock of the node, so briefly.
    Call(unsafe fn(NonNull<()>, Cause), NonNull<()>),
}

// SAFETY: what the pointers lead to may be used from any thread, by the promise made when the follower was linked.
unsafe impl Sync for Follower {}
// SAFETY: as above.
unsafe impl Send for Follower {}

impl Chained for Follower {
    fn chain_link(&self) -> &ChainLink<Follower> {
        &self.link
    }
}

impl Follower {
    pub(crate) fn new(what: What) -> Follower {
        Follower { what, link: ChainLink::new() }
    }

    fn next(&self) -> Option<NonNull<Follower>> {
        self.link.next()
    }
}

impl Inner {
    fn first(&self) -> Option<NonNull<Follower>> {
        self.followers.iter().next().map(NonNull::from)
    }
}

impl CancelNode {
    pub(crate) fn new(owner: Option<Who>) -> CancelNode {
        let inner = Inner { followers: Chain::new(), back: None };
        let is_open = std::sync::atomic::AtomicU8::new(0);
        CancelNode {
            cause: AtomicU32::new(0),
            inner: Lock::new(inner),
            owner,
            limit: Moment::NEVER,
            is_shielded: false,
            is_open,
        }
    }

    /// One that will be cancelled at this time by itself, or by one that it follows.
    pub(crate) fn until(limit: Moment, owner: Option<Who>) -> CancelNode {
        CancelNode { limit, ..CancelNode::new(owner) }
    }

    /// The same, with a shield around it.
    pub(crate) fn shielded(self) -> CancelNode {
        CancelNode { is_shielded: true, ..self }
    }

    /// Whether there is one.
    pub(crate) fn is_shielded(&self) -> bool {
        self.is_shielded
    }

    /// When time will cancel it, as far as can be known.
    pub(crate) fn limit(&self) -> Moment {
        self.limit
    }

    /// Whether time will cancel it, as far as can be known.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit != Moment::NEVER
    }

    /// Cancels it if its time is up. For those who ask without a wait: its timer says so when its worker next looks, which may compute.
    pub(crate) fn heed_time(&self, poke: &dyn Fn(&Who)) {
        if self.is_limited() && self.cause().is_none() && Moment::now() >= self.limit {
            self.cancel(Cause::Deadline, poke);
        }
    }

    /// By what it was cancelled, if it was.
    #[inline]
    pub(crate) fn cause(&self) -> Option<Cause> {
        // ORDERING: Acquire pairs with the Release in `cancel`: what was done before the cancellation is seen by who ends for it.
        self.cause.load(Ordering::Acquire).checked_sub(1).and_then(Cause::from_number)
    }

    /// Somebody gets the means to cancel it, or something that it follows.
    pub(crate) fn open(&self) {
        self.is_open.store(1, Ordering::Relaxed);
    }

    /// Whether somebody has these, as far as can be known.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed) != 0
    }

    /// Cancels it and all that follows it, unless that has been done. `poke` is called with every owner.
    pub(crate) fn cancel(&self, cause: Cause, poke: &dyn Fn(&Who)) {
        // Closing a channel unparks who waits there, among them tasks, whose wakers may come back here.
        later(|| self.walk(cause, poke));
    }

    fn walk(&self, cause: Cause, poke: &dyn Fn(&Who)) {
        // SAFETY: the walk is over before this returns.
        let mut node = unsafe { NonNull::from(self).as_ref() };
        let Some(mut guard) = node.begin_cancel(cause) else { return };
        let mut next = guard.first();
        loop {
            let Some(follower) = next else {
                if let Some(owner) = &node.owner {
                    poke(owner);
                }
                // All below is done. The guard of the node above comes out before ours is given back.
                let Some(back) = guard.back.take() else { return };
                (node, guard) = (back.above, back.guard);
                next = back.by.next();
                continue;
            };
            // SAFETY: a follower is linked, and with it what it leads to stays, as long as we hold the lock of the node it follows.
            let follower: &'static Follower = unsafe { follower.as_ref() };
            next = match follower.what {
                What::Node(below) => {
                    // SAFETY: as above.
                    let below = unsafe { below.as_ref() };
                    match below.begin_cancel(cause) {
                        Some(mut inside) => {
                            let first = inside.first();
                            let above = std::mem::replace(&mut node, below);
                            std::mem::swap(&mut guard, &mut inside);
                            guard.back = Some(Back { above, guard: inside, by: follower });
                            first
                        }
                        None => follower.next(),
                    }
                }
                What::Call(function, with) => {
                    // SAFETY: as above.
                    unsafe { function(with, cause) };
                    follower.next()
                }
            };
        }
    }

    /// Writes the cause, and keeps the node locked; none if there was a cause already.
    fn begin_cancel(&self, cause: Cause) -> Option<LockGuard<'_, Inner>> {
        let guard = self.inner.lock();
        if self.cause.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // ORDERING: Release pairs with the Acquire in `cause`.
        self.cause.store(cause.to_number() + 1, Ordering::Release);
        Some(guard)
    }

    /// Links a follower; if the node is cancelled already, nothing is linked and the cause is returned.
    ///
    /// # Safety
    /// The follower and what it leads to stay where they are until it was [unlinked](Self::unfollow), and may be used from any
    /// thread.
    pub(crate) unsafe fn follow(&self, follower: &Follower) -> Result<(), Cause> {
        let mut inner = self.inner.lock();
        match self.cause() {
            Some(cause) => Err(cause),
            None => {
                // SAFETY: the caller's promise.
                unsafe { inner.followers.push(follower) };
                Ok(())
            }
        }
    }

    /// Unlinks a follower of this node, if it is linked.
    pub(crate) fn unfollow(&self, follower: &Follower) {
        self.inner.lock().followers.remove(follower);
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// What a test's follower does: notes that it was called, by what and in which order.
    struct Note<'a>(usize, &'a RefCell<Vec<(usize, Cause)>>);

    impl Note<'_> {
        fn follower(&self) -> Follower {
            unsafe fn write(note: NonNull<()>, cause: Cause) {
                // SAFETY: made from a note that outlives the follower.
                let note = unsafe { note.cast::<Note<'_>>().as_ref() };
                note.1.borrow_mut().push((note.0, cause));
            }
            Follower::new(What::Call(write, NonNull::from(self).cast()))
        }
    }

    fn follower_of(node: &CancelNode) -> Follower {
        Follower::new(What::Node(NonNull::from(node)))
    }

    #[test]
    fn a_cancellation_reaches_all_below_once_and_nothing_above() {
        let called = RefCell::new(Vec::new());
        let notes: Vec<Note<'_>> = (0..5).map(|number| Note(number, &called)).collect();
        let notes: Vec<Follower> = notes.iter().map(Note::follower).collect();
        let [top, left, right, both] = [const { None }; 4].map(CancelNode::new);
        let [a, b, c, d] = [follower_of(&left), follower_of(&right), follower_of(&both), follower_of(&both)];
        // SAFETY: nothing moves or goes before the end of the test.
        unsafe {
            let links = [(&top, &a), (&top, &b), (&left, &c), (&right, &d)];
            let calls = [(&top, &notes[0]), (&left, &notes[1]), (&both, &notes[2]), (&right, &notes[3])];
            assert!(links.into_iter().chain(calls).all(|(node, follower)| node.follow(follower).is_ok()));
        }
        both.cancel(Cause::Deadline, &|_| ());
        assert_eq!((top.cause(), left.cause(), both.cause()), (None, None, Some(Cause::Deadline)));
        top.cancel(Cause::Request, &|_| ());
        left.cancel(Cause::Failure, &|_| ());
        assert_eq!(
            [&top, &left, &right, &both].map(CancelNode::cause).map(Option::unwrap),
            [Cause::Request, Cause::Request, Cause::Request, Cause::Deadline]
        );
        let expected = [(2, Cause::Deadline), (1, Cause::Request), (3, Cause::Request), (0, Cause::Request)];
        assert_eq!(*called.borrow(), expected);
        // SAFETY: it is not linked.
        assert_eq!(unsafe { right.follow(&notes[4]) }, Err(Cause::Request));
    }

    #[test]
    fn a_tree_may_be_deeper_than_any_stack() {
        let nodes: Vec<CancelNode> = (0..300_000).map(|_| CancelNode::new(None)).collect();
        let followers: Vec<Follower> = nodes.iter().skip(1).map(follower_of).collect();
        for (node, follower) in nodes.iter().zip(&followers) {
            // SAFETY: nothing moves or goes before the end of the test.
            assert!(unsafe { node.follow(follower) }.is_ok());
        }
        nodes[0].cancel(Cause::Signal, &|_| ());
        assert!(nodes.iter().all(|node| node.cause() == Some(Cause::Signal)));
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::prim::parker::{Awake, ThreadParker};
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// A thread enters a node below one that is being cancelled, and waits: it is told before or woken. Reached: both.
    #[test]
    fn loom_cancel_reaches_every_follower() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let root = Arc::new(CancelNode::new(None));
            let canceller = {
                let root = root.clone();
                loom::thread::spawn(move || {
                    root.cancel(Cause::Request, &|who| match who {
                        Who::Thread(parker) => parker.poke(),
                        Who::Task(_) => unreachable!("no task follows"),
                    });
                })
            };
            let parker = std::sync::Arc::new(ThreadParker::new());
            let node = CancelNode::new(Some(Who::Thread(parker.clone())));
            let follower = Follower::new(What::Node(NonNull::from(&node)));
            // SAFETY: unlinked below, before either goes.
            let told = unsafe { root.follow(&follower) }.is_err();
            if !told {
                while node.cause().is_none() {
                    assert_eq!(parker.park(|| None), Awake::Poked);
                }
                root.unfollow(&follower);
            }
            canceller.join().unwrap();
            seen.lock().unwrap().insert(told);
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
}
