//! How a plain thread sleeps until it is unparked.
//!
//! One word of two bits. UNPARKED: the unpark has come. Every wait of a thread gets exactly one, so the thread waits for that one
//! and takes it back. POKED: somebody wants the thread to look whether its wait is to end; that may come at any time, also when
//! the wait is over, so it is only ever a hint. The parker is counted: whoever unparks or pokes may still be in the kernel when
//! the thread goes on.
//!
//! A thread that waits for a descriptor as well sleeps in `poll`, which a futex can't end. It sets POLLING before, and whoever raises a bit
//! and finds that also rings its bell, a descriptor that is polled too.

use super::atomic::{AtomicU32, Ordering};
use super::bell::Bell;
use super::futex;
#[cfg(not(modelled))]
use rustix::event::{PollFd, PollFlags};
#[cfg(not(modelled))]
use rustix::time::Timespec;
#[cfg(not(modelled))]
use std::os::fd::BorrowedFd;
use std::time::Duration;

const UNPARKED: u32 = 1;
const POKED: u32 = 2;
const POLLING: u32 = 4;

/// How long a thread that has no bell polls before it looks at its word again.
const WITHOUT_BELL: Duration = Duration::from_millis(5);

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ThreadParker {
    word: AtomicU32,
    bell: Bell,
}

/// Why a thread woke up.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Awake {
    Unparked,
    Poked,
    TimeUp,
    /// The descriptor is ready.
    Ready,
}

impl ThreadParker {
    pub(crate) fn new() -> ThreadParker {
        ThreadParker { word: AtomicU32::new(0), bell: Bell::new() }
    }

    /// Why the thread need not sleep, if it has been told.
    fn told(&self) -> Option<Awake> {
        // ORDERING: Acquire pairs with the Release in `raise`.
        let word = self.word.fetch_and(!(POKED | POLLING), Ordering::Acquire);
        if word & UNPARKED != 0 {
            // Nobody else takes it back, and no second unpark comes before the next wait.
            self.word.fetch_and(!UNPARKED, Ordering::Relaxed);
            return Some(Awake::Unparked);
        }
        (word & POKED != 0).then_some(Awake::Poked)
    }

    /// As [`park`](Self::park), and until `fd` is readable, or writable.
    #[cfg(not(modelled))]
    pub(crate) fn park_for_descriptor(
        &self,
        mut remaining: impl FnMut() -> Option<Duration>,
        fd: BorrowedFd<'_>,
        writable: bool,
    ) -> Awake {
        let flags = if writable { PollFlags::OUT } else { PollFlags::IN };
        let bell = self.bell.descriptor().ok();
        loop {
            // ORDERING: Release pairs with the Acquire in `raise`: who sees that this polls sees its bell. (An exchange reads what was raised
            // before, and who raises something later finds it.)
            let word = self.word.fetch_or(POLLING, Ordering::Release);
            if word & (UNPARKED | POKED) == 0 {
                let left = remaining();
                let left = if bell.is_some() { left } else { Some(left.unwrap_or(WITHOUT_BELL).min(WITHOUT_BELL)) };
                let left =
                    left.map(|left| Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 }));
                let mut polled = [PollFd::new(&fd, flags), PollFd::from_borrowed_fd(bell.unwrap_or(fd), PollFlags::IN)];
                let polled = if bell.is_some() { &mut polled[..] } else { &mut polled[..1] };
                // A signal ends it early, which does no harm.
                let _ = rustix::event::poll(polled, left.as_ref());
                let is_ready = !polled[0].revents().is_empty();
                if let Some(bell) = bell
                    && !polled[1].revents().is_empty()
                {
                    let _ = rustix::io::read(bell, &mut [0; 8]);
                }
                if let Some(told) = self.told() {
                    return told;
                }
                if is_ready {
                    return Awake::Ready;
                }
                if remaining().is_some_and(|left| left.is_zero()) {
                    return Awake::TimeUp;
                }
            } else if let Some(told) = self.told() {
                return told;
            }
        }
    }

    /// Sleeps until the unpark, a poke, or until `remaining` says that there is no time left.
    pub(crate) fn park(&self, mut remaining: impl FnMut() -> Option<Duration>) -> Awake {
        loop {
            if let Some(told) = self.told() {
                return told;
            }
            let left = remaining();
            if left.is_some_and(|left| left.is_zero()) {
                return Awake::TimeUp;
            }
            futex::wait(&self.word, 0, left);
        }
    }

    pub(crate) fn unpark(&self) {
        self.raise(UNPARKED);
    }

    /// Lets the thread look whether its wait is to end.
    pub(crate) fn poke(&self) {
        self.raise(POKED);
    }

    /// Whether its thread has been told something that it has not heard of yet.
    pub(crate) fn is_told(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (UNPARKED | POKED) != 0
    }

    fn raise(&self, bit: u32) {
        // ORDERING: Release pairs with the Acquire in `told`; Acquire with the Release by which it begins to poll: the bell is there.
        let word = self.word.fetch_or(bit, Ordering::AcqRel);
        if word & POLLING == 0 {
            futex::wake_one(&self.word);
        } else {
            self.bell.ring();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;

    /// Two waits in a row, each with its unpark, and a poke at any time: no unpark is lost, and what the unparker wrote is seen. Reached: a
    /// poke that ends a park, and none that does.
    #[test]
    fn loom_parker_loses_no_unpark() {
        let seen: &'static std::sync::Mutex<HashSet<usize>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let mut pokes = 0;
            let shared = Arc::new((ThreadParker::new(), AtomicU32::new(0)));
            let poker = {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.0.poke())
            };
            for round in 1..=2 {
                let other = {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.1.store(round, Ordering::Relaxed);
                        shared.0.unpark();
                    })
                };
                while shared.0.park(|| None) != Awake::Unparked {
                    pokes += 1;
                }
                assert_eq!(shared.1.load(Ordering::Relaxed), round);
                other.join().unwrap();
            }
            poker.join().unwrap();
            seen.lock().unwrap().insert(pokes);
        });
        assert_eq!(*seen.lock().unwrap(), HashSet::from([0, 1]));
    }
}
