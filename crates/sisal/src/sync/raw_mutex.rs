//! The lock of a mutex, without what it guards.
//!
//! # The word
//! ```text
//!    2       1         0
//!  ┌───────┬─────────┬────────┐
//!  │ AWAKE │ WAITING │ LOCKED │
//!  └───────┴─────────┴────────┘
//! ```
//! - LOCKED: somebody holds the lock.
//! - WAITING: somebody stands in line, or did and gave up. Changed only under the lock of the line.
//! - AWAKE: one from the line was woken to try, and has not tried yet. While it is set nobody else is woken.
//!
//! # Protocol
//! *Lock*: set LOCKED; whoever finds it clear has the lock, also if others wait (*barging*: the one who runs gets on, and a lock is
//! held for less time than a wake-up takes). Otherwise spin for a moment, if nobody waits; then, under the lock of the line:
//! if LOCKED is clear by now, set it and be done; else set WAITING, join the line, and park. Whoever is unparked
//! - was *given* the lock, and has it; or
//! - was woken to try: it tries, clearing AWAKE with the same exchange as it takes the lock. If somebody was faster it clears AWAKE as
//!   it goes back to the *front* of the line, with the time at which it first came.
//!
//! *Unlock*: clear LOCKED, in one exchange, if nobody waits or one is awake. Otherwise keep it, and under the lock of the line
//! claim the first who waits.
//! - If that has waited for more than a millisecond it is [given](super::fairness) the lock: LOCKED is never cleared.
//! - Else LOCKED becomes AWAKE, and it is woken to try.
//! - If there is none, since they gave up, LOCKED and WAITING are cleared.
//!
//! # Why nobody is forgotten
//! One who joins the line has seen LOCKED, and set WAITING, in one exchange. The holder's exchange of the word comes later, and sees
//! WAITING. Either it wakes the first, or AWAKE tells that one is on its way; that one takes the lock or finds another holder, and
//! clears AWAKE by an exchange that this holder's unlock comes after. So as long as somebody stands in line there is a holder or an
//! awake one that will look.
//!
//! A wait for the lock can't be cancelled. One with a time limit that gives up takes itself off; if it was claimed first, it
//! was woken or given the lock in time. Who gives up was not awake, so there is a holder or somebody else who is, and it owes nothing.
//!
//! While it holds the lock and has seen WAITING without AWAKE, the word is the unlocker's: others only set LOCKED, which is set.
#![allow(unsafe_code, reason = "requests are reached by pointer, under the lock of the line")]

use super::fairness::Fairness;
use super::line::{Granted, Line, Request};
use crate::fiber::waiter::{Wait, Woken};
use crate::park::{self, Waiting};
use crate::prim::atomic::{AtomicU8, AtomicU32, Ordering, spin_loop};
use crate::prim::clock::Moment;
use crate::prim::const_fn;
use crate::prim::lock::Lock;
use crate::prim::object::{Object, Owner, OwnerWord, Sight, Watched};
use crate::prim::reason::{Place, Reason};

const LOCKED: u32 = 1;
const WAITING: u32 = 2;
const AWAKE: u32 = 4;

/// How often a locker looks before it parks, each time after twice as many pauses as before. A holder that runs on another worker
/// is mostly done by then. None in the models.
const LOOKS: u32 = if cfg!(modelled) { 0 } else { 5 };

/// See the [module](self).
pub(super) struct RawMutex {
    word: AtomicU32,
    /// Who has the lock, if it is locked.
    owner: OwnerWord,
    lines: Lock<Lines>,
}

struct Lines {
    /// Those who were woken and found the lock taken again: they go first.
    returned: Line<Turn>,
    waiting: Line<Turn>,
    fairness: Fairness,
}

impl Lines {
    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.waiting.is_empty()
    }

    /// WAITING, if somebody does.
    fn bit(&self) -> u32 {
        if self.is_empty() { 0 } else { WAITING }
    }

    /// Where one stands who was `awake`, or was not.
    fn of(&mut self, awake: u32) -> &mut Line<Turn> {
        if awake != 0 { &mut self.returned } else { &mut self.waiting }
    }

    fn claim_first(&mut self) -> Option<Granted<Turn>> {
        self.returned.claim_first_if(|_| true).or_else(|| self.waiting.claim_first_if(|_| true))
    }
}

