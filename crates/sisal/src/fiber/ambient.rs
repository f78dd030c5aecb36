//! What ends the waits of whoever runs, besides what it waits for: the stack of enclosing scopes.
//!
//! Every `timeout`, every nursery and every child of one is a *scope*: a frame with a [`CancelNode`] of its own, which follows that
//! of the scope around it. The innermost one is known to the fiber or thread; a *shield* is a scope without a node, at which all
//! that comes from outside ends.
//!
//! A child of a nursery begins to follow its nursery only when it first waits or opens a scope: most never do.
#![allow(unsafe_code, reason = "scopes lie in the frames of whoever is inside them")]

use super::cancel_node::{CancelNode, Follower, What};
use super::who::Who;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use std::cell::Cell;
use std::ptr::NonNull;

/// One scope. It must not move while somebody is inside.
pub(crate) struct Scope {
    /// None: a shield.
    pub(crate) node: Option<CancelNode>,
    /// The scope around it, of the same fiber or thread.
    pub(crate) outer: Option<NonNull<Scope>>,
    /// Nodes that this one is to follow: that of the scope around it or of its nursery, and that of a token.
    parents: [Cell<Option<NonNull<CancelNode>>>; 2],
    followers: [Cell<Option<Follower>>; 2],
    following: Cell<bool>,
    /// When it ends by itself. Kept by threads only; a fiber's worker has a timer for it.
    pub(crate) expiry: Cell<Moment>,
}

impl Scope {
    /// Whether somebody has been given the means to end it, as far as can be known. The scope is not left meanwhile.
    pub(crate) fn is_open(&self) -> bool {
        // SAFETY: what is followed outlives the scope.
        let above = self.parents.iter().filter_map(Cell::get).map(|parent| unsafe { &*parent.as_ptr() });
        self.node.iter().chain(above).any(CancelNode::is_open)
    }

    /// Whether this is a shield, or lies inside of one, perhaps of a fiber that waits for the one inside.
    pub(crate) fn is_shielded(&self) -> bool {
        self.node.as_ref().is_none_or(CancelNode::is_shielded)
    }

    /// A scope that follows `parents`, which have to outlive it; and that ends by itself at `expiry`.
    pub(crate) fn new(
        owner: Who,
        outer: Option<NonNull<Scope>>,
        parents: [Option<NonNull<CancelNode>>; 2],
        expiry: Moment,
    ) -> Scope {
        // SAFETY: they outlive the scope.
        let above = || parents.iter().flatten().map(|parent| unsafe { parent.as_ref() });
        let limit = above().map(CancelNode::limit).fold(expiry, Moment::min);
        let node = CancelNode::until(limit, Some(owner));
        // SAFETY: the scope around this one is not left before it.
        let around = outer.map(|outer| unsafe { &*outer.as_ptr().cast_const() });
        // Not by a token, which may be used inside of a shield and outside.
        // SAFETY: as for those above.
        let is_shielded_above = parents[0].is_some_and(|parent| unsafe { parent.as_ref() }.is_shielded());
        let is_shielded = is_shielded_above || around.is_some_and(Scope::is_shielded);
        let node = if is_shielded { node.shielded() } else { node };
        let is_open_around = around.is_some_and(Scope::is_open);
        if is_open_around || above().any(CancelNode::is_open) {
            node.open();
        }
        Scope {
            node: Some(node),
            outer,
            parents: parents.map(Cell::new),
            followers: [const { Cell::new(None) }; 2],
            following: Cell::new(false),
            expiry: Cell::new(Moment::NEVER),
        }
    }

    pub(crate) fn shield(outer: Option<NonNull<Scope>>) -> Scope {
        Scope {
            node: None,
            outer,
            parents: [const { Cell::new(None) }; 2],
            followers: [const { Cell::new(None) }; 2],
            following: Cell::new(true),
            expiry: Cell::new(Moment::NEVER),
        }
    }

    /// Whether it has begun to [follow](Self::follow) its parents, if it is no shield.
    #[inline]
    pub(crate) fn is_following(&self) -> bool {
        self.following.get()
    }

    /// Begins to follow the parents, if that has not been done; the cause if this scope is cancelled.
    ///
    /// # Safety
    /// The scope stays where it is until [`leave`](Self::leave).
    pub(crate) unsafe fn follow(&self, poke: &dyn Fn(&Who)) -> Option<Cause> {
        let node = self.node.as_ref()?;
        if !self.following.replace(true) {
            for (parent, place) in self.parents.iter().zip(&self.followers) {
                let Some(parent) = parent.get() else { continue };
                // SAFETY: the cell is touched by the thread inside the scope only; the reference is used below, before any other
                // access.
                let follower = unsafe { (*place.as_ptr()).insert(Follower::new(What::Node(NonNull::from(node)))) };
                // SAFETY: parents outlive the scope; the follower is unlinked by `leave`, before the scope goes.
                if let Err(cause) = unsafe { parent.as_ref().follow(follower) } {
                    node.cancel(cause, poke);
                }
            }
        }
        node.cause()
    }

    /// The node that it follows, or will when it first waits: that of the scope around it or of its nursery.
    pub(crate) fn followed(&self) -> Option<NonNull<CancelNode>> {
        self.parents[0].get()
    }

    /// Nobody is inside any more: afterwards the scope may go.
    pub(crate) fn leave(&self) {
        for (parent, place) in self.parents.iter().zip(&self.followers) {
            // SAFETY: as in `follow`.
            if let (Some(parent), Some(follower)) = (parent.get(), unsafe { (*place.as_ptr()).as_ref() }) {
                // SAFETY: parents outlive the scope.
                unsafe { parent.as_ref() }.unfollow(follower);
            }
        }
    }
}
