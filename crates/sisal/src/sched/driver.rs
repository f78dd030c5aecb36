//! What a worker hears from outside the process, through whatever `io` puts here.
//!
//! A worker that waits for something from outside sleeps in its driver instead of its bed's futex, and then its bed has a bell that ends
//! that sleep. The driver belongs to its worker alone: it is made by the first fiber there that needs one.

use super::worker::Worker;
use crate::fiber::waiter::ClaimToken;
use crate::fiber::who::Who;
use crate::prim::atomic::Ordering;
use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// See the [module](self).
pub(crate) trait Driver {
    /// For whoever made it, to find it again.
    fn as_any(&self) -> &dyn Any;

    /// Whether anything may come from outside.
    fn is_awaited(&self) -> bool;

    /// How many descriptors it listens to.
    fn descriptors(&self) -> usize;

    /// Looks what has come, and waits up to `timeout` for something if nothing has; none is for ever. The bell ends that. What ends
    /// the wait of a fiber is passed to `wake`, in the order in which it came. Returns how much has come, the bell not counted.
    fn turn(&self, timeout: Option<Duration>, wake: &mut dyn FnMut(ClaimToken<Who>)) -> usize;
}

impl Worker {
    /// This worker's driver, as `make` made it from the bell of this worker's bed.
    pub(crate) fn driver(
        &self,
        make: impl FnOnce(BorrowedFd<'_>) -> io::Result<Box<dyn Driver>>,
    ) -> io::Result<&dyn Driver> {
        if self.driver.get().is_none() {
            let driver = make(self.remote().bed.bell()?)?;
            // Making it has called nothing that could have made another.
            assert!(self.driver.set(driver).is_ok(), "INVARIANT: a driver is made once");
        }
        self.expect_something();
        Ok(self.driver.get().unwrap_or_else(|| unreachable!("INVARIANT: just made")).as_ref())
    }

    #[inline]
    pub(super) fn awaited_driver(&self) -> Option<&dyn Driver> {
        self.driver.get().map(|driver| driver.as_ref()).filter(|driver| driver.is_awaited())
    }

    /// Lets others see how many descriptors are listened to here.
    pub(super) fn show_descriptors(&self) {
        if let Some(driver) = self.driver.get() {
            self.remote().shown.activity.descriptors.store(driver.descriptors(), Ordering::Relaxed);
        }
    }

    /// Hears what has come from outside, if anything may; true if it made fibers ready.
    pub(super) fn look_outside(&self) -> bool {
        self.awaited_driver().is_some_and(|driver| self.hear(driver, Some(Duration::ZERO)))
    }

    /// Gives the driver a turn; true if it made fibers of this worker ready.
    pub(super) fn hear(&self, driver: &dyn Driver, timeout: Option<Duration>) -> bool {
        let events = self.as_nobody(|| driver.turn(timeout, &mut |token| self.unpark_to_the_end(token)));
        self.remote().shown.activity.events.tally(events as u64);
        self.show_descriptors();
        self.note_heard(events as u64);
        self.heard_at.set(self.now.get());
        !self.ready.is_empty() || self.run_next.get().is_some()
    }
}
