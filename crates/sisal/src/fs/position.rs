//! Who uses the position of an open file.
//!
//! The kernel locks the position for the length of a read or write that moves it. While one waits for the disk, on a thread of the
//! pool, whoever else wants the position sleeps in the kernel, even if it asked not to wait. A worker must not: so operations on workers
//! count themselves as *quick*, those on threads as *slow*.
//! - A quick one counts itself in; if there is a slow one, it counts itself out again and becomes slow.
//! - A slow one counts itself in, and waits, on its thread, until no quick one is left.
//!
//! An operation of the ring waits as well, but locks nothing. It is begun only if nobody else uses the position, and counts as both, so
//! that all others wait for it: quick ones become slow, and slow ones wait on their threads. What others do to the position without counting
//! themselves, by a descriptor that was given away or came from elsewhere, it could undo: a position that is *shared* with such is not for it.
//!
//! Both counts are in one word, so of two that come at once one sees the other: a worker never meets a slow one in the kernel. Quick ones
//! meet only each other, and sleep for no longer than a copy takes. (And those who use the position without counting themselves: there a worker may
//! sleep behind a read of any length. That a file may have such users is most often not so, and a thread for each read would cost them all.)

use crate::fiber::in_fiber;
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::sched::worker;
use crate::time;
use std::thread;
use std::time::Duration;

const QUICK: u64 = 1;
const SLOW: u64 = 1 << 32;
const SHARED: u64 = 1 << 63;

/// A quick one is gone after so many looks, but for one whose worker has lost its CPU; for one of the ring it may take longer.
const QUICK_LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Position {
    users: AtomicU64,
}

impl Position {
    /// Of a file that was opened just now: nobody else has it.
    pub(super) fn own() -> Position {
        Position { users: AtomicU64::new(0) }
    }

    /// Of a file that others may have.
    pub(super) fn shared() -> Position {
        Position { users: AtomicU64::new(SHARED) }
    }

    /// Others may have the file from now on: waits for an operation of the ring that has begun, if there is one.
    pub(super) fn share(&self) {
        // ORDERING: Acquire pairs with the Release of one of the ring that has left: its position is where it should be.
        let users = self.users.fetch_or(SHARED, Ordering::Acquire);
        if has_slow(users) {
            self.wait_for_quick();
        }
    }

    /// Does `op` unless it might sleep behind another.
    pub(super) fn quick<T>(&self, op: impl FnOnce() -> T) -> Option<T> {
        // ORDERING: Acquire pairs with the Release of a slow one that has left: it has left the kernel, too.
        if has_slow(self.users.fetch_add(QUICK, Ordering::Acquire)) {
            self.users.fetch_sub(QUICK, Ordering::Relaxed);
            return None;
        }
        let _leave = Leave { position: self, count: QUICK };
        Some(op())
    }

    /// Does `op`, which may take its time and parks the fiber meanwhile, if nobody else uses the position or could.
    pub(super) fn alone<T>(&self, op: impl FnOnce() -> T) -> Option<T> {
        // ORDERING: Acquire pairs with the Release of whoever has left.
        self.users.compare_exchange(0, SLOW + QUICK, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let _leave = Leave { position: self, count: SLOW + QUICK };
        Some(op())
    }

    /// Does `op`, which may take its time. On a thread that may block.
    pub(super) fn slow<T>(&self, op: impl FnOnce() -> T) -> T {
        self.users.fetch_add(SLOW, Ordering::Relaxed);
        let _leave = Leave { position: self, count: SLOW };
        self.wait_for_quick();
        op()
    }

    /// Waits until no quick one is left, where that can be. On a thread; but where none could be had, or there is little to wait for, in a fiber, whose worker may
    /// have to end what it waits for.
    fn wait_for_quick(&self) {
        let mut looks = 0;
        // ORDERING: Acquire pairs with the Release of a quick one that has left.
        while !self.users.load(Ordering::Acquire).is_multiple_of(SLOW) {
            if !in_fiber() && worker::with_current(|worker| worker.is_some()) {
                // A panic hook or a waker, on a worker that may have to end what would be waited for.
                return;
            }
            looks += 1;
            if in_fiber() {
                time::yield_now();
            } else if looks < QUICK_LOOKS {
                thread::yield_now();
            } else {
                thread::sleep(LOOK_AGAIN);
            }
        }
    }
}

fn has_slow(users: u64) -> bool {
    users & !SHARED >= SLOW
}

/// Counts out again.
struct Leave<'a> {
    position: &'a Position,
    count: u64,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquires above.
        self.position.users.fetch_sub(self.count, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_quick_one_gives_way_to_a_slow_one() {
        let position = Position::own();
        assert_eq!(position.quick(|| position.quick(|| 7)), Some(Some(7)));
        position.slow(|| assert_eq!(position.quick(|| 7), None));
        assert_eq!(position.quick(|| 7), Some(7));
    }

    #[test]
    fn one_that_is_alone_keeps_all_others_off() {
        let position = Position::own();
        let inside = position.alone(|| (position.quick(|| 7), position.alone(|| 7)));
        assert_eq!(inside, Some((None, None)));
        position.quick(|| assert_eq!(position.alone(|| 7), None));
        position.slow(|| assert_eq!(position.alone(|| 7), None));
        assert_eq!(position.alone(|| 7), Some(7));
    }

    #[test]
    fn nobody_is_alone_with_a_shared_position() {
        let position = Position::own();
        assert_eq!(position.alone(|| 7), Some(7));
        position.share();
        for position in [position, Position::shared()] {
            assert_eq!(position.alone(|| 7), None);
            assert_eq!(position.quick(|| 7), Some(7));
            position.slow(|| assert_eq!(position.quick(|| 7), None));
        }
    }

    #[test]
    fn a_position_is_shared_once_nobody_is_alone_with_it() {
        let position = Position::own();
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            position.alone(|| {
                scope.spawn(|| {
                    position.share();
                    tell.send(()).unwrap();
                });
                while position.users.load(Ordering::Relaxed) & SHARED == 0 {
                    thread::yield_now();
                }
                assert!(told.try_recv().is_err());
            });
            told.recv().unwrap();
        });
    }

    #[test]
    fn a_slow_one_waits_for_quick_ones_but_not_for_slow_ones() {
        let position = Position::own();
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            position.quick(|| {
                scope.spawn(|| position.slow(|| tell.send(()).unwrap()));
                while position.users.load(Ordering::Relaxed) < SLOW {
                    thread::yield_now();
                }
                assert!(told.try_recv().is_err());
            });
            told.recv().unwrap();
        });
        assert_eq!(position.slow(|| position.slow(|| 7)), 7);
    }
}