/// What one who waits has to say, and is told.
struct Turn {
    /// When it first came.
    came: Moment,
    /// 1 if it was given the lock. Written before the unpark, read after it.
    given: AtomicU8,
}

impl Watched for RawMutex {
    fn sight(&self) -> Sight {
        let is_locked = self.word.load(Ordering::Relaxed) & LOCKED != 0;
        Sight { owner: self.owner.get().filter(|_| is_locked), ..Sight::new("mutex") }
    }
}

impl RawMutex {
    const_fn! {
        pub(super) fn new() -> RawMutex {
            let lines = Lines { returned: Line::new(), waiting: Line::new(), fairness: Fairness::new() };
            RawMutex { word: AtomicU32::new(0), owner: OwnerWord::new(), lines: Lock::new(lines) }
        }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of the unlock: what was done under the lock is seen.
        let locked = self.word.fetch_or(LOCKED, Ordering::Acquire) & LOCKED == 0;
        if locked {
            self.owner.set(park::myself());
        }
        locked
    }

    /// Who has the lock, as far as it has said so.
    pub(super) fn owner(&self) -> Option<Owner> {
        self.owner.get()
    }

    #[inline]
    pub(super) fn lock(&self, reason: Reason, place: Place) {
        if !self.try_lock() {
            let locked = self.lock_slowly(reason, place, None);
            debug_assert!(locked, "INVARIANT: nothing but the lock ends this wait");
        }
    }

    /// Takes the lock by `deadline`; false if that came first.
    #[inline]
    #[must_use]
    pub(super) fn lock_until(&self, reason: Reason, place: Place, deadline: impl FnOnce() -> Moment) -> bool {
        self.try_lock() || self.lock_slowly(reason, place, Some(deadline()))
    }

    /// # Safety
    /// The caller has the lock, and gives it back by this alone.
    #[inline]
    pub(super) unsafe fn unlock(&self) {
        let word = self.word.load(Ordering::Relaxed);
        debug_assert!(word & LOCKED != 0, "INVARIANT: only a lock that is held is given back");
        // Whoever has it next says so itself, and may be kept from it for a while.
        self.owner.clear();
        if word & (WAITING | AWAKE) == WAITING {
            self.pass_on();
        } else if let Err(now) = self.exchange(word, word & !LOCKED) {
            self.unlock_contended(now);
        }
    }

    #[cold]
    fn lock_slowly(&self, reason: Reason, place: Place, deadline: Option<Moment>) -> bool {
        let locked = self.lock_contended(reason, place, deadline);
        if locked {
            self.owner.set(park::myself());
        }
        locked
    }

    fn lock_contended(&self, reason: Reason, place: Place, deadline: Option<Moment>) -> bool {
        if self.spin(WAITING, 0) {
            return true;
        }
        let came = Moment::now();
        let object = Object::of(self);
        let waiting = Waiting { reason, object, place, deadline, cancellable: false };
        let mut awake = 0;
        loop {
            let wait = Wait::new(park::me());
            let request = Request::new(&wait, Turn { came, given: AtomicU8::new(0) });
            // SAFETY: the request is claimed and unparked, or taken off, before this turn of the loop is over.
            if unsafe { self.lock_or_enlist(&request, awake) } {
                return true;
            }
            match park::park(&wait, &waiting) {
                Woken::Object(_) if request.data.given.load(Ordering::Relaxed) != 0 => return true,
                Woken::Object(_) => awake = AWAKE,
                Woken::Deadline => {
                    self.delist(&request, awake);
                    return false;
                }
                Woken::Cancelled(_) => unreachable!("INVARIANT: a wait for a mutex can't be cancelled"),
            }
            if self.spin(0, AWAKE) {
                return true;
            }
        }
    }

    /// Tries to take the lock for a while, as long as none of the bits of `unless` is set; clears those of `clear` with it.
    fn spin(&self, unless: u32, clear: u32) -> bool {
        for look in 0..LOOKS {
            let word = self.word.load(Ordering::Relaxed);
            if word & unless != 0 {
                return false;
            }
            if word & LOCKED == 0 && self.exchange(word, (word | LOCKED) & !clear).is_ok() {
                return true;
            }
            (0..1 << look).for_each(|_| spin_loop());
        }
        false
    }

