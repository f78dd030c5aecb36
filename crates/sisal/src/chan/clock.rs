//! Channels that time sends to: once, again and again, or never. They own no timer: whoever waits for one has its deadline in
//! its own park.
//!
//! # Protocol
//! One word: when the next message is due, or never. A receive at or after that time exchanges it for the one after; whoever wins
//! has the message. Nobody is ever linked: a wait ends by its deadline, and is followed by another attempt. Nothing closes them.
#![allow(unsafe_code, reason = "values are moved by pointer")]

use super::port::{Attempt, Channel, Enlisted, ReceivePort};
use crate::fiber::waiter::Waiter;
use crate::fiber::who::Who;
use crate::prim::atomic::{AtomicU64, Ordering};
use crate::prim::clock::Moment;
use crate::prim::object::{Sight, Watched};
use std::time::{Duration, Instant};

/// See the [module](self).
pub(crate) struct Clock<T> {
    /// When the next message is due, in nanoseconds as a [`Moment`] counts them.
    due: AtomicU64,
    /// From one message to the next; none if there is one only.
    period: Option<Duration>,
    message: fn(Instant) -> T,
}

impl<T> Clock<T> {
    pub(crate) fn new(due: Moment, period: Option<Duration>, message: fn(Instant) -> T) -> Clock<T> {
        Clock { due: AtomicU64::new(due.0), period, message }
    }
}

impl<T> Watched for Clock<T> {
    fn sight(&self) -> Sight {
        Sight::new("clock")
    }
}

impl<T> ReceivePort<T> for Clock<T> {
    const HANDS_OVER: bool = false;

    unsafe fn try_receive(&self, slot: *mut T) -> Attempt {
        loop {
            let due = Moment(self.due.load(Ordering::Relaxed));
            if due == Moment::NEVER {
                return Attempt::Waits;
            }
            let (now, instant) = (Moment::now(), Instant::now());
            if now < due {
                return Attempt::Waits;
            }
            // The beat goes on from when it was due; what was missed is skipped.
            let next = self.period.map_or(Moment::NEVER, |period| {
                let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
                let beats = (now.0 - due.0) / nanos + 1;
                Moment(due.0.saturating_add(nanos.saturating_mul(beats)))
            });
            // ORDERING: Relaxed: nothing but the word itself is handed on.
            if self.due.compare_exchange(due.0, next.0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                // The moment of the message itself, not that of its receipt.
                let late = now.since(due);
                let sent = instant.checked_sub(late).unwrap_or(instant);
                // SAFETY: the caller's promise.
                unsafe { slot.write((self.message)(sent)) };
                return Attempt::Done;
            }
        }
    }

    unsafe fn receive_or_enlist(&self, slot: *mut T, _waiter: &Waiter<Who>) -> Attempt {
        // SAFETY: the caller's promise.
        unsafe { self.try_receive(slot) }
    }

    unsafe fn enlist_receiver(&self, _waiter: &Waiter<Who>) -> Enlisted {
        Enlisted::Yes
    }

    fn delist_receiver(&self, _waiter: &Waiter<Who>) {}

    fn pass_on_receipt(&self) {}

    fn due(&self) -> Option<Moment> {
        let due = Moment(self.due.load(Ordering::Relaxed));
        (due != Moment::NEVER).then_some(due)
    }
}

impl<T> Channel for Clock<T> {
    fn close_and(&self, _say: impl FnOnce()) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.due().is_some_and(|due| due <= Moment::now()).into()
    }

    fn capacity(&self) -> Option<usize> {
        Some(1)
    }

    fn discard(&self) {}
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::chan::models::check;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::mem::MaybeUninit;
    use std::sync::Mutex;

    fn receive(clock: &Clock<Instant>) -> bool {
        let mut slot = MaybeUninit::uninit();
        // SAFETY: the slot can be written, and what is written need not be dropped.
        unsafe { clock.try_receive(slot.as_mut_ptr()) == Attempt::Done }
    }

    /// Two try to receive what is due: one of them does. Reached: either.
    fn one_receives(period: Option<Duration>) {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        check(3, move || {
            let clock = Arc::new(Clock::new(Moment::now(), period, |instant| instant));
            let other = {
                let clock = clock.clone();
                loom::thread::spawn(move || receive(&clock))
            };
            let mine = receive(&clock);
            assert_ne!(mine, other.join().unwrap(), "one message, once");
            assert!(!receive(&clock), "and no other before its time");
            assert_eq!(clock.due().is_some(), period.is_some());
            seen.lock().unwrap().insert(mine);
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }

    #[test]
    fn loom_clock_sends_its_one_message_once() {
        one_receives(None);
    }

    #[test]
    fn loom_clock_sends_each_message_once() {
        one_receives(Some(Duration::from_secs(3600)));
    }
}
