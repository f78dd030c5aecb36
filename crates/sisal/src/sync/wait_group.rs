//! A wait group.
//!
//! # Protocol
//! One lock, shared by all clones, guards their number and the list of those who wait for it to become nothing. Who waits is not counted
//! any more. Whoever takes the last one off claims all who wait, and unparks them when the lock is free again; one that gives up
//! leaves the list.
#![allow(unsafe_code, reason = "waiters are reached by pointer, under the lock")]

use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Wait, Waiter, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::cancel::Cancelled;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Sight, Tally, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Waits for several others to be done: each has a clone, and drops it when it is.
///
/// Who waits parks its fiber, or blocks its thread outside of fibers.
///
/// ```
/// use sisal::sync::WaitGroup;
///
/// sisal::run(|| {
///     let group = WaitGroup::new();
///     for _ in 0..3 {
///         let group = group.clone();
///         drop(sisal::spawn(move || {
///             // Do some work, and be done.
///             drop(group);
///         }));
///     }
///     group.wait().unwrap();
/// });
/// ```
pub struct WaitGroup {
    members: Arc<Members>,
}

struct Members {
    /// Guarded by the lock of the list.
    count: Tally,
    waiting: Lock<WaitList<Who>>,
}

impl WaitGroup {
    /// A group of one.
    ///
    /// ```
    /// sisal::sync::WaitGroup::new().wait().unwrap();
    /// ```
    pub fn new() -> WaitGroup {
        WaitGroup { members: Arc::new(Members { count: Tally::new(1), waiting: Lock::new(WaitList::new()) }) }
    }

    /// Leaves the group, and waits until all have left or wait.
    ///
    /// # Errors
    /// [`Cancelled`] if it had to wait and something from outside ended the wait: see [`Cause`](crate::Cause).
    ///
    /// ```
    /// let group = sisal::sync::WaitGroup::new();
    /// let other = group.clone();
    /// let thread = std::thread::spawn(move || drop(other));
    /// group.wait()?;
    /// # thread.join().unwrap();
    /// # Ok::<(), sisal::Cancelled>(())
    /// ```
    #[track_caller]
    pub fn wait(self) -> Result<(), Cancelled> {
        let members = Arc::clone(&self.members);
        drop(self);
        wait_for_none(&members, Location::caller())
    }
}

impl Watched for Members {
    fn sight(&self) -> Sight {
        Sight { length: Some(self.count.get()), ..Sight::new("wait group") }
    }
}

fn wait_for_none(members: &Members, place: Place) -> Result<(), Cancelled> {
    let wait = Wait::new(park::me());
    let waiter = Waiter::solo(&wait);
    {
        let mut waiting = members.waiting.lock();
        if members.count.get() == 0 {
            drop(waiting);
            park::pay_fuel(place);
            return Ok(());
        }
        // SAFETY: claimed by the list and unparked, or removed below.
        unsafe { waiting.push(&waiter) };
    }
    let object = Object::of(members);
    let waiting = Waiting { reason: Reason::WaitGroup, object, place, deadline: None, cancellable: true };
    match park::park_or_leave(&wait, &waiting, || members.waiting.lock().remove(&waiter)) {
        Woken::Object(_) => Ok(()),
        Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
        Woken::Deadline => unreachable!("INVARIANT: this wait has no deadline"),
    }
}

impl Clone for WaitGroup {
    fn clone(&self) -> WaitGroup {
        let waiting = self.members.waiting.lock();
        self.members.count.set(self.members.count.get() + 1);
        drop(waiting);
        WaitGroup { members: Arc::clone(&self.members) }
    }
}

impl Drop for WaitGroup {
    fn drop(&mut self) {
        let mut waiting = self.members.waiting.lock();
        let left = self.members.count.get() - 1;
        self.members.count.set(left);
        if left == 0 {
            let all = waiting.claim_all();
            drop(waiting);
            all.for_each(park::unpark);
        }
    }
}

impl Default for WaitGroup {
    fn default() -> WaitGroup {
        WaitGroup::new()
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitGroup").field("count", &self.members.count.get()).finish()
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::models::check;
    use super::*;
    use crate::prim::atomic::{AtomicU32, Ordering};
    use loom::thread;
    use std::collections::HashSet;

    /// Two members do something and leave, and one waits for them: it sees what they did. Reached: a wait that begins when neither, one or
    /// both have done it.
    #[test]
    fn loom_wait_group_waits_for_all() {
        let seen: &'static std::sync::Mutex<HashSet<u32>> = Box::leak(Box::default());
        check(3, move || {
            let group = WaitGroup::new();
            let done = loom::sync::Arc::new(AtomicU32::new(0));
            let members = [(); 2].map(|()| {
                let (group, done) = (group.clone(), done.clone());
                thread::spawn(move || {
                    done.fetch_add(1, Ordering::Relaxed);
                    drop(group);
                })
            });
            seen.lock().unwrap().insert(done.load(Ordering::Relaxed));
            group.wait().unwrap();
            assert_eq!(done.load(Ordering::Relaxed), 2);
            members.into_iter().for_each(|member| member.join().unwrap());
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([0, 1, 2]));
    }
}
