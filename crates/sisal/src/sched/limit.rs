//! `max_fibers`: how many unfinished fibers there may be, and who waits to spawn one more.
//!
//! One lock guards the count of free places and the list of waiters. A place that becomes free while somebody waits is
//! handed to the one who has waited longest; it never goes through the count, so nobody can snatch it.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{ClaimToken, Waiter};
use crate::fiber::who::Who;
use crate::prim::object::{Sight, Watched};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the [module](self).
pub(crate) struct Limit {
    places: Mutex<Places>,
    most: usize,
}

struct Places {
    /// Below 0 if there are more than the limit.
    free: isize,
    waiting: WaitList<Who>,
    /// Nobody waits any more: the runtime is stopping.
    open: bool,
}

/// Whether there was a place.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Granted,
    MustWait,
}

impl Watched for Limit {
    fn sight(&self) -> Sight {
        Sight { capacity: Some(self.most), ..Sight::new("limit of fibers") }
    }
}

impl Limit {
    pub(crate) fn new(most: usize) -> Limit {
        let places =
            Places { free: isize::try_from(most).unwrap_or(isize::MAX), waiting: WaitList::new(), open: false };
        Limit { places: Mutex::new(places), most }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place if there is one.
    pub(crate) fn try_enter(&self) -> Admission {
        let mut places = self.lock();
        if places.open {
            return Admission::Granted;
        }
        if places.free <= 0 {
            return Admission::MustWait;
        }
        places.free -= 1;
        Admission::Granted
    }

    /// Takes a place even if there is none: for the jobs of a fiber that has one.
    pub(crate) fn enter_beyond(&self) {
        self.lock().free -= 1;
    }

    /// Takes a place, or puts `waiter` at the end of the list. A waiter woken by this object has a place.
    ///
    /// # Safety
    /// The record stays where it is until it was claimed by this object and unparked, or has [given up](Self::give_up).
    pub(crate) unsafe fn enter_or_enlist(&self, waiter: &Waiter<Who>) -> Admission {
        let mut places = self.lock();
        if places.open || places.free > 0 {
            places.free -= 1;
            return Admission::Granted;
        }
        // SAFETY: the caller's promise.
        unsafe { places.waiting.push(waiter) };
        Admission::MustWait
    }

    /// Takes a waiter off whose wait was ended otherwise. It was given no place.
    pub(crate) fn give_up(&self, waiter: &Waiter<Who>) {
        self.lock().waiting.remove(waiter);
    }

    /// Gives a place back: to the first who waits, who is then to be unparked.
    #[must_use]
    pub(crate) fn leave(&self) -> Option<ClaimToken<Who>> {
        let mut places = self.lock();
        if places.free >= 0
            && let Some(claimed) = places.waiting.claim_first()
        {
            return Some(claimed.into_token());
        }
        places.free += 1;
        None
    }

    /// The runtime is stopping: from now on nobody waits, and everybody who does is to be unparked.
    pub(crate) fn open(&self, unpark: impl FnMut(ClaimToken<Who>)) {
        let mut places = self.lock();
        places.open = true;
        let all = places.waiting.claim_all();
        drop(places);
        all.for_each(unpark);
    }
}
