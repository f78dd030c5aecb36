//! The last events of one writer, for any reader, while they are written.
//!
//! The ring has a slot for each of the last so many events, and two counts: how many events have been *begun*, and how many
//! are *done*. Event number `n` lies in slot `n` modulo the ring's size, until event `n` + size is written over it.
//!
//! The writer, for event `n`:
//! 1. stores `n + 1` to `begun`, and fences (Release)
//! 2. stores the event's words, each an atomic, relaxed
//! 3. stores `n + 1` to `done` (Release)
//!
//! A reader:
//! 1. loads `done` (Acquire): all events before that are written, and perhaps written over
//! 2. copies the slots, oldest first, relaxed
//! 3. fences (Acquire), loads `begun`, and throws away every event that is a whole ring or more older than that
//!
//! Why nothing torn is kept: a word that step 2 of the reader takes from event `n` + size, in the place of event `n`, was stored after
//! the writer's fence, so the reader's fence makes it see the `begun` of that event, at least, and event `n` is thrown away. A word
//! that is older than event `n` can't be seen, since `done` was. Every word is an atomic that is valid whatever it is mixed with, so that
//! what is thrown away was not undefined behaviour either.
//!
//! The writer never waits, and a reader never retries. It pays for two counts and the words, all plain stores on x86_64.
#![allow(unsafe_code, reason = "places in the source are kept as pointers")]

use super::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use super::reason::Place;
use crossbeam_utils::CachePadded;
use std::panic::Location;
use std::ptr;

/// One event. What its words mean is the business of whoever writes and reads it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) ticks: u64,
    pub(crate) words: [u64; 2],
    pub(crate) places: [Option<Place>; 2],
}

struct Slot {
    ticks: AtomicU64,
    words: [AtomicU64; 2],
    /// INVARIANT: null, or made from a [`Place`].
    places: [AtomicPtr<Location<'static>>; 2],
}

/// See the [module](self).
pub(crate) struct EventRing {
    counts: CachePadded<Counts>,
    slots: Box<[Slot]>,
}

struct Counts {
    begun: AtomicU64,
    done: AtomicU64,
}

/// What a reader got.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The number of the first of them.
    pub(crate) first: u64,
    pub(crate) records: Vec<Record>,
}

impl EventRing {
    /// For so many events, a power of two.
    pub(crate) fn new(size: usize) -> EventRing {
        assert!(size.is_power_of_two(), "INVARIANT: positions are found by a mask");
        EventRing {
            counts: CachePadded::new(Counts { begun: AtomicU64::new(0), done: AtomicU64::new(0) }),
            slots: (0..size).map(|_| Slot::new()).collect(),
        }
    }

    /// How many events have been written.
    pub(crate) fn written(&self) -> u64 {
        // ORDERING: Acquire pairs with the Release in `push`: a recorder that begins at this number finds all events before it written.
        self.counts.done.load(Ordering::Acquire)
    }

    /// Writes an event. For the one writer only; whoever hands the ring to another must order the two, as the start of a worker's thread does, or
    /// a lock.
    #[inline]
    pub(crate) fn push(&self, record: &Record) {
        // ORDERING: Relaxed; the count is this writer's own, or comes from one whose writing happened before.
        let number = self.counts.done.load(Ordering::Relaxed);
        self.counts.begun.store(number + 1, Ordering::Relaxed);
        // ORDERING: Release pairs with the Acquire fence in `read`: who sees a word of this event sees that it was begun.
        fence(Ordering::Release);
        self.slots[number as usize & (self.slots.len() - 1)].write(record);
        // ORDERING: Release pairs with the Acquire in `read`: who sees the event counted sees all its words.
        self.counts.done.store(number + 1, Ordering::Release);
    }

    /// All events from number `since` on that are still there.
    pub(crate) fn read(&self, since: u64) -> Kept {
        let size = self.slots.len() as u64;
        // ORDERING: Acquire pairs with the Release in `push`.
        let done = self.counts.done.load(Ordering::Acquire);
        let first = since.min(done).max(done.saturating_sub(size));
        let slot = |number: u64| &self.slots[number as usize & (self.slots.len() - 1)];
        let mut records: Vec<_> = (first..done).map(|number| slot(number).read()).collect();
        // ORDERING: Acquire pairs with the Release fence in `push`.
        fence(Ordering::Acquire);
        let begun = self.counts.begun.load(Ordering::Relaxed);
        let overwritten = begun.saturating_sub(size).saturating_sub(first).min(records.len() as u64);
        records.drain(..overwritten as usize);
        Kept { first: first + overwritten, records }
    }
}

