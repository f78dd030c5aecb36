//! A barrier.
//!
//! # Protocol
//! One lock guards the number of those who have come and the list of those who wait. Each who comes is counted. The last one sets
//! the count back, claims all who wait, and unparks them when the lock is free again; the others join the list and park. A claim ends the
//! wait, so nobody need look which round it is: whoever comes after the last one is counted for the next.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting, pay_fuel};
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::panic::Location;

/// A place where so many wait for one another, and then all go on. It can be used again and again.
///
/// Who waits parks its fiber, or blocks its thread outside of fibers. The wait is not [cancelled](crate::Cancelled) by anything.
///
/// ```
/// use sisal::sync::Barrier;
/// use std::sync::Arc;
///
/// sisal::run(|| {
///     let barrier = Arc::new(Barrier::new(3));
///     let fibers: Vec<_> = (0..3)
///         .map(|_| {
///             let barrier = barrier.clone();
///             sisal::spawn(move || barrier.wait().is_leader())
///         })
///         .collect();
///     let leaders = fibers.into_iter().map(|fiber| fiber.join().unwrap());
///     assert_eq!(leaders.filter(|&leader| leader).count(), 1);
/// });
/// ```
pub struct Barrier {
    /// How many it takes.
    needed: usize,
    arrivals: Lock<Arrivals>,
}

struct Arrivals {
    /// How many have come in this round.
    count: usize,
    waiting: WaitList<Who>,
}

impl Watched for Barrier {
    fn sight(&self) -> Sight {
        Sight { capacity: Some(self.needed), ..Sight::new("barrier") }
    }
}

impl Barrier {
    const_fn! {
        /// A barrier for `n`. One for none or one lets everybody pass.
        ///
        /// ```
        /// static ALONE: sisal::sync::Barrier = sisal::sync::Barrier::new(1);
        /// assert!(ALONE.wait().is_leader());
        /// ```
        pub fn new(n: usize) -> Barrier {
            Barrier { needed: n, arrivals: Lock::new(Arrivals { count: 0, waiting: WaitList::new() }) }
        }
    }

    /// Waits until all have come. The last one to come is told that it leads.
    ///
    /// ```
    /// let barrier = sisal::sync::Barrier::new(2);
    /// std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| barrier.wait().is_leader());
    ///     let mine = barrier.wait().is_leader();
    ///     assert_ne!(mine, other.join().unwrap());
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        self.wait_at(Location::caller())
    }

    fn wait_at(&self, place: Place) -> BarrierWaitResult {
        let wait = Wait::new(park::me());
        let waiter = Waiter::solo(&wait);
        // SAFETY: if it was enlisted it is claimed and unparked before this function returns, since nothing else ends its wait.
        let is_leader = unsafe { self.arrive(&waiter) };
        if is_leader {
            pay_fuel(place);
        } else {
            let object = Object::of(self);
            let waiting = Waiting { reason: Reason::Barrier, object, place, deadline: None, cancellable: false };
            let woken = park::park(&wait, &waiting);
            debug_assert_eq!(woken, Woken::Object(0), "INVARIANT: nothing but the barrier ends this wait");
        }
        BarrierWaitResult(is_leader)
    }

    /// Counts one more. If it is the last one it lets the others go on, else it is enlisted.
    ///
    /// # Safety
    /// The waiter stays where it is until it was claimed and unparked.
    unsafe fn arrive(&self, waiter: &Waiter<Who>) -> bool {
        let mut arrivals = self.arrivals.lock();
        arrivals.count += 1;
        if arrivals.count < self.needed {
            // SAFETY: the caller's promise.
            unsafe { arrivals.waiting.push(waiter) };
            return false;
        }
        arrivals.count = 0;
        let all = arrivals.waiting.claim_all();
        drop(arrivals);
        all.for_each(park::unpark);
        true
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// What [`Barrier::wait`] returns.
///
/// ```
/// let result = sisal::sync::Barrier::new(1).wait();
/// assert_eq!(format!("{result:?}"), "BarrierWaitResult { is_leader: true }");
/// ```
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this is the one of its round that leads.
    ///
    /// ```
    /// assert!(sisal::sync::Barrier::new(1).wait().is_leader());
    /// ```
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::{Outcomes, check};
    use super::*;

    /// Two come twice each: nobody is left behind, and each round has one leader. Reached: every choice of leaders.
    #[test]
    fn loom_barrier_lets_all_go_on_in_every_round() {
        let leads = Outcomes::new();
        check(3, move || {
            let barrier = loom::sync::Arc::new(Barrier::new(2));
            let twice = |barrier: &Barrier| [barrier.wait().is_leader(), barrier.wait().is_leader()];
            let other = {
                let barrier = barrier.clone();
                loom::thread::spawn(move || twice(&barrier))
            };
            let mine = twice(&barrier);
            assert_eq!(other.join().unwrap(), mine.map(|leader| !leader));
            leads.note(mine);
        });
        leads.assert([[false, false], [false, true], [true, false], [true, true]]);
    }
}
