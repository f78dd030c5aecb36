//! The tree by which cancellation spreads.
//!
//! A node is something that can be cancelled as a whole: everything called inside a `timeout`, a nursery, a child of one, a token.
//! What is to end with it *follows* it: other nodes, and whatever else wants to be called. Nodes and followers live in frames or
//! in counted blocks, and are linked into their parent under the parent's lock.
//!
//! # Protocol
//! - *Follow*: lock the parent; if it is cancelled, say by what; else link.
//! - *Cancel*: lock; if there is a cause already, nothing is left to do; write the cause; cancel every follower, with the lock held, so
//!   that none can go meanwhile; poke the owner. Locks are taken from parent to child only.
//! - *Unfollow*: lock the parent; unlink. Afterwards nobody comes from there any more, so the follower may go.
//!
//! A poke tells the owner's thread to look at its waits. It is sent while the node is locked by its parent, or by
//! somebody who keeps the node alive otherwise; the cause is written before. So an owner that has begun to follow, has seen no
//! cause, and then waits, is poked.
#![allow(unsafe_code, reason = "followers in the frames of their owners are reached by pointer")]

use super::who::Who;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cancel::Cause;
use crate::prim::lock::Lock;
use crate::queue::chain::{Chain, ChainLink, Chained};
use std::ptr::NonNull;

/// See the [module](self).
pub(crate) struct CancelNode {
    /// 0, or the cause's number plus 1. Written once, under the lock.
    cause: AtomicU32,
    followers: Lock<Chain<Follower>>,
    /// Who runs inside, if that is one fiber or thread.
    owner: Option<Who>,
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

    fn cancel(&self, cause: Cause, poke: &dyn Fn(&Who)) {
        match self.what {
            // SAFETY: a follower's node is alive while the follower is linked, by the promise to `follow`.
            What::Node(node) => unsafe { node.as_ref() }.cancel(cause, poke),
            // SAFETY: as above.
            What::Call(function, with) => unsafe { function(with, cause) },
        }
    }
}

impl CancelNode {
    pub(crate) fn new(owner: Option<Who>) -> CancelNode {
        CancelNode { cause: AtomicU32::new(0), followers: Lock::new(Chain::new()), owner }
    }

    /// By what it was cancelled, if it was.
    #[inline]
    pub(crate) fn cause(&self) -> Option<Cause> {
        // ORDERING: Acquire pairs with the Release in `cancel`: what was done before the cancellation is seen by who ends for it.
        self.cause.load(Ordering::Acquire).checked_sub(1).and_then(Cause::from_number)
    }

    /// Cancels it and all that follows it, unless that has been done. `poke` is called with every owner.
    pub(crate) fn cancel(&self, cause: Cause, poke: &dyn Fn(&Who)) {
        let followers = self.followers.lock();
        if self.cause.load(Ordering::Relaxed) != 0 {
            return;
        }
        // ORDERING: Release pairs with the Acquire in `cause`.
        self.cause.store(cause.to_number() + 1, Ordering::Release);
        followers.iter().for_each(|follower| follower.cancel(cause, poke));
        if let Some(owner) = &self.owner {
            poke(owner);
        }
    }

    /// Links a follower; if the node is cancelled already, nothing is linked and the cause is returned.
    ///
    /// # Safety
    /// The follower and what it leads to stay where they are until it was [unlinked](Self::unfollow), and may be used from any
    /// thread.
    pub(crate) unsafe fn follow(&self, follower: &Follower) -> Result<(), Cause> {
        let mut followers = self.followers.lock();
        match self.cause() {
            Some(cause) => Err(cause),
            None => {
                // SAFETY: the caller's promise.
                unsafe { followers.push(follower) };
                Ok(())
            }
        }
    }

    /// Unlinks a follower of this node, if it is linked.
    pub(crate) fn unfollow(&self, follower: &Follower) {
        self.followers.lock().remove(follower);
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
                    root.cancel(Cause::Request, &|Who::Thread(parker)| parker.poke());
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