impl Slot {
    fn new() -> Slot {
        let place = || AtomicPtr::new(ptr::null_mut());
        Slot { ticks: AtomicU64::new(0), words: [AtomicU64::new(0), AtomicU64::new(0)], places: [place(), place()] }
    }

    #[inline]
    fn write(&self, record: &Record) {
        self.ticks.store(record.ticks, Ordering::Relaxed);
        self.words[0].store(record.words[0], Ordering::Relaxed);
        self.words[1].store(record.words[1], Ordering::Relaxed);
        self.places[0].store(pointer(record.places[0]), Ordering::Relaxed);
        self.places[1].store(pointer(record.places[1]), Ordering::Relaxed);
    }

    fn read(&self) -> Record {
        let place = |which: usize| {
            // SAFETY: null, or from a reference that lives for ever.
            unsafe { self.places[which].load(Ordering::Relaxed).as_ref() }
        };
        Record {
            ticks: self.ticks.load(Ordering::Relaxed),
            words: [self.words[0].load(Ordering::Relaxed), self.words[1].load(Ordering::Relaxed)],
            places: [place(0), place(1)],
        }
    }
}

#[inline]
fn pointer(place: Option<Place>) -> *mut Location<'static> {
    place.map_or(ptr::null_mut(), |place| ptr::from_ref(place).cast_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event whose every word says its number.
    pub(super) fn numbered(number: u64) -> Record {
        let place = number.is_multiple_of(2).then(Location::caller);
        Record { ticks: number, words: [number * 3, number * 5], places: [place, place] }
    }

    /// Checks that what was read is a run of whole events.
    pub(super) fn check(kept: &Kept) {
        for (number, record) in (kept.first..).zip(&kept.records) {
            assert_eq!((record.ticks, record.words), (number, [number * 3, number * 5]));
            assert_eq!(record.places.map(|place| place.is_some()), [number.is_multiple_of(2); 2]);
        }
    }

    #[cfg(not(modelled))]
    #[test]
    fn the_last_events_are_kept_and_the_oldest_written_over() {
        let ring = EventRing::new(4);
        for number in 0..3 {
            ring.push(&numbered(number));
        }
        assert_eq!((ring.read(0).first, ring.read(0).records.len(), ring.read(2).records.len()), (0, 3, 1));
        for number in 3..10 {
            ring.push(&numbered(number));
        }
        let kept = ring.read(0);
        check(&kept);
        assert_eq!((kept.first, kept.records.len(), ring.written()), (6, 4, 10));
        assert_eq!(ring.read(99).records, []);
    }

    #[cfg(not(modelled))]
    #[test]
    fn readers_of_a_ring_that_is_written_all_the_time_see_whole_events_in_their_order() {
        use std::sync::atomic::AtomicBool;
        let events = if cfg!(miri) { 300 } else { 300_000 };
        let (ring, is_over) = (EventRing::new(64), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let readers = [(), ()].map(|()| {
                scope.spawn(|| {
                    let mut seen = 0;
                    // ORDERING: Acquire pairs with the Release below: what was written by then is seen.
                    while !is_over.load(Ordering::Acquire) {
                        let kept = ring.read(seen);
                        check(&kept);
                        assert!(kept.first >= seen);
                        seen = kept.first + kept.records.len() as u64;
                    }
                    ring.read(0)
                })
            });
            (0..events).for_each(|number| ring.push(&numbered(number)));
            // ORDERING: Release pairs with the Acquire above.
            is_over.store(true, Ordering::Release);
            for reader in readers {
                let kept = reader.join().unwrap();
                assert_eq!(kept.first + kept.records.len() as u64, events);
                check(&kept);
            }
        });
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::tests::{check, numbered};
    use super::*;
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// A writer that laps a reader: only whole events are kept, in their order. Fails unless some were thrown away for having been
    /// written over meanwhile. One slot, since each of its words has a value to choose.
    #[test]
    fn loom_event_ring_keeps_nothing_torn() {
        let seen: &'static Mutex<HashSet<(u64, usize)>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let ring = Arc::new(EventRing::new(1));
            ring.push(&numbered(0));
            let writer = {
                let ring = ring.clone();
                loom::thread::spawn(move || ring.push(&numbered(1)))
            };
            let kept = ring.read(0);
            check(&kept);
            seen.lock().unwrap().insert((kept.first, kept.records.len()));
            writer.join().unwrap();
            let kept = ring.read(0);
            check(&kept);
            assert_eq!((kept.first, kept.records.len()), (1, 1));
        });
        let seen = seen.lock().unwrap();
        assert!(seen.contains(&(0, 1)) && seen.contains(&(1, 0)), "the model saw only {seen:?}");
    }
}
