//! Channels that are closed with a nursery.
//!
//! Each is a follower of the nursery's node, so that it is closed when the nursery is cancelled; and when the nursery ends, all are
//! closed. Closing a channel takes its lock, under that of the node, and unparks who waits there: nothing of that takes the lock of
//! a node.
#![allow(unsafe_code, reason = "the node reaches channels by pointer")]

use crate::chan::Sender;
use crate::fiber::cancel_node::{CancelNode, Follower, What};
use crate::prim::cancel::Cause;
use crate::prim::lock::Lock;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// The channels of one nursery.
pub(super) struct Closing<'env>(Lock<Vec<Arc<dyn Close + 'env>>>);

/// A channel of whatever type.
trait Close: Send + Sync {
    fn follower(&self) -> &Follower;
    fn close(&self);
}

struct Channel<T> {
    sender: Sender<T>,
    follower: Follower,
}

impl<T: Send> Close for Channel<T> {
    fn follower(&self) -> &Follower {
        &self.follower
    }

    fn close(&self) {
        self.sender.close();
    }
}

/// Closes a [`Channel`] when its nursery is cancelled.
unsafe fn close<T: Send>(channel: NonNull<()>, _: Cause) {
    // SAFETY: made from such a channel, which stays as long as it follows.
    unsafe { channel.cast::<Channel<T>>().as_ref() }.sender.close();
}

impl<'env> Closing<'env> {
    pub(super) fn new() -> Closing<'env> {
        Closing(Lock::new(Vec::new()))
    }

    /// Closes this channel when `node` is cancelled, or at the [end](Self::end).
    ///
    /// # Safety
    /// The end comes before the node goes, and not while this is being called.
    pub(super) unsafe fn add<T: Send + 'env>(&self, node: &CancelNode, sender: Sender<T>) {
        let channel = Arc::new_cyclic(|channel: &Weak<Channel<T>>| {
            let channel = NonNull::new(channel.as_ptr().cast_mut().cast());
            let channel = channel.unwrap_or_else(|| unreachable!("INVARIANT: a block has an address"));
            Channel { sender, follower: Follower::new(What::Call(close::<T>, channel)) }
        });
        // SAFETY: kept, and unlinked by `end`.
        match unsafe { node.follow(&channel.follower) } {
            Ok(()) => self.0.lock().push(channel),
            Err(_) => channel.close(),
        }
    }

    /// Closes all.
    pub(super) fn end(&self, node: &CancelNode) {
        let channels = std::mem::take(&mut *self.0.lock());
        for channel in channels {
            node.unfollow(channel.follower());
            channel.close();
        }
    }
}
