//! A worker's stealable deque: a fixed ring, newest first for its owner, oldest first for thieves, who take half.
//!
//! # The words
//! - `tail`: where the owner puts the next thing. Only the owner writes it.
//! - `head`: the oldest thing that is still to be had; those before it are claimed. Written under the lock.
//! - `stolen`: slots before it are free. It trails `head` while a thief copies out what it has claimed. Written under the lock.
//! - `lock`: held by the one thief at work, or by the owner when the two have met.
//! - `drained`: how often the owner has taken the last thing. A thief that looks twice and finds `drained` as it was, and `head` still before
//!   what was `tail`, knows that the oldest thing has most likely been there all the time.
//!
//! All count modulo 2^32. Always `stolen <= head` and `tail <= stolen + CAPACITY`; and `head <= tail`, except for the moments in
//! which a claim is being tried that will be taken back.
//!
//! # Protocol
//! - *Push* (owner): if `tail - stolen` is the capacity, the ring is full. Else write the slot, then `tail + 1`.
//! - *Pop newest* (owner): write `tail - 1`, fence, read `head`. If that is not past the new `tail`, the thing there is the
//!   owner's. Else a thief claims it: put `tail` back, take the lock (so that the claim is decided), and look again.
//! - *Pop oldest* (owner): under the lock, write `head + 1` and `stolen + 1`.
//! - *Steal*: take the lock, or give up. Write `head` plus half of what is there, fence, read `tail`. If that is not before the new
//!   `head`, the slots between are the thief's: copy them out, write `stolen`, unlock. Else put `head` back, unlock, give up.
//!
//! Why nobody gets a thing twice: owner and thief each write their word, fence, and read the other's. Of the two fences one comes
//! first, and the other side sees what was written before it. If the owner took a thing without seeing the claim, its fence was
//! first, and the thief sees the lowered `tail` (or a later push, then with the new thing in the slot), and claims no further.
//! Why none is lost: a claim that fails is taken back under the lock, and the owner that met it waits for that lock.
//! Why no slot is overwritten early: the owner reads `stolen`, which moves after the slots have been read.
//!
//! The owner's push costs two stores, its pop a fence.

use crate::prim::atomic::{AtomicPtr, AtomicU32, Backoff, Ordering, full_fence};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

/// How many things a ring holds: a batch of ten thousand spawns. What does not fit goes to the injector.
#[cfg(not(modelled))]
const CAPACITY: u32 = 16_384;
#[cfg(modelled)]
const CAPACITY: u32 = 4;

/// The most that one theft takes.
const MOST_STOLEN: u32 = 1_024;

/// See the [module](self). `push`, `pop_newest`, `pop_oldest` and `room` are for the owner alone.
pub(crate) struct Ring<T> {
    owners: CachePadded<Owners>,
    thieves: CachePadded<Thieves>,
    slots: Box<[AtomicPtr<T>]>,
}

/// What the owner writes.
struct Owners {
    tail: AtomicU32,
    drained: AtomicU32,
}

/// What is written under the lock.
struct Thieves {
    head: AtomicU32,
    stolen: AtomicU32,
    lock: AtomicU32,
}

/// What was in a ring at one time, to be compared with a later look.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glimpse {
    head: u32,
    tail: u32,
    drained: u32,
}

impl Glimpse {
    /// Whether what is oldest now was there at an earlier look. If others have come and gone above it meanwhile, perhaps it was not.
    pub(crate) fn has_aged_since(self, earlier: Glimpse) -> bool {
        self.drained == earlier.drained && self.head.wrapping_sub(earlier.head) < between(earlier.head, earlier.tail)
    }

    /// Whether the owner has taken some since an earlier look, and nobody else has.
    pub(crate) fn lacks_newest_of(self, earlier: Glimpse) -> bool {
        self.head == earlier.head && self.len() < earlier.len()
    }

