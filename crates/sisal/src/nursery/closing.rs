//! Channels that are closed with a nursery.
//!
//! Each is a follower of the nursery's node, so that it is closed when the nursery is cancelled; and when the nursery ends, all are
//! closed. Closing a channel takes its lock, under that of the node, and unparks who waits there: nothing of that takes the lock of
//! a node.
#![allow(unsafe_code, reason = "the node reaches channels by pointer")]

use crate::chan::Sender;
use crate::fiber::cancel_node::{CancelNode, Follower, What};
use crate::prim::cancel::Cause;
use crate::prim::drop_quietly::drop_quietly;
use crate::prim::lock::Lock;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// The channels of one nursery.
pub(super) struct Closing(Lock<Vec<Arc<dyn Close>>>);

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

impl Closing {
    pub(super) fn new() -> Closing {
        Closing(Lock::new(Vec::new()))
    }

    /// Closes this channel when `node` is cancelled, or at the [end](Self::end).
    ///
    /// # Safety
    /// The end comes before the node goes, and not while this is being called.
    pub(super) unsafe fn add<T: Send + 'static>(&self, node: &CancelNode, sender: Sender<T>) {
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
    ///
    /// # Panics
    /// If something does that is dropped with a channel. All are closed nevertheless, and the node leads to none of them.
    pub(super) fn end(&self, node: &CancelNode) {
        let channels = std::mem::take(&mut *self.0.lock());
        channels.iter().for_each(|channel| node.unfollow(channel.follower()));
        let mut first = None;
        for channel in channels {
            let closed = catch_unwind(AssertUnwindSafe(move || channel.close()));
            match closed {
                Err(payload) if first.is_none() => first = Some(payload),
                Err(payload) => drop_quietly(payload),
                Ok(()) => {}
            }
        }
        if let Some(payload) = first {
            resume_unwind(payload);
        }
    }
}
