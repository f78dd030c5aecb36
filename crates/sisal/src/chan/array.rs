//! A channel with room for a fixed number of values. Sending and receiving take no lock, and one read-modify-write each; as long as one thread
//! alone uses the channel, none.
//!
//! # Words
//! Positions count the values sent and received: an index into the ring of slots, and above it the lap. They stand in two words,
//! together with flags, so that one exchange moves a position *and* learns whether somebody has to be told:
//! ```text
//!   tail: position of the next send    | CLOSED | WAITED: receivers wait
//!   head: position of the next receive |        | WAITED: senders wait
//! ```
//! Every slot has a stamp. With position p in it: p, it is free for the send at p; p + 1, it holds the value sent at p. A receive at p
//! leaves p + one lap, where the next lap's send finds it.
//!
//! # Protocol
//! - *Send*: read the tail at p. If CLOSED, say so. If the slot's stamp is p: exchange the tail for p's successor, flags kept; the slot
//!   is ours. Write the value, then the stamp. If WAITED was set in the exchanged word: signal one receiver.
//!   If the stamp is that of the lap before, the ring is full, or a receiver is about to free the slot; the head tells which.
//! - *Receive*: the same at the head, with senders to be signalled. If head and tail are equal, it is empty, and if besides CLOSED is set,
//!   all that was ever let in has been received: a send is let in by its exchange of the tail, and CLOSED is set in the same word.
//! - *Wait to receive*: under the lock, link the waiter, set WAITED in the tail by an exchange, then look whether the ring is empty, by the
//!   tail that the exchange returned. A send whose exchange came before is seen by that look; one that comes later sees
//!   WAITED. So no item is overlooked. To send likewise, with WAITED in the head.
//! - *Signal*: under the lock, claim the first waiter; if none is left in the list, clear the flag. The waiter tries again.
//!   A value may be taken by somebody else before it does; then it waits again.
//! - *Wait for half the room*: as to send. But who waits to send writes down, under the lock, the position of the head from which on to signal:
//!   the present one, or half the room ahead, if it can wait for that. If others wait already, the position is only ever moved back. A
//!   receive that finds WAITED and has not come that far signals nobody. The position is written before the exchange that sets WAITED, so a receive that comes after that in the
//!   order of the head reads it: a wait for the first place is not put off by one for half the room. That one may last until its waiter
//!   looks for itself ([`pace`](super::pace)).
//! - *Make room*, where the oldest value is to go if there is none: read the head at p, then the tail. If the tail is one lap ahead of p and not
//!   CLOSED, receive as above, by an exchange of that very word. If the exchange succeeds, the ring was full at that moment: the
//!   tail had come to p + one lap, and could not have passed it, since the send there needs the slot of p, which is freed by whoever moves the
//!   head past p. That is us. So no value goes while there is room; if a receiver is quicker, the exchange fails, and the send
//!   is tried again. (A close in between finds the value gone and lets the send no more in, as if it had come after both.)
//! - *Close*: under the lock, set CLOSED by an exchange; claim all waiters.
//! - *Cancel, deadline*: they claim the wait; the waiter takes itself off the list. Nothing has moved.
//!
//! # One thread alone
//! What is called an exchange in a send and a receive is one of the [words of a lock](crate::prim::biased_lock::Others): while all that use the channel are of one
//! thread, a load and a store under the lock below, biased to that thread. The exchanges that set and clear flags are made under the same lock. Whoever finds
//! it full or empty, or asks how much is in it, *sees* the words first, and so does not miss what that thread has just stored.
//!
//! A send that has moved the tail and not yet written its stamp delays the receive at that position for a few instructions; it waits for
//! that actively. A fiber can't be suspended in between, only its thread.
#![allow(unsafe_code, reason = "slots are shared memory, owned by whoever moved the position past them")]

#[cfg(all(test, loom))]
mod loom_models;
mod ports;
mod quick;

pub(crate) use self::quick::Alone;

