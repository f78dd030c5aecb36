//! The waker of a [`block_on`](super::block_on): counted, so that it may be called from any thread, at any time, any number of times, and
//! also when the wait is long over.
//!
//! # Protocol
//! One word, and the wait record beside it, which is used again for each park:
//! ```text
//!            wake                      wake: claim, unpark
//!   Polling ------> Notified <------------------------------ Parked
//!      ^                |                                      ^
//!      |     begin      |                                      |
//!      +----------------+                                      |
//!      +-------------------------------------------------------+
//!                       nothing has come: park
//! ```
//! - *Whoever polls*: exchange Polling into the word, poll. If the future is not ready: make the record new; exchange Polling for
//!   Parked. If that fails, a wake has come during the poll: begin again, without having parked. Else park.
//! - *Wake*: exchange Notified into the word. If it was Parked, claim the wait, and unpark who waits if the claim is won.
//! - *Cancel* claims the wait like everything that ends waits. Then the word may say Parked for ever, or a wake that has taken Parked away
//!   comes late with its claim: it finds the wait claimed, and does nothing.
//!
//! Why no wake is lost: both sides exchange. Of a wake and the exchange to Parked one comes first: if the wake, the park does not take place;
//! if the park, the wake finds Parked. Begin is an exchange, too, rather than a store, so that what was written before *any* wake it
//! wipes out is seen by the poll that follows.
//!
//! Why none comes twice, or to the wrong wait: the record is made new only after a park that was ended by a wake. That wake has taken Parked
//! away, and nobody else could claim in its name; so no claim is under way when the record is made new. A park that was ended otherwise
//! is the last. When the wait is over, the word is not Parked, or the record is claimed: a late wake does nothing, and touches
//! nothing but the counted block.

use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park::{Waiting, me, park_or_leave, unpark};
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::cancel::Cancelled;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::sync::Arc;
use std::task::Wake;

const POLLING: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = 2;

/// See the [module](self).
pub(super) struct Signal {
    word: AtomicU32,
    wait: Wait<Who>,
}

impl Watched for Signal {
    fn sight(&self) -> Sight {
        Sight { is_outside: true, ..Sight::new("future") }
    }
}

impl Signal {
    /// For whoever calls this.
    pub(super) fn new() -> Arc<Signal> {
        Arc::new(Signal { word: AtomicU32::new(POLLING), wait: Wait::new(me()) })
    }

    /// A poll begins: what has come until now is dealt with by it.
    #[inline]
    pub(super) fn begin(&self) {
        // ORDERING: Acquire pairs with the Release in `notify`: the poll sees what was done before the wakes it wipes out.
        self.word.swap(POLLING, Ordering::Acquire);
    }

    /// Waits until something has come since the poll began; true if that needed no wait.
    ///
    /// # Errors
    /// [`Cancelled`] if it is cancellable and was. Then it must not be called again.
    pub(super) fn wait(&self, place: Place, cancellable: bool) -> Result<bool, Cancelled> {
        self.wait.renew();
        // ORDERING: Release pairs with the Acquire in `notify`: the record is new before it can be claimed. Nothing is read on a failure
        // that `begin` does not read again.
        if self.word.compare_exchange(POLLING, PARKED, Ordering::Release, Ordering::Relaxed).is_err() {
            return Ok(true);
        }
        let object = Object::of(self);
        let waiting = Waiting { reason: Reason::Future, object, place, deadline: None, cancellable };
        match park_or_leave(&self.wait, &waiting, || ()) {
            Woken::Object(_) => Ok(false),
            Woken::Cancelled(cause) => Err(Cancelled::by(cause)),
            Woken::Deadline => unreachable!("INVARIANT: a future has no deadline"),
        }
    }

    #[inline]
    fn notify(&self) {
        // ORDERING: Release pairs with the Acquire in `begin`; Acquire with the Release in `wait`.
        if self.word.swap(NOTIFIED, Ordering::AcqRel) == PARKED
            && let Some(token) = self.wait.claim(Woken::Object(0))
        {
            unpark(token);
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Signal>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Signal>) {
        self.notify();
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::fiber::waiter::ClaimToken;
    use crate::prim::cancel::Cause;
    use loom::sync::atomic::AtomicUsize;
    use std::collections::HashSet;
    use std::panic::Location;
    use std::sync::Mutex;

    fn check(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    /// Two others each do their part and wake, one of them twice; the waiter polls until it has seen both parts. No wake is lost, each
    /// poll sees what came before the wakes it follows, and a wake when all is over harms nobody. Reached: with and without a park.
    #[test]
    fn loom_block_on_misses_no_wake() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        check(move || {
            let signal = Signal::new();
            let parts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let others = [0, 1].map(|index| {
                let (signal, parts) = (Arc::clone(&signal), Arc::clone(&parts));
                loom::thread::spawn(move || {
                    parts[index].store(1, Ordering::Relaxed);
                    (0..=index).for_each(|_| signal.wake_by_ref());
                })
            });
            loop {
                signal.begin();
                if parts.iter().all(|part| part.load(Ordering::Relaxed) == 1) {
                    break;
                }
                let at_once = signal.wait(Location::caller(), false).unwrap();
                seen.lock().unwrap().insert(at_once);
            }
            others.into_iter().for_each(|other| other.join().unwrap());
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }

    /// A wake against something that cancels the wait: one of them ends it, and the one who waits is unparked at most once. Reached: both.
    #[test]
    fn loom_block_on_wake_against_cancel() {
        let seen: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        check(move || {
            let signal = Signal::new();
            let waker = {
                let signal = Arc::clone(&signal);
                loom::thread::spawn(move || {
                    signal.wake_by_ref();
                    signal.wake();
                })
            };
            let canceller = {
                let signal = Arc::clone(&signal);
                loom::thread::spawn(move || {
                    // As a worker does it for its own fibers, but at any time while the wait takes place.
                    if signal.word.load(Ordering::Acquire) == PARKED {
                        signal.wait.claim(Woken::Cancelled(Cause::Request)).into_iter().for_each(unpark);
                    }
                })
            };
            let ended = signal.wait(Location::caller(), true);
            seen.lock().unwrap().insert(ended.is_ok());
            waker.join().unwrap();
            canceller.join().unwrap();
            let left: Option<ClaimToken<Who>> = signal.wait.claim(Woken::Object(0));
            assert!(left.is_none() || ended == Ok(true), "a wait that is over can't be claimed");
        });
        assert_eq!(seen.lock().unwrap().len(), 2);
    }
}
