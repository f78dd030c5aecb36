//! A worker's stealable deque: a fixed ring, newest first for its owner, oldest first for thieves, who take half.
//!
//! # The word
//! ```text
//!   63      48 47      32 31      16 15       0
//!  ┌──────────┬──────────┬──────────┬──────────┐
//!  │   tail   │   head   │  stolen  │  drained │     all of them count modulo 65536
//!  └──────────┴──────────┴──────────┴──────────┘
//! ```
//! - `tail`: where the owner puts the next thing. Only the owner changes it.
//! - `head`: the oldest thing that is still to be had.
//! - `stolen`: slots before it are free. It trails `head` while a thief copies out what it has claimed.
//! - `drained`: how often the owner has taken the last thing. A thief that looks twice and finds `head` and `drained` as they
//!   were knows that the oldest thing has been there all the time.
//!
//! Always `stolen <= head <= tail <= stolen + CAPACITY`. `stolen != head` means a thief is at work; there is at most one.
//!
//! # Protocol
//! - *Push* (owner): if `tail - stolen` is the capacity, the ring is full. Else write the slot, then add one to `tail`.
//! - *Pop newest* (owner): CAS `tail` to `tail - 1` if `head < tail`, then read the slot. Nobody else can want it: a
//!   thief that claimed it would have moved `head`, and the CAS would have failed.
//! - *Pop oldest* (owner): CAS `head` and `stolen` on by one if no thief is at work, then read the slot. It can't be
//!   overwritten meanwhile, since only the owner writes slots.
//! - *Steal* (anyone else): if no thief is at work, CAS `head` on by half of what is there. Now these slots are the
//!   thief's: the owner takes no thing before `head` and writes no slot that is not before `stolen`. Copy them out, then
//!   bring `stolen` up to `head`.
//!
//! One word holds both ends, so an owner and a thief can't both get the last thing, and there is nothing to fence. A CAS
//! that succeeds on a word that changed and changed back is right all the same, since slots are read only after it.
//!
//! Measured beside a Chase-Lev deque (crossbeam-deque), which needs a full fence in its pop and steals one at a time.

use crate::prim::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::ptr::{self, NonNull};

/// How many things a ring holds: a batch of ten thousand spawns. What does not fit goes to the injector.
#[cfg(not(loom))]
const CAPACITY: u16 = 16_384;
#[cfg(loom)]
const CAPACITY: u16 = 4;

/// The most that one theft takes.
const MOST_STOLEN: u16 = 1_024;

/// The word, taken apart.
#[derive(Copy, Clone)]
struct Ends {
    tail: u16,
    head: u16,
    stolen: u16,
    drained: u16,
}

const TAIL_ONE: u64 = 1 << 48;

impl Ends {
    #[inline]
    fn of(word: u64) -> Ends {
        Ends { tail: (word >> 48) as u16, head: (word >> 32) as u16, stolen: (word >> 16) as u16, drained: word as u16 }
    }

    #[inline]
    fn word(self) -> u64 {
        u64::from(self.tail) << 48 | u64::from(self.head) << 32 | u64::from(self.stolen) << 16 | u64::from(self.drained)
    }

    #[inline]
    fn len(self) -> u16 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    fn is_full(self) -> bool {
        self.tail.wrapping_sub(self.stolen) >= CAPACITY
    }

    #[inline]
    fn has_thief(self) -> bool {
        self.stolen != self.head
    }
}

/// See the [module](self). `push`, `pop_newest` and `pop_oldest` are for the owner alone.
pub(crate) struct Ring<T> {
    word: AtomicU64,
    slots: Box<[AtomicPtr<T>]>,
}

/// Tells the oldest thing in a ring from others that take its place later.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Oldest {
    head: u16,
    drained: u16,
}

