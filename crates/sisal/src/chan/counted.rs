//! A channel and how many senders and receivers it has. It closes when one side is gone, and is freed when both are.
#![allow(unsafe_code, reason = "the block is owned by all handles together")]

use super::port::Channel;
use crate::prim::atomic::{AtomicUsize, Ordering};
use crate::prim::lock::Lock;
use std::error::Error;
use std::ops::Deref;
use std::process::abort;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Why a channel was closed, if somebody said so.
pub(crate) type Reason = Arc<dyn Error + Send + Sync>;

/// The block.
pub(crate) struct Block<C> {
    senders: AtomicUsize,
    receivers: AtomicUsize,
    /// How many sides are gone.
    gone: AtomicUsize,
    reason: Lock<Option<Reason>>,
    /// Called, with its number, when the last receiver has gone.
    farewell: OnceLock<(fn(u64), u64)>,
    channel: C,
}

/// One handle: a share in the block. Which side it is on is known by whoever has it.
pub(crate) struct Counted<C>(NonNull<Block<C>>);

impl<C: Channel> Counted<C> {
    /// The first sender and the first receiver.
    pub(crate) fn pair(channel: C) -> (Counted<C>, Counted<C>) {
        let block = Block {
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            gone: AtomicUsize::new(0),
            reason: Lock::new(None),
            farewell: OnceLock::new(),
            channel,
        };
        let block = NonNull::from(Box::leak(Box::new(block)));
        (Counted(block), Counted(block))
    }

    /// A receiver of a channel that needs no senders.
    pub(crate) fn receiver(channel: C) -> Counted<C> {
        let (sender, receiver) = Counted::pair(channel);
        sender.block().senders.store(0, Ordering::Relaxed);
        sender.block().gone.store(1, Ordering::Relaxed);
        receiver
    }

    #[inline]
    fn block(&self) -> &Block<C> {
        // SAFETY: the block is freed after the last handle of both sides is gone, and this is one.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn senders(&self) -> usize {
        self.block().senders.load(Ordering::Relaxed)
    }

    pub(crate) fn receivers(&self) -> usize {
        self.block().receivers.load(Ordering::Relaxed)
    }

    pub(crate) fn clone_sender(&self) -> Counted<C> {
        self.clone_counted(&self.block().senders)
    }

    pub(crate) fn clone_receiver(&self) -> Counted<C> {
        self.clone_counted(&self.block().receivers)
    }

    fn clone_counted(&self, count: &AtomicUsize) -> Counted<C> {
        if count.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            // Somebody forgets clones in a loop. One more step, and memory would be freed under others.
            abort();
        }
        Counted(self.0)
    }

    /// This sender goes.
    pub(crate) fn drop_sender(&self) {
        // ORDERING: AcqRel: what all senders did comes before the closing.
        if self.block().senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.block().channel.close();
            self.side_is_gone();
        }
    }

    /// This receiver goes.
    pub(crate) fn drop_receiver(&self) {
        // ORDERING: as above.
        if self.block().receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _farewell = Farewell(self.block().farewell.get().copied());
            // Also if the drop of a message panics.
            let _gone = SideIsGone(self);
            self.block().channel.close();
            self.block().channel.discard();
        }
    }

    /// Has `f` called with `number` when the last receiver has gone. One such call at most.
    pub(crate) fn on_last_receiver(&self, f: fn(u64), number: u64) {
        let set = self.block().farewell.set((f, number));
        debug_assert!(set.is_ok(), "INVARIANT: set once");
    }

    fn side_is_gone(&self) {
        // ORDERING: AcqRel: what one side did comes before the freeing by the other.
        if self.block().gone.fetch_add(1, Ordering::AcqRel) == 1 {
            // SAFETY: both sides are gone; the last handle, which is this one, is not used any more.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }

    /// Closes the channel and says why; false if it was closed already.
    ///
    /// The closing decides who may say something, and nobody can ask before that is said: the lock is taken first, and is free again before
    /// anybody is woken.
    pub(crate) fn close_with(&self, why: Reason) -> bool {
        // If it stays unsaid, it is dropped when the lock is free.
        let mut why = Some(why);
        let said = &mut why;
        let mut reason = self.block().reason.lock();
        self.block().channel.close_and(move || {
            *reason = said.take();
            drop(reason);
        })
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        self.block().reason.lock().clone()
    }

    pub(crate) fn same(&self, other: &Counted<C>) -> bool {
        self.0 == other.0
    }
}

/// Calls when it goes.
struct Farewell(Option<(fn(u64), u64)>);

impl Drop for Farewell {
    fn drop(&mut self) {
        if let Some((f, number)) = self.0 {
            f(number);
        }
    }
}

/// Says so when it goes.
struct SideIsGone<'a, C: Channel>(&'a Counted<C>);

impl<C: Channel> Drop for SideIsGone<'_, C> {
    fn drop(&mut self) {
        self.0.side_is_gone();
    }
}

impl<C: Channel> Deref for Counted<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.block().channel
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use crate::chan::bounded;
    use crate::chan::models::check;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// Two close, each with a reason or without, and say whether they did. One does, and the other finds it closed. A third that finds it closed
    /// finds what the one has said, and nothing else ever.
    fn close_twice(reasons: [Option<&'static str>; 2]) -> HashSet<(usize, Option<String>)> {
        let seen: &'static Mutex<HashSet<(usize, Option<String>)>> = Box::leak(Box::default());
        check(3, move || {
            let (sender, receiver) = bounded::<usize>(1);
            let closers = reasons.map(|reason| {
                let sender = sender.clone();
                loom::thread::spawn(move || {
                    let closed = reason.map_or_else(|| sender.close(), |reason| sender.close_with(reason));
                    assert!(sender.is_closed(), "whoever closed it");
                    closed
                })
            });
            let reason = || receiver.close_reason().map(|reason| reason.to_string());
            let early = receiver.is_closed().then(reason);
            let closed = closers.map(|closer| closer.join().unwrap());
            let winner = closed.iter().position(|&closed| closed).expect("one of them");
            assert_ne!(closed[0], closed[1]);
            assert_eq!(reason().as_deref(), reasons[winner]);
            if let Some(early) = early {
                assert_eq!(early, reason());
            }
            seen.lock().unwrap().insert((winner, reason()));
        });
        seen.lock().unwrap().clone()
    }

    #[test]
    fn loom_counted_is_closed_for_the_reason_of_one() {
        let seen = close_twice([Some("one"), Some("other")]);
        assert_eq!(seen, HashSet::from([(0, Some("one".to_owned())), (1, Some("other".to_owned()))]));
    }

    #[test]
    fn loom_counted_shows_no_reason_if_it_was_closed_without() {
        let seen = close_twice([Some("one"), None]);
        assert_eq!(seen, HashSet::from([(0, Some("one".to_owned())), (1, None)]));
    }
}