use super::pace::Pace;
use super::port::{Attempt, Channel, Enlisted, Room};
use crate::fiber::wait_list::WaitList;
use crate::fiber::waiter::{Claimed, Identity, Waiter};
use crate::fiber::who::Who;
use crate::park::unpark;
use crate::prim::atomic::{AtomicUsize, Backoff, Ordering, fence};
use crate::prim::cell::UnsafeCell;
use crate::prim::lock::{Lock, Others};
use crossbeam_utils::CachePadded;
use std::mem::MaybeUninit;

const WAITED: usize = 1;
const CLOSED: usize = 2;
/// One step of a position.
const STEP: usize = 4;
const FLAGS: usize = STEP - 1;

/// See the [module](self).
pub(crate) struct Array<T> {
    tail: CachePadded<AtomicUsize>,
    head: CachePadded<AtomicUsize>,
    /// The position of the head from which on senders are signalled.
    signal_from: CachePadded<AtomicUsize>,
    pace: Pace,
    slots: Box<[Slot<T>]>,
    /// The part of a position that is its index.
    within_lap: usize,
    /// That part of the last position of a lap.
    last: usize,
    waiting: CachePadded<Lock<Waiting>>,
    /// Whether others than one thread use the channel. INVARIANT: of the lock above.
    others: Others,
    /// 1 if what is sent comes from outside of the runtime, whatever else happens.
    is_outside: std::sync::atomic::AtomicU8,
}

/// The earlier one of two positions.
fn earlier(one: usize, other: usize) -> usize {
    if (one.wrapping_sub(other) as isize) < 0 { one } else { other }
}

struct Slot<T> {
    stamp: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

struct Waiting {
    senders: WaitList<Who>,
    receivers: WaitList<Who>,
}

// SAFETY: a value is written and read by whoever moved the position past its slot, and handed on by the stamp.
unsafe impl<T: Send> Sync for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Array<T> {}

/// Where a word stands in the ring.
struct Spot<'a, T> {
    position: usize,
    slot: &'a Slot<T>,
    /// The position after this one.
    next: usize,
}

/// A word that was exchanged for the next by us: the slot it stood at is ours.
struct Passed<'a, T> {
    word: usize,
    slot: &'a Slot<T>,
}

/// What came of an attempt to move a position.
enum Turn<'a, T> {
    Moved(Passed<'a, T>),
    /// Somebody else has moved it meanwhile, or changed its flags: this is the word now.
    Lost(usize),
    /// It can't be moved from this word: the slot is not free, or not filled.
    Waits(usize),
    Closed,
}

/// Goes on after a first attempt to move `word` in vain, until it was moved or there is an obstacle that only others can remove. Without one,
/// somebody is about to finish a step.
fn insist<'a, T>(
    word: &AtomicUsize,
    mut turn: Turn<'a, T>,
    try_pass: impl Fn(usize) -> Turn<'a, T>,
    obstacle_at: impl Fn(usize) -> Option<Attempt>,
) -> Result<Passed<'a, T>, Attempt> {
    let mut backoff = Backoff::new();
    loop {
        let from = match turn {
            Turn::Moved(passed) => return Ok(passed),
            Turn::Closed => return Err(Attempt::Closed),
            Turn::Lost(now) => backoff.lose(now, word),
            Turn::Waits(at) => match obstacle_at(at) {
                Some(attempt) => return Err(attempt),
                None => {
                    backoff.pause();
                    word.load(Ordering::Relaxed)
                }
            },
        };
        turn = try_pass(from);
    }
}

impl<T> Array<T> {
    pub(crate) fn new(capacity: usize) -> Array<T> {
        debug_assert!(capacity > 0, "INVARIANT: a channel without room is a rendezvous");
        let one_lap = (capacity + 1).checked_next_power_of_two().and_then(|lap| lap.checked_mul(STEP));
        let slot =
            |index| Slot { stamp: AtomicUsize::new(index * STEP), value: UnsafeCell::new(MaybeUninit::uninit()) };
        Array {
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
            signal_from: CachePadded::new(AtomicUsize::new(0)),
            pace: Pace::new(),
            slots: (0..capacity).map(slot).collect(),
            within_lap: one_lap.expect("sisal: the capacity of a channel is too large") - 1,
            last: (capacity - 1) * STEP,
            waiting: CachePadded::new(Lock::new(Waiting { senders: WaitList::new(), receivers: WaitList::new() })),
            others: Others::none(),
            is_outside: std::sync::atomic::AtomicU8::new(0),
        }
    }

