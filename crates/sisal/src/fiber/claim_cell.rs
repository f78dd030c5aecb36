//! The claim cell of an exposed job: who runs it, and how its owner hears of the end.
//!
//! A job of [`join`](crate::par::join) lies in its owner's frame. As long as nobody else can see it, its owner takes it back by forgetting
//! it. When it is *exposed*, the cell stands between the two: it is counted, so it outlives the job and whoever looks at it late.
//!
//! # Protocol
//! - *Take* (owner or thief): exchange OPEN for TAKEN. One wins, and runs the job; the loser never touches it.
//! - *Finish* (a thief that won): the result is in the owner's frame. Under the lock, say done, and claim the owner if it waits. The
//!   owner may leave its frame right after, so nothing of the job is touched any more.
//! - *Wait* (an owner that lost): under the lock, if it is done, go on; else stand in the list. So the owner misses no end.
//!
//! The wait can't be cancelled: the thief works in the owner's frame. A job whose fiber is dropped before it ran was never taken, so its
//! owner takes it back.
#![allow(unsafe_code, reason = "the owner's wait is reached by pointer, under the lock")]

use super::wait_list::WaitList;
use super::waiter::{ClaimToken, Claimed, Identity, Waiter};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::lock::Lock;
use crate::prim::object::{Sight, Watched};

const OPEN: u32 = 0;
const TAKEN: u32 = 1;

/// See the [module](self).
pub(crate) struct ClaimCell<P> {
    word: AtomicU32,
    end: Lock<End<P>>,
}

struct End<P> {
    is_done: bool,
    owner: WaitList<P>,
}

// SAFETY: the owner's wait is reached under the lock only.
unsafe impl<P: Send> Send for End<P> {}

impl<P> Watched for ClaimCell<P> {
    fn sight(&self) -> Sight {
        Sight::new("fork")
    }
}

impl<P: Identity> ClaimCell<P> {
    pub(crate) fn new() -> ClaimCell<P> {
        let end = End { is_done: false, owner: WaitList::new() };
        ClaimCell { word: AtomicU32::new(OPEN), end: Lock::new(end) }
    }

    /// Takes the job, to run it; false if somebody else has.
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        // ORDERING: Relaxed: it only decides. A thief sees the job by the queue it has the cell from.
        self.word.compare_exchange(OPEN, TAKEN, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The thief's side: takes the job and calls `run`, unless somebody else has taken it. Returns its owner if that waits, and is to be
    /// unparked.
    pub(crate) fn steal(&self, run: impl FnOnce()) -> Option<ClaimToken<P>> {
        if !self.take() {
            return None;
        }
        run();
        self.finish()
    }

    /// The thief is done: whoever waits for that is to be unparked.
    fn finish(&self) -> Option<ClaimToken<P>> {
        let mut end = self.end.lock();
        end.is_done = true;
        end.owner.claim_first().map(Claimed::into_token)
    }

    /// The owner wants to wait for the thief; false if that is done.
    ///
    /// # Safety
    /// As for [`WaitList::push`]; the wait is ended by this cell only.
    #[must_use]
    pub(crate) unsafe fn enlist(&self, owner: &Waiter<P>) -> bool {
        let mut end = self.end.lock();
        if !end.is_done {
            // SAFETY: the caller's promise.
            unsafe { end.owner.push(owner) };
        }
        !end.is_done
    }
}
