//! One call that blocks, as the threads of the pool see it. It lies in the frame of whoever waits for it.
#![allow(unsafe_code, reason = "a job is reached by pointer while its owner waits")]

use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park;
use crate::prim::object::{Sight, Watched};
use crate::queue::chain::{ChainLink, Chained};
use std::mem;
use std::ptr::NonNull;

/// What its owner is told of it.
const DONE: Woken = Woken::Object(0);
pub(super) const GIVEN_BACK: Woken = Woken::Object(1);

/// See the [module](self).
pub(super) struct Job {
    call: NonNull<dyn FnMut() + Send>,
    wait: NonNull<Wait<Who>>,
    link: ChainLink<Job>,
}

// SAFETY: what it calls is `Send`, and called by one thread. The wait is used as its protocol says, the link under the pool's lock.
unsafe impl Sync for Job {}

impl Watched for Job {
    fn sight(&self) -> Sight {
        Sight { is_outside: true, ..Sight::new("blocking call") }
    }
}

impl Job {
    /// A call, which must not unwind, and who waits for it.
    pub(super) fn new(call: &mut (dyn FnMut() + Send), wait: &Wait<Who>) -> Job {
        let call: NonNull<dyn FnMut() + Send + '_> = NonNull::from(call);
        // SAFETY: only the lifetime is forgotten; whoever calls it promises that it is still there.
        let call = unsafe { mem::transmute::<NonNull<dyn FnMut() + Send + '_>, NonNull<dyn FnMut() + Send>>(call) };
        Job { call, wait: NonNull::from(wait), link: ChainLink::new() }
    }

    /// Makes the call.
    ///
    /// # Safety
    /// Its owner has not left its frame, and nobody else makes the call.
    pub(super) unsafe fn call(&self) {
        // SAFETY: the caller's promise.
        unsafe { (*self.call.as_ptr())() };
    }
}

impl Chained for Job {
    fn chain_link(&self) -> &ChainLink<Job> {
        &self.link
    }
}

/// The right to do a job, and the duty to do it or to give it back.
#[must_use = "its owner waits for it"]
pub(super) struct Taken(NonNull<Job>);

// SAFETY: as for the `Sync` of a job: it may be reached from any thread.
unsafe impl Send for Taken {}

impl Taken {
    /// # Safety
    /// The owner of `job` parks until it is done or given back, and nobody else has the right.
    pub(super) unsafe fn new(job: NonNull<Job>) -> Taken {
        Taken(job)
    }

    /// Does it, and lets its owner go on.
    pub(super) fn perform(self) {
        // SAFETY: the owner stays until we unpark it, and only we call.
        unsafe { self.0.as_ref().call() };
        self.tell(DONE);
    }

    /// There is no thread for it: its owner has to make the call itself.
    pub(super) fn give_back(self) {
        self.tell(GIVEN_BACK);
    }

    fn tell(self, what: Woken) {
        // SAFETY: the owner stays until we unpark it; the last that is done with the job.
        let claimed = unsafe { self.0.as_ref().wait.as_ref().claim(what) };
        match claimed {
            Some(token) => park::unpark(token),
            None => unreachable!("INVARIANT: nothing but its job ends this wait"),
        }
    }
}