    /// What is sent will come from outside of the runtime.
    pub(crate) fn set_outside(&self) {
        self.is_outside.store(1, Ordering::Relaxed);
    }

    /// From a position to the same index in the next lap.
    #[inline(always)]
    fn one_lap(&self) -> usize {
        self.within_lap + 1
    }

    /// Where `word` stands.
    #[inline(always)]
    fn spot(&self, word: usize) -> Spot<'_, T> {
        self.spot_at(word & !FLAGS)
    }

    /// Where a word without flags stands. All at once: what is read of the ring between two exchanges is read once.
    #[inline(always)]
    fn spot_at(&self, position: usize) -> Spot<'_, T> {
        let (within_lap, slots) = (self.within_lap, &*self.slots);
        let place = position & within_lap;
        debug_assert!(place / STEP < slots.len(), "INVARIANT: positions stand at slots");
        // SAFETY: positions are 0 at first, and then what this says is next: all of them name slots.
        let slot = unsafe { slots.get_unchecked(place / STEP) };
        // From the last to the first index of the next lap.
        let next = if place != self.last { position + STEP } else { (position | within_lap).wrapping_add(1) };
        Spot { position, slot, next }
    }

    /// The position so many places after this one; at most as many as there are.
    fn ahead(&self, position: usize, places: usize) -> usize {
        let index = (position & self.within_lap) / STEP + places;
        let lap = position & !self.within_lap;
        match index.checked_sub(self.slots.len()) {
            None => lap + index * STEP,
            Some(index) => lap.wrapping_add(self.one_lap()) + index * STEP,
        }
    }

    /// Half the room.
    fn half(&self) -> usize {
        self.slots.len() / 2
    }

    #[inline(always)]
    unsafe fn send(&self, from: *mut T) -> Attempt {
        let passed = match self.try_pass_tail(self.tail.load(Ordering::Relaxed)) {
            Turn::Moved(passed) => passed,
            turn => match self.pass_tail(turn) {
                Ok(passed) => passed,
                Err(attempt) => return attempt,
            },
        };
        // SAFETY: we moved the tail past this slot; `from` holds a value.
        if unsafe { Self::put_in(&passed, from) } {
            self.signal_receiver();
        }
        Attempt::Done
    }

    /// Moves the value of a send to where the tail stood; true if a receiver has to be told.
    ///
    /// # Safety
    /// What was passed is the tail, and `from` holds a value, which it does no longer.
    #[inline(always)]
    unsafe fn put_in(Passed { word, slot }: &Passed<'_, T>, from: *mut T) -> bool {
        // SAFETY: the tail was moved past this slot by us, so it is ours until the stamp says otherwise; the caller's promise.
        slot.value.with_mut(|value| unsafe { (*value).write(from.read()) });
        // ORDERING: Release pairs with the Acquire in `try_pass_head`: the value can be read.
        slot.stamp.store((word & !FLAGS) + STEP, Ordering::Release);
        word & WAITED != 0
    }

    /// Goes on after a first attempt in vain, until the tail was moved or a send has to wait.
    #[cold]
    #[inline(never)]
    fn pass_tail<'a>(&'a self, turn: Turn<'a, T>) -> Result<Passed<'a, T>, Attempt> {
        self.waiting.see(&self.others);
        insist(&self.tail, turn, |word| self.try_pass_tail(word), |tail| self.fullness_at(tail))
    }

    /// Tries to move the tail from `word`.
    #[inline(always)]
    fn try_pass_tail(&self, word: usize) -> Turn<'_, T> {
        if word & CLOSED != 0 {
            return Turn::Closed;
        }
        let Spot { position, slot, next } = self.spot(word);
        // ORDERING: Acquire pairs with the Release in `take_out`: the value before has been read out.
        if slot.stamp.load(Ordering::Acquire) != position {
            let now = self.tail.load(Ordering::Relaxed);
            return if now == word { Turn::Waits(word) } else { Turn::Lost(now) };
        }
        // ORDERING: AcqRel: pairs with the exchanges that set the flags: a receiver that set WAITED before is found in the list; and
        // with those of other senders.
        match self.waiting.change(&self.others, &self.tail, word, next | (word & FLAGS)) {
            Ok(()) => Turn::Moved(Passed { word, slot }),
            Err(now) => Turn::Lost(now),
        }
    }

    #[inline(always)]
    unsafe fn receive(&self, into: *mut T) -> Attempt {
        let passed = match self.try_pass_head(self.head.load(Ordering::Relaxed)) {
            Turn::Moved(passed) => passed,
            turn => match self.pass_head(turn) {
                Ok(passed) => passed,
                Err(attempt) => return attempt,
            },
        };
        // SAFETY: we moved the head past this slot, and the caller's promise.
        unsafe { self.read_out(passed, into) };
        Attempt::Done
    }

    /// Goes on after a first attempt in vain, until the head was moved or a receive has to wait.
    #[cold]
    #[inline(never)]
    fn pass_head<'a>(&'a self, turn: Turn<'a, T>) -> Result<Passed<'a, T>, Attempt> {
        self.waiting.see(&self.others);
        insist(&self.head, turn, |word| self.try_pass_head(word), |head| self.emptiness_at(head))
    }

    /// Takes the oldest value out, if there is no room for another.
    pub(crate) fn make_room(&self) -> Option<T> {
        let mut backoff = Backoff::new();
        let mut word = self.head.load(Ordering::Relaxed);
        let passed = loop {
            let tail = self.tail.load(Ordering::Relaxed);
            if tail & CLOSED != 0 || (word & !FLAGS).wrapping_add(self.one_lap()) != tail & !FLAGS {
                return None;
            }
            match self.try_pass_head(word) {
                Turn::Moved(passed) => break passed,
                Turn::Lost(now) => word = backoff.lose(now, &self.head),
                // A sender is about to write the value.
                Turn::Waits(_) => backoff.pause(),
                Turn::Closed => unreachable!("INVARIANT: the head has no such flag"),
            }
        };
        let mut oldest = MaybeUninit::uninit();
        // SAFETY: we moved the head past this slot; the place can be written, and holds the value afterwards.
        unsafe {
            self.read_out(passed, oldest.as_mut_ptr());
            Some(oldest.assume_init())
        }
    }

    /// Takes the value out that a head stood at, and tells senders of the room.
    ///
    /// # Safety
    /// As for [`take_out`](Self::take_out).
    #[inline(always)]
    unsafe fn read_out(&self, passed: Passed<'_, T>, into: *mut T) {
        // SAFETY: the caller's promise.
        if unsafe { self.take_out(&passed, into) } {
            self.signal_senders(passed.word);
        }
    }

    /// Takes the value out that a head stood at; true if senders have to be told of the room.
    ///
    /// # Safety
    /// What was passed is the head, and `into` can be written.
    #[inline(always)]
    unsafe fn take_out(&self, Passed { word, slot }: &Passed<'_, T>, into: *mut T) -> bool {
        // SAFETY: the head was moved past this slot by us, so the value in it is ours; `into` can be written.
        slot.value.with(|value| unsafe { into.write((*value).assume_init_read()) });
        // ORDERING: Release pairs with the Acquire in `try_pass_tail`: the value has been read out.
        slot.stamp.store((word & !FLAGS).wrapping_add(self.one_lap()), Ordering::Release);
        word & WAITED != 0
    }

    /// Tries to move the head from `word`.
    #[inline(always)]
    fn try_pass_head(&self, word: usize) -> Turn<'_, T> {
        let Spot { position, slot, next } = self.spot(word);
        // ORDERING: Acquire pairs with the Release in `put_in`: the value is there.
        if slot.stamp.load(Ordering::Acquire) != position + STEP {
            let now = self.head.load(Ordering::Relaxed);
            return if now == word { Turn::Waits(word) } else { Turn::Lost(now) };
        }
        // ORDERING: AcqRel: as in `try_pass_tail`, with the sides exchanged.
        match self.waiting.change(&self.others, &self.head, word, next | (word & FLAGS)) {
            Ok(()) => Turn::Moved(Passed { word, slot }),
            Err(now) => Turn::Lost(now),
        }
    }

    /// If a send at this tail has nothing to wait for but a receiver yet to come, what it comes to: the slot is still that of the lap before,
    /// and its value has not been received.
    #[cold]
    fn fullness_at(&self, tail: usize) -> Option<Attempt> {
        // ORDERING: between the stamp, or the flag, and the head: a head read here is not older than either. Pairs with the exchange
        // of the head.
        fence(Ordering::SeqCst);
        let head = self.head.load(Ordering::Relaxed) & !FLAGS;
        (head.wrapping_add(self.one_lap()) == tail & !FLAGS).then_some(Attempt::Waits)
    }

    /// If a receive at this head has nothing to wait for but a sender yet to come, what it comes to.
    #[cold]
    fn emptiness_at(&self, head: usize) -> Option<Attempt> {
        // ORDERING: as in `fullness_at`, with the sides exchanged.
        fence(Ordering::SeqCst);
        let tail = self.tail.load(Ordering::Relaxed);
        let empty = tail & !FLAGS == head & !FLAGS;
        empty.then_some(if tail & CLOSED != 0 { Attempt::Closed } else { Attempt::Waits })
    }

    #[cold]
    fn signal_receiver(&self) {
        let mut waiting = self.waiting.lock();
        let claimed = waiting.receivers.claim_first();
        if waiting.receivers.is_empty() {
            self.tail.fetch_and(!WAITED, Ordering::Relaxed);
        }
        drop(waiting);
        claimed.map(Claimed::into_token).into_iter().for_each(unpark);
    }

    /// The value was received that the head stood at with this word, and senders wait.
    #[cold]
    fn signal_senders(&self, word: usize) {
        let missing = self.signal_from.load(Ordering::Relaxed).wrapping_sub(self.spot(word).next) as isize;
        if missing <= 0 {
            self.signal_sender();
        }
    }

    fn signal_sender(&self) {
        let mut waiting = self.waiting.lock();
        let claimed = waiting.senders.claim_first();
        if waiting.senders.is_empty() {
            self.head.fetch_and(!WAITED, Ordering::Relaxed);
        }
        drop(waiting);
        if let Some(token) = claimed.map(Claimed::into_token) {
            if !token.0.is_of_this_thread() {
                self.pace.count();
            }
            unpark(token);
        }
    }
}