/// What a thief found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stolen<T> {
    /// Nothing.
    Empty,
    /// Another thread got in between: it may be worth another try.
    Busy,
    /// The oldest of what was taken; the others have been handed out.
    First(T),
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        let slots = (0..CAPACITY).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Ring { word: AtomicU64::new(0), slots }
    }

    #[inline]
    fn slot(&self, index: u16) -> &AtomicPtr<T> {
        &self.slots[usize::from(index % CAPACITY)]
    }

    #[inline]
    fn read(&self, index: u16) -> NonNull<T> {
        // ORDERING: Relaxed; the CAS on the word that gave us this slot acquired the push that filled it.
        NonNull::new(self.slot(index).load(Ordering::Relaxed))
            .unwrap_or_else(|| unreachable!("INVARIANT: slots between head and tail are filled"))
    }

    /// How many things there are, as far as this thread can see.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        Ends::of(self.word.load(Ordering::Relaxed)).len().into()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many more things fit. For the owner, for whom it can only grow.
    pub(crate) fn room(&self) -> usize {
        let ends = Ends::of(self.word.load(Ordering::Relaxed));
        (CAPACITY - ends.tail.wrapping_sub(ends.stolen)).into()
    }

    /// Adds `thing` as the newest, or gives it back if the ring is full. Ends with a read-modify-write.
    #[inline]
    pub(crate) fn push(&self, thing: NonNull<T>) -> Result<(), NonNull<T>> {
        // ORDERING: Acquire pairs with the Release in `steal` that moved `stolen`: the thief has read the slot that
        // we may be about to overwrite.
        let ends = Ends::of(self.word.load(Ordering::Acquire));
        if ends.is_full() {
            return Err(thing);
        }
        self.slot(ends.tail).store(thing.as_ptr(), Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire of the CAS in `steal`: the thief sees slot and thing. A carry out
        // of `tail` leaves the word.
        self.word.fetch_add(TAIL_ONE, Ordering::Release);
        Ok(())
    }

    /// Takes the newest thing.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        self.claim(|ends| {
            let drained = ends.drained.wrapping_add(u16::from(ends.len() == 1));
            (ends.len() > 0).then_some(Ends { tail: ends.tail.wrapping_sub(1), drained, ..ends })
        })
        .map(|before| self.read(before.tail.wrapping_sub(1)))
    }

    /// Takes the oldest thing, or the newest if a thief is at work at the old end.
    pub(crate) fn pop_oldest(&self) -> Option<NonNull<T>> {
        let oldest = self.claim(|ends| {
            let next = ends.head.wrapping_add(1);
            (ends.len() > 0 && !ends.has_thief()).then_some(Ends { head: next, stolen: next, ..ends })
        });
        match oldest {
            Some(before) => Some(self.read(before.head)),
            None => self.pop_newest(),
        }
    }

    /// The owner's CAS loop: replaces the word by what `change` makes of it; returns what it was.
    #[inline]
    fn claim(&self, change: impl Fn(Ends) -> Option<Ends>) -> Option<Ends> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let ends = Ends::of(word);
            let changed = change(ends)?.word();
            // ORDERING: Relaxed; the owner reads only slots it wrote itself, and gives thieves nothing to see.
            match self.word.compare_exchange_weak(word, changed, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(ends),
                Err(seen) => word = seen,
            }
        }
    }

    /// What is oldest here, to be compared with a later look; none if there is nothing.
    pub(crate) fn oldest(&self) -> Option<Oldest> {
        let ends = Ends::of(self.word.load(Ordering::Relaxed));
        (ends.len() > 0).then_some(Oldest { head: ends.head, drained: ends.drained })
    }

    /// Takes the older half: the oldest is returned, the others are handed to `rest` in their order.
    pub(crate) fn steal(&self, mut rest: impl FnMut(NonNull<T>)) -> Stolen<NonNull<T>> {
        let word = self.word.load(Ordering::Relaxed);
        let ends = Ends::of(word);
        if ends.has_thief() {
            return Stolen::Busy;
        }
        if ends.len() == 0 {
            return Stolen::Empty;
        }
        let half = ends.len().div_ceil(2).min(MOST_STOLEN);
        let head = ends.head.wrapping_add(half);
        // ORDERING: Acquire pairs with the Release in `push`, so the claimed slots and their things can be read.
        if self.word.compare_exchange(word, Ends { head, ..ends }.word(), Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return Stolen::Busy;
        }
        let first = self.read(ends.head);
        for offset in 1..half {
            rest(self.read(ends.head.wrapping_add(offset)));
        }
        self.release_stolen(head);
        Stolen::First(first)
    }

    fn release_stolen(&self, head: u16) {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let ends = Ends::of(word);
            debug_assert_eq!(ends.head, head, "INVARIANT: one thief at a time, and the owner waits");
            let changed = Ends { stolen: head, ..ends }.word();
            // ORDERING: Release pairs with the Acquire in `push`: the slots have been read before they are reused.
            match self.word.compare_exchange_weak(word, changed, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(seen) => word = seen,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn thing(number: usize) -> NonNull<usize> {
        NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
    }

    fn number(thing: NonNull<usize>) -> usize {
        thing.addr().get() / 8 - 1
    }

    #[test]
    fn the_owner_takes_the_newest_or_the_oldest_and_a_thief_the_older_half() {
        let ring = Ring::new();
        (0..10).for_each(|n| ring.push(thing(n)).unwrap());
        assert_eq!(ring.pop_newest().map(number), Some(9));
        assert_eq!(ring.pop_oldest().map(number), Some(0));
        let mut rest = Vec::new();
        let first = ring.steal(|thing| rest.push(number(thing)));
        assert_eq!((first, rest), (Stolen::First(thing(1)), vec![2, 3, 4]));
        assert_eq!(ring.len(), 4);
        assert_eq!(ring.pop_oldest().map(number), Some(5));
    }

    #[test]
    fn a_full_ring_gives_the_thing_back_and_has_room_again_after_a_pop() {
        let ring = Ring::new();
        (0..usize::from(CAPACITY)).for_each(|n| ring.push(thing(n)).unwrap());
        assert_eq!((ring.push(thing(7)), ring.room()), (Err(thing(7)), 0));
        assert!(ring.pop_oldest().is_some());
        assert_eq!(ring.room(), 1);
        assert_eq!(ring.push(thing(7)), Ok(()));
        assert_eq!(ring.pop_newest().map(number), Some(7));
    }

    #[test]
    fn the_oldest_thing_is_the_same_until_it_is_gone() {
        let ring = Ring::new();
        assert_eq!(ring.oldest(), None);
        ring.push(thing(0)).unwrap();
        let first = ring.oldest();
        ring.push(thing(1)).unwrap();
        ring.pop_newest();
        assert_eq!(ring.oldest(), first);
        ring.pop_newest();
        ring.push(thing(2)).unwrap();
        assert_ne!(ring.oldest(), first);
    }

    #[test]
    fn the_counters_wrap_without_losing_a_thing() {
        let ring = Ring::new();
        for round in 0..200_000 {
            ring.push(thing(round)).unwrap();
            ring.push(thing(round + 1)).unwrap();
            assert_eq!(ring.pop_oldest().map(number), Some(round));
            assert_eq!(ring.pop_newest().map(number), Some(round + 1));
        }
        assert!(ring.is_empty());
    }

    #[test]
    fn with_thieves_at_work_every_thing_is_had_exactly_once() {
        const THINGS: usize = if cfg!(miri) { 200 } else { 200_000 };
        let ring = Ring::new();
        let had: Vec<AtomicUsize> = (0..THINGS).map(|_| AtomicUsize::new(0)).collect();
        let take = |thing| had[number(thing)].fetch_add(1, Ordering::Relaxed);
        let left = AtomicUsize::new(THINGS);
        let done = |n| left.fetch_sub(n, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while left.load(Ordering::Relaxed) > 0 {
                        let mut count = 0;
                        if let Stolen::First(first) = ring.steal(|thing| {
                            take(thing);
                            count += 1;
                        }) {
                            take(first);
                            done(count + 1);
                        }
                    }
                });
            }
            for n in 0..THINGS {
                while ring.push(thing(n)).is_err() {}
                if n % 3 == 0
                    && let Some(thing) = if n % 2 == 0 { ring.pop_newest() } else { ring.pop_oldest() }
                {
                    take(thing);
                    done(1);
                }
            }
            while let Some(thing) = ring.pop_newest() {
                take(thing);
                done(1);
            }
        });
        assert!(had.iter().all(|n| n.load(Ordering::Relaxed) == 1));
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    fn thing(number: usize) -> NonNull<usize> {
        NonNull::new(ptr::without_provenance_mut(number * 8 + 8)).unwrap()
    }

    fn number(thing: NonNull<usize>) -> usize {
        thing.addr().get() / 8 - 1
    }

    fn steal_all_it_can(ring: &Ring<usize>) -> Vec<usize> {
        let mut got = Vec::new();
        let first = ring.steal(|thing| got.push(number(thing)));
        if let Stolen::First(first) = first {
            got.insert(0, number(first));
        }
        got
    }

    /// An owner that fills, overfills and empties a ring of four against a thief that steals twice. Every thing is had
    /// once; a slot is not reused before the thief has read it. Fails unless both sides got something in some run.
    #[test]
    fn loom_ring_hands_out_every_thing_once() {
        let outcomes: &'static Mutex<HashSet<usize>> = Box::leak(Box::default());
        loom::model(move || {
            let ring = Arc::new(Ring::new());
            (0..3).for_each(|n| ring.push(thing(n)).unwrap());
            let thief = {
                let ring = ring.clone();
                loom::thread::spawn(move || {
                    let mut got = steal_all_it_can(&ring);
                    got.extend(steal_all_it_can(&ring));
                    got
                })
            };
            let mut mine: Vec<usize> = ring.pop_newest().into_iter().map(number).collect();
            for n in 3..6 {
                if let Err(refused) = ring.push(thing(n)) {
                    mine.push(number(refused));
                }
            }
            mine.extend(ring.pop_oldest().map(number));
            let stolen = thief.join().unwrap();
            mine.extend(std::iter::from_fn(|| ring.pop_newest()).map(number));
            outcomes.lock().unwrap().insert(stolen.len());
            let mut all = [mine, stolen].concat();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        });
        let outcomes = outcomes.lock().unwrap();
        assert!(outcomes.contains(&0) && outcomes.iter().any(|&n| n >= 3), "thefts seen: {outcomes:?}");
    }

    /// The last thing goes to the owner or to the thief, never to both, and both can win.
    #[test]
    fn loom_ring_gives_the_last_thing_to_one_side() {
        let winners: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        loom::model(move || {
            let ring = Arc::new(Ring::new());
            ring.push(thing(0)).unwrap();
            let thief = {
                let ring = ring.clone();
                loom::thread::spawn(move || steal_all_it_can(&ring).len() == 1)
            };
            let mine = ring.pop_newest().is_some();
            assert_ne!(thief.join().unwrap(), mine);
            winners.lock().unwrap().insert(mine);
        });
        assert_eq!(winners.lock().unwrap().len(), 2);
    }
}