    /// How many there were.
    pub(crate) fn len(self) -> usize {
        between(self.head, self.tail) as usize
    }
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

/// How many things there are from `head` to `tail`; none while a claim goes beyond.
#[inline]
fn between(head: u32, tail: u32) -> u32 {
    let length = tail.wrapping_sub(head);
    if length > CAPACITY { 0 } else { length }
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Ring<T> {
        let zero = || AtomicU32::new(0);
        Ring {
            owners: CachePadded::new(Owners { tail: zero(), drained: zero() }),
            thieves: CachePadded::new(Thieves { head: zero(), stolen: zero(), lock: zero() }),
            slots: (0..CAPACITY).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        }
    }

    #[inline]
    fn slot(&self, index: u32) -> &AtomicPtr<T> {
        &self.slots[(index % CAPACITY) as usize]
    }

    #[inline]
    fn read(&self, index: u32) -> NonNull<T> {
        // ORDERING: Relaxed; the owner wrote it itself, a thief acquired the `tail` behind it.
        NonNull::new(self.slot(index).load(Ordering::Relaxed))
            .unwrap_or_else(|| unreachable!("INVARIANT: slots between head and tail are filled"))
    }

    /// How many things there are, as far as this thread can see.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let head = self.thieves.head.load(Ordering::Relaxed);
        between(head, self.owners.tail.load(Ordering::Relaxed)) as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `see` with the oldest things, `most` at most. Some may have been taken by then: the caller knows that they are alive nonetheless.
    pub(crate) fn look(&self, most: usize, see: impl FnMut(NonNull<T>)) {
        // ORDERING: Acquire pairs with the Release of a push: the slots before the tail can be read.
        let tail = self.owners.tail.load(Ordering::Acquire);
        let head = self.thieves.head.load(Ordering::Relaxed);
        let slots = (0..between(head, tail)).take(most).map(|place| self.slot(head.wrapping_add(place)));
        slots.filter_map(|slot| NonNull::new(slot.load(Ordering::Relaxed))).for_each(see);
    }

    /// How many more things fit; it can only grow.
    pub(crate) fn room(&self) -> usize {
        let used = self.owners.tail.load(Ordering::Relaxed).wrapping_sub(self.thieves.stolen.load(Ordering::Relaxed));
        (CAPACITY - used) as usize
    }

    /// Adds `thing` as the newest, or gives it back if the ring is full. It is published, but not fenced.
    #[inline]
    pub(crate) fn push(&self, thing: NonNull<T>) -> Result<(), NonNull<T>> {
        let tail = self.owners.tail.load(Ordering::Relaxed);
        // ORDERING: Acquire pairs with the Release in `steal` that moved `stolen`: the thief has read the slot that we may be
        // about to overwrite.
        if tail.wrapping_sub(self.thieves.stolen.load(Ordering::Acquire)) >= CAPACITY {
            return Err(thing);
        }
        self.slot(tail).store(thing.as_ptr(), Ordering::Relaxed);
        self.set_tail(tail.wrapping_add(1));
        Ok(())
    }

    #[inline]
    fn set_tail(&self, tail: u32) {
        // ORDERING: Release pairs with the Acquire in `steal`: the thief sees all slots, and things, before this tail.
        self.owners.tail.store(tail, Ordering::Release);
    }

    /// Takes the newest thing.
    #[inline]
    pub(crate) fn pop_newest(&self) -> Option<NonNull<T>> {
        let tail = self.owners.tail.load(Ordering::Relaxed);
        // An old head is a lower one: if even that is here, there is nothing. One that is past the tail will be decided below.
        if tail == self.thieves.head.load(Ordering::Relaxed) {
            return None;
        }
        let newest = tail.wrapping_sub(1);
        self.set_tail(newest);
        // ORDERING: pairs with the fence in `steal`.
        full_fence();
        let head = self.thieves.head.load(Ordering::Relaxed);
        if newest.wrapping_sub(head) > CAPACITY {
            self.set_tail(tail);
            return self.pop_contended();
        }
        self.note_if_drained(head, newest);
        Some(self.read(newest))
    }

    /// A thief claims what we want: waits for what becomes of that.
    #[cold]
    fn pop_contended(&self) -> Option<NonNull<T>> {
        self.locked(|head, tail| {
            let newest = tail.wrapping_sub(1);
            self.set_tail(newest);
            self.note_if_drained(head, newest);
            self.read(newest)
        })
    }

    /// Takes the oldest thing.
    pub(crate) fn pop_oldest(&self) -> Option<NonNull<T>> {
        self.locked(|head, tail| {
            let next = head.wrapping_add(1);
            self.thieves.head.store(next, Ordering::Relaxed);
            self.thieves.stolen.store(next, Ordering::Relaxed);
            self.note_if_drained(next, tail);
            self.read(head)
        })
    }

    #[inline]
    fn note_if_drained(&self, head: u32, tail: u32) {
        if head == tail {
            let drained = &self.owners.drained;
            drained.store(drained.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Calls `take` under the lock, if there is something. For the owner.
    fn locked<R>(&self, take: impl FnOnce(u32, u32) -> R) -> Option<R> {
        let mut backoff = Backoff::new();
        while !self.try_lock() {
            backoff.pause();
        }
        let (head, tail) = (self.thieves.head.load(Ordering::Relaxed), self.owners.tail.load(Ordering::Relaxed));
        let taken = (head != tail).then(|| take(head, tail));
        self.unlock();
        taken
    }

    fn try_lock(&self) -> bool {
        let lock = &self.thieves.lock;
        // ORDERING: Acquire pairs with the Release in `unlock`: what the last holder wrote is seen.
        lock.load(Ordering::Relaxed) == 0 && lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn unlock(&self) {
        // ORDERING: Release pairs with the Acquire in `try_lock`.
        self.thieves.lock.store(0, Ordering::Release);
    }

    /// What is here, to be compared with a later look; none if there is nothing.
    pub(crate) fn glimpse(&self) -> Option<Glimpse> {
        let head = self.thieves.head.load(Ordering::Relaxed);
        let drained = self.owners.drained.load(Ordering::Relaxed);
        let tail = self.owners.tail.load(Ordering::Relaxed);
        (between(head, tail) > 0).then_some(Glimpse { head, tail, drained })
    }

    /// Takes the older half: the oldest is returned, the others are handed to `rest` in their order.
    pub(crate) fn steal(&self, mut rest: impl FnMut(NonNull<T>)) -> Stolen<NonNull<T>> {
        if !self.try_lock() {
            return Stolen::Busy;
        }
        let head = self.thieves.head.load(Ordering::Relaxed);
        let length = between(head, self.owners.tail.load(Ordering::Relaxed));
        let stolen = match self.claim(head, length.div_ceil(2).min(MOST_STOLEN)) {
            Claim::Nothing => Stolen::Empty,
            Claim::Refused => Stolen::Busy,
            Claim::UpTo(end) => {
                let first = self.read(head);
                let mut index = head.wrapping_add(1);
                while index != end {
                    rest(self.read(index));
                    index = index.wrapping_add(1);
                }
                // ORDERING: Release pairs with the Acquire in `push`: the slots have been read before they are reused.
                self.thieves.stolen.store(end, Ordering::Release);
                Stolen::First(first)
            }
        };
        self.unlock();
        stolen
    }

    /// Tries to make the `count` oldest things the caller's, who holds the lock.
    fn claim(&self, head: u32, count: u32) -> Claim {
        if count == 0 {
            return Claim::Nothing;
        }
        let end = head.wrapping_add(count);
        self.thieves.head.store(end, Ordering::Relaxed);
        // ORDERING: pairs with the fence in `pop_newest`.
        full_fence();
        // ORDERING: Acquire pairs with the Release in `set_tail`: the claimed slots, and the things in them, can be read.
        if self.owners.tail.load(Ordering::Acquire).wrapping_sub(end) > CAPACITY {
            self.thieves.head.store(head, Ordering::Relaxed);
            return Claim::Refused;
        }
        Claim::UpTo(end)
    }
}

/// What became of a thief's claim.
enum Claim {
    Nothing,
    Refused,
    /// The things before this index are the thief's.
    UpTo(u32),
}

#[cfg(all(test, not(modelled)))]
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
    fn a_glimpse_tells_what_the_owner_has_taken_from_what_a_thief_has() {
        let ring = Ring::new();
        (0..4).for_each(|n| ring.push(thing(n)).unwrap());
        let look = || ring.glimpse().unwrap();
        let first = look();
        assert!(!look().lacks_newest_of(first));
        assert!(ring.pop_newest().is_some());
        assert!(look().lacks_newest_of(first));
        let second = look();
        assert_ne!(ring.steal(|_| ()), Stolen::Empty);
        assert!(look().len() < second.len() && !look().lacks_newest_of(second));
    }

    #[test]
    fn a_full_ring_gives_the_thing_back_and_has_room_again_after_a_pop() {
        let ring = Ring::new();
        (0..CAPACITY as usize).for_each(|n| ring.push(thing(n)).unwrap());
        assert_eq!((ring.push(thing(7)), ring.room()), (Err(thing(7)), 0));
        assert!(ring.pop_oldest().is_some());
        assert_eq!(ring.room(), 1);
        assert_eq!(ring.push(thing(7)), Ok(()));
        assert_eq!(ring.pop_newest().map(number), Some(7));
    }

    #[test]
    fn what_was_there_at_an_earlier_look_is_told_from_what_came_later() {
        let ring = Ring::new();
        let look = || ring.glimpse().unwrap();
        assert_eq!(ring.glimpse(), None);
        (0..3).for_each(|number| ring.push(thing(number)).unwrap());
        let first = look();
        ring.pop_oldest();
        ring.push(thing(3)).unwrap();
        assert!(look().has_aged_since(first), "the second is the oldest now");
        ring.pop_oldest();
        ring.pop_oldest();
        assert!(!look().has_aged_since(first), "the fourth came later");
        let second = look();
        ring.pop_newest();
        ring.push(thing(4)).unwrap();
        assert!(!look().has_aged_since(second), "the ring was empty meanwhile");
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
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
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