    #[inline]
    fn exchange(&self, from: u32, to: u32) -> Result<u32, u32> {
        // ORDERING: Acquire, if that takes the lock, pairs with the Release of the unlock; Release, if it gives it back, with the
        // Acquire of whoever takes it next.
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
    }

    /// Takes the lock, or joins the line: at its end, or as one who was `awake` in front of it. True if it was the lock.
    ///
    /// # Safety
    /// The request stays where it is until it was claimed by this lock and unparked, or [taken off](Self::delist).
    unsafe fn lock_or_enlist(&self, request: &Request<Turn>, awake: u32) -> bool {
        let mut lines = self.lines.lock();
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let bit = if word & LOCKED == 0 { LOCKED } else { WAITING };
            match self.exchange(word, (word | bit) & !awake) {
                Ok(_) if bit == LOCKED => return true,
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // SAFETY: the caller's promise; both lines are under one lock.
        unsafe { lines.of(awake).push(request) };
        false
    }

    /// Takes one who gives up off its line. If it was the last one the next unlock finds out.
    fn delist(&self, request: &Request<Turn>, awake: u32) {
        self.lines.lock().of(awake).remove(request);
    }

    #[cold]
    fn unlock_contended(&self, mut word: u32) {
        while word & (WAITING | AWAKE) != WAITING {
            match self.exchange(word, word & !LOCKED) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        self.pass_on();
    }

    /// Gives the lock to the first who waits, or gives it back and wakes that one to try.
    #[cold]
    fn pass_on(&self) {
        let mut lines = self.lines.lock();
        let first = lines.claim_first();
        let given = first.as_ref().is_some_and(|first| lines.fairness.is_due(first.data().came));
        let next = match &first {
            Some(first) if given => {
                // Relaxed: it is read after the unpark.
                first.data().given.store(1, Ordering::Relaxed);
                LOCKED
            }
            Some(_) => AWAKE,
            None => 0,
        };
        // ORDERING: Release pairs with the Acquire of whoever takes the lock next.
        let before = self.word.swap(next | lines.bit(), Ordering::Release);
        debug_assert!(before & (LOCKED | AWAKE) == LOCKED, "INVARIANT: the word is the unlocker's");
        drop(lines);
        if let Some(first) = first {
            first.unpark();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::super::fairness;
    use super::super::models::{Outcomes, check, give_up_or_park};
    use super::*;
    use crate::fiber::who::Who;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;
    use std::panic::Location;

    /// A lock, and the order in which it was had.
    struct Guarded {
        raw: RawMutex,
        order: UnsafeCell<Vec<usize>>,
    }

    // SAFETY: the cell is touched under the lock, which the model checks.
    unsafe impl Sync for Guarded {}
    // SAFETY: as above.
    unsafe impl Send for Guarded {}

    impl Guarded {
        fn new() -> Arc<Guarded> {
            Arc::new(Guarded { raw: RawMutex::new(), order: UnsafeCell::new(Vec::new()) })
        }

        fn enter(&self, number: usize) {
            self.raw.lock(Reason::Lock, Location::caller());
            self.be_inside(number);
        }

        /// As [`RawMutex::lock`] does it, and tells how it got in; unless `gives_up` says so when it has to wait.
        fn enter_and_tell(&self, number: usize, gives_up: impl Fn(&Wait<Who>) -> bool) -> &'static str {
            if self.raw.try_lock() {
                self.be_inside(number);
                return "at once";
            }
            let (mut awake, mut tries) = (0, 0);
            loop {
                let wait = Wait::new(park::me());
                let request = Request::new(&wait, Turn { came: Moment(0), given: AtomicU8::new(0) });
                // SAFETY: claimed and unparked, or taken off, before this turn of the loop is over.
                if unsafe { self.raw.lock_or_enlist(&request, awake) } {
                    self.be_inside(number);
                    return ["at once", "woken to try", "woken to try again"][tries];
                }
                if gives_up(&wait) {
                    self.raw.delist(&request, awake);
                    return ["gave up", "tried and gave up"][tries];
                }
                if request.data.given.load(Ordering::Relaxed) != 0 {
                    self.be_inside(number);
                    return "given";
                }
                (awake, tries) = (AWAKE, tries + 1);
            }
        }

        fn be_inside(&self, number: usize) {
            // SAFETY: under the lock.
            self.order.with_mut(|order| unsafe { (*order).push(number) });
            // SAFETY: locked by the caller.
            unsafe { self.raw.unlock() };
        }

        /// All are done: nothing is left of them. Returns the order.
        fn into_order(&self) -> Vec<usize> {
            assert_eq!(self.raw.word.load(Ordering::Relaxed), 0);
            assert!(self.raw.lines.lock().is_empty());
            // SAFETY: all are done.
            self.order.with(|order| unsafe { (*order).clone() })
        }
    }

    fn spawn<R: 'static>(guarded: &Arc<Guarded>, f: impl FnOnce(&Guarded) -> R + 'static) -> thread::JoinHandle<R> {
        let guarded = guarded.clone();
        thread::spawn(move || f(&guarded))
    }

    /// Waits until it is claimed, and does not give up.
    fn wait_patiently(wait: &Wait<Who>) -> bool {
        let place = Location::caller();
        let waiting = Waiting { reason: Reason::Lock, object: Object::NONE, place, deadline: None, cancellable: false };
        assert_eq!(park::park(wait, &waiting), Woken::Object(0));
        false
    }

    /// Three threads, one of which comes twice. Nobody sleeps for ever, they are never inside together, and in the end the word is
    /// clear. Reached: every order; and of the ways to get in, those at once and `after_a_wait`.
    fn three_lockers(due: bool, after_a_wait: &[&'static str]) {
        let (orders, ways) = (Outcomes::new(), Outcomes::new());
        fairness::set_due(due);
        check(2, move || {
            let guarded = Guarded::new();
            let others = [
                spawn(&guarded, |guarded| guarded.enter(1)),
                spawn(&guarded, move |guarded| ways.note(guarded.enter_and_tell(2, wait_patiently))),
            ];
            guarded.enter(0);
            guarded.enter(0);
            others.into_iter().for_each(|other| other.join().unwrap());
            orders.note(guarded.into_order());
        });
        ways.assert(after_a_wait.iter().copied().chain(["at once"]));
        let every = [
            [0, 0, 1, 2],
            [0, 0, 2, 1],
            [0, 1, 0, 2],
            [0, 2, 0, 1],
            [0, 1, 2, 0],
            [0, 2, 1, 0],
            [1, 0, 0, 2],
            [2, 0, 0, 1],
            [1, 0, 2, 0],
            [2, 0, 1, 0],
            [1, 2, 0, 0],
            [2, 1, 0, 0],
        ];
        orders.assert(every.map(Vec::from));
    }

    #[test]
    fn loom_mutex_woken_to_try_loses_no_wake() {
        three_lockers(false, &["woken to try", "woken to try again"]);
    }

    #[test]
    fn loom_mutex_given_on_loses_no_wake() {
        three_lockers(true, &["given"]);
    }

    /// Two lock, a third gives up when it would have to wait: that costs nobody a wake. Reached: it gave up, it got in at once,
    /// and what happens `after_a_wait`: it was claimed before it could give up.
    fn one_gives_up(due: bool, after_a_wait: &[&'static str]) {
        let ways = Outcomes::new();
        fairness::set_due(due);
        check(3, move || {
            let guarded = Guarded::new();
            let other = spawn(&guarded, |guarded| guarded.enter(1));
            let hasty = spawn(&guarded, |guarded| guarded.enter_and_tell(2, give_up_or_park));
            guarded.enter(0);
            other.join().unwrap();
            let way = hasty.join().unwrap();
            let order = guarded.into_order();
            assert!(order.contains(&0) && order.contains(&1));
            assert_eq!(order.contains(&2), !way.ends_with("gave up"));
            ways.note(way);
        });
        ways.assert(after_a_wait.iter().copied().chain(["gave up", "at once"]));
    }

    #[test]
    fn loom_mutex_given_up_by_one_who_was_to_try_loses_no_wake() {
        one_gives_up(false, &["woken to try", "tried and gave up"]);
    }

    #[test]
    fn loom_mutex_given_up_by_one_who_was_given_it_loses_no_wake() {
        one_gives_up(true, &["given"]);
    }
}