impl<T> Array<T> {
    /// # Safety
    /// As for [`SendPort::enlist_sender`].
    unsafe fn enlist_for(&self, waiter: &Waiter<Who>, room: Room) -> Enlisted {
        let mut waiting = self.waiting.lock();
        let now = self.head.load(Ordering::Relaxed) & !FLAGS;
        let before = self.signal_from.load(Ordering::Relaxed);
        let signal_from = match room {
            // A receive may have passed the head and not yet looked, which owes a signal to those who wait already.
            _ if !waiting.senders.is_empty() => earlier(before, now),
            Room::Any => now,
            Room::Half => self.ahead(now, self.half()),
        };
        self.signal_from.store(signal_from, Ordering::Relaxed);
        // ORDERING: AcqRel: pairs with the exchanges of the head: one that comes later reads from where on to signal. The tail is read
        // afterwards, and CLOSED is set under the lock.
        let head = self.head.fetch_or(WAITED, Ordering::AcqRel) & !FLAGS;
        // ORDERING: Acquire pairs with the exchanges of the tail.
        let tail = self.tail.load(Ordering::Acquire);
        if tail & CLOSED != 0 || head.wrapping_add(self.one_lap()) != tail & !FLAGS {
            return Enlisted::No;
        }
        // SAFETY: the caller's promise.
        unsafe { waiting.senders.push(waiter) };
        Enlisted::Yes
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        self.tail.fetch_or(CLOSED, Ordering::Relaxed);
        self.discard();
    }
}
