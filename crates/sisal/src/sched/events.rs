//! What is recorded while somebody traces a runtime: an event for each thing that the scheduler does.
//!
//! Every worker has a ring of its own events ([`event_ring`](crate::prim::event_ring)), which it makes when it records its first; threads
//! outside of the runtime share one, under a lock. Events carry numbers of fibers and places in the source. Names, which have no fixed
//! size, stand in tables beside them ([`names`](super::names)), for each named fiber that has run or was spawned meanwhile. When nobody traces any
//! more, the names are forgotten; the rings stay, for the next who does.
//!
//! How a worker decides what to record is written in [`record`](super::record). Who reads this is not known here.

use super::names::Names;
use crate::fiber::header::FiberRef;
use crate::prim::atomic::{AtomicU32, Ordering};
use crate::prim::clock::Moment;
use crate::prim::event_ring::{EventRing, Record};
use crate::prim::id::FiberId;
use crate::prim::reason::{Place, Reason};
use crate::prim::{thread_number, ticks};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How many events of a worker are kept: 2.6 MB.
pub(crate) const RING_SIZE: usize = 1 << 16;

/// How many events from outside are kept.
const OUTSIDE_RING_SIZE: usize = 1 << 14;

/// How many names of fibers are kept, at least: one for each event of one worker.
const ENOUGH_NAMES: usize = RING_SIZE;

/// What has happened.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A fiber runs for the first time. Whoever ran before has left for the event's reason, object and place.
    Start = 0,
    /// A fiber goes on. As for `Start`.
    Resume,
    /// The running fiber has left, for the event's reason, and nobody runs.
    Leave,
    /// The running fiber has ended, and nobody runs.
    End,
    /// A fiber was spawned.
    Spawn,
    /// A fiber that waited was woken.
    Wake,
    /// Fresh fibers were taken from another worker: the first of them, and the worker as the object.
    Steal,
    /// The worker falls asleep.
    Sleep,
    /// It has woken.
    Awake,
    /// It has heard of so many things from outside, as the object.
    Heard,
    /// The worker's thread begins.
    Begin,
    /// It goes.
    Gone,
    /// From now on turns are too short to be recorded.
    Gap,
    /// They are recorded again. The object says how many were not.
    GapOver,
}

impl Kind {
    /// In the order of their numbers.
    const ALL: [Kind; 14] = [
        Kind::Start,
        Kind::Resume,
        Kind::Leave,
        Kind::End,
        Kind::Spawn,
        Kind::Wake,
        Kind::Steal,
        Kind::Sleep,
        Kind::Awake,
        Kind::Heard,
        Kind::Begin,
        Kind::Gone,
        Kind::Gap,
        Kind::GapOver,
    ];
}

/// One event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) ticks: u64,
    pub(crate) kind: Kind,
    /// Why the fiber that ran before has left.
    pub(crate) reason: Reason,
    pub(crate) fiber: FiberId,
    /// What the fiber that ran before waits on; or as the kind says.
    pub(crate) object: u64,
    /// Where `fiber` was spawned.
    pub(crate) spawned_at: Option<Place>,
    /// Where in the source the fiber that ran before has left.
    pub(crate) place: Option<Place>,
}

impl Event {
    /// Of this kind, now, with nothing else to say.
    #[inline]
    pub(crate) fn now(kind: Kind) -> Event {
        Event {
            ticks: ticks::now(),
            kind,
            reason: Reason::None,
            fiber: FiberId(0),
            object: 0,
            spawned_at: None,
            place: None,
        }
    }

    /// About this fiber.
    #[inline]
    pub(crate) fn about(self, fiber: FiberRef) -> Event {
        Event { fiber: fiber.id, spawned_at: Some(fiber.spawned_at), ..self }
    }

    #[inline]
    pub(crate) fn with_object(self, object: u64) -> Event {
        Event { object, ..self }
    }

    /// As it lies in a ring. Of a fiber's number the upper 16 bits are lost, which nobody has seen set.
    #[inline]
    pub(crate) fn to_record(self) -> Record {
        let first = self.kind as u64 | (self.reason as u64) << 8 | self.fiber.0 << 16;
        Record { ticks: self.ticks, words: [first, self.object], places: [self.spawned_at, self.place] }
    }

    pub(crate) fn of_record(record: &Record) -> Option<Event> {
        let first = record.words[0];
        Some(Event {
            ticks: record.ticks,
            kind: *Kind::ALL.get(usize::from(first as u8))?,
            reason: Reason::from_u8((first >> 8) as u8),
            fiber: FiberId(first >> 16),
            object: record.words[1],
            spawned_at: record.places[0],
            place: record.places[1],
        })
    }
}

/// What a runtime has for those who trace it.
pub(crate) struct Events {
    /// How many do.
    wanted: AtomicU32,
    /// How many of these want all events, whatever it costs.
    whole: AtomicU32,
    /// Where the rings were when the first of them began. Whoever changes `wanted` holds the lock.
    beginning: Mutex<Position>,
    rings: Box<[OnceLock<EventRing>]>,
    /// The lock is for writing.
    outside: OnceLock<(Mutex<()>, EventRing)>,
    names: Mutex<Names<FiberId>>,
    /// Changes when names have been forgotten.
    names_turnover: AtomicU32,
    /// The names of threads outside, by their numbers: at least of those that are in the ring, which each enter when they record.
    threads: Mutex<Names<u64>>,
}

/// From where on events are of interest.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    pub(crate) moment: Moment,
    /// How many events each ring had had, in the order of [`rings`](Events::rings).
    pub(crate) written: Vec<u64>,
}

impl Events {
    pub(crate) fn new(most_workers: usize) -> Events {
        Events {
            wanted: AtomicU32::new(0),
            whole: AtomicU32::new(0),
            beginning: Mutex::new(Position { moment: Moment(0), written: Vec::new() }),
            rings: (0..most_workers).map(|_| OnceLock::new()).collect(),
            outside: OnceLock::new(),
            names: Mutex::new(Names::new(ENOUGH_NAMES)),
            names_turnover: AtomicU32::new(0),
            threads: Mutex::new(Names::new(OUTSIDE_RING_SIZE)),
        }
    }

    /// Whether anybody traces.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        // ORDERING: Relaxed; whoever begins to trace gets what happens from about then on.
        self.wanted.load(Ordering::Relaxed) != 0
    }

    pub(super) fn are_wanted_whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed) != 0
    }

    /// One more traces; if `whole`, with all events, whatever it costs.
    pub(crate) fn want(&self, whole: bool) {
        ticks::begin_calibration();
        let mut beginning = locked(&self.beginning);
        if !self.are_wanted() {
            // What was recorded earlier is over, and nothing is known of the time between.
            *beginning = self.position();
        }
        self.whole.fetch_add(whole.into(), Ordering::Relaxed);
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// One who said [`want`](Self::want) does not any more.
    pub(crate) fn want_no_more(&self, whole: bool) {
        let _beginning = locked(&self.beginning);
        self.whole.fetch_sub(whole.into(), Ordering::Relaxed);
        if self.wanted.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.change_names(Names::clear);
            locked(&self.threads).clear();
        }
    }

    /// Where the rings are now.
    pub(crate) fn position(&self) -> Position {
        let written = self.rings().map(|ring| ring.map_or(0, EventRing::written)).collect();
        Position { moment: Moment::now(), written }
    }

    /// Where they were when somebody began to trace, of those who do now; none if nobody does.
    pub(crate) fn beginning(&self) -> Option<Position> {
        let beginning = locked(&self.beginning);
        self.are_wanted().then(|| beginning.clone())
    }

    /// The ring of a worker, made if need be. For that worker.
    #[inline]
    pub(super) fn ring_to_write(&self, worker: usize) -> &EventRing {
        self.rings[worker].get_or_init(|| EventRing::new(RING_SIZE))
    }

    /// The rings that there are: the workers', none for one that has recorded nothing yet, and last the outside's.
    pub(crate) fn rings(&self) -> impl Iterator<Item = Option<&EventRing>> {
        self.rings.iter().map(OnceLock::get).chain([self.outside.get().map(|(_, ring)| ring)])
    }

    /// Records what a thread outside of the runtime does to a fiber, if anybody wants to know. The fiber is not yet where others take it.
    #[inline]
    pub(super) fn note_outside(&self, kind: Kind, fiber: FiberRef) {
        if self.are_wanted() {
            self.record_outside(kind, fiber);
        }
    }

    #[cold]
    fn record_outside(&self, kind: Kind, fiber: FiberRef) {
        let thread = u64::from(thread_number::current());
        self.note_thread(thread);
        if kind == Kind::Spawn {
            self.note_name(fiber);
        }
        let (writing, ring) = self.outside.get_or_init(|| (Mutex::new(()), EventRing::new(OUTSIDE_RING_SIZE)));
        let _guard = locked(writing);
        // Under the lock, so that times don't go backwards in the ring.
        ring.push(&Event::now(kind).about(fiber).with_object(thread).to_record());
    }

    /// Keeps the name of a fiber, if it has one.
    pub(super) fn note_name(&self, fiber: FiberRef) {
        let Some(name) = &fiber.name else { return };
        self.change_names(|names| {
            // Who comes late must not leave anything: whoever cleared the names had said before that they are not wanted.
            if self.are_wanted() {
                names.keep(fiber.id, || name.clone());
            }
        });
    }

    fn note_thread(&self, number: u64) {
        let mut threads = locked(&self.threads);
        // As for the names of fibers.
        if self.are_wanted() {
            threads.keep(number, || {
                let thread = std::thread::current();
                thread.name().map_or_else(|| format!("{:?}", thread.id()).into(), Box::from)
            });
        }
    }

    fn change_names<T>(&self, change: impl FnOnce(&mut Names<FiberId>) -> T) -> T {
        let mut names = locked(&self.names);
        let changed = change(&mut names);
        self.names_turnover.store(names.turnover(), Ordering::Relaxed);
        changed
    }

    pub(super) fn names_turnover(&self) -> u32 {
        self.names_turnover.load(Ordering::Relaxed)
    }

    /// The names of fibers that are known.
    pub(crate) fn names(&self) -> HashMap<FiberId, Box<str>> {
        let read = self.change_names(Names::read);
        read.into_table()
    }

    /// The names of threads outside.
    pub(crate) fn thread_names(&self) -> HashMap<u64, Box<str>> {
        let read = locked(&self.threads).read();
        read.into_table()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn every_event_is_what_it_was_after_it_lay_in_a_ring() {
        for (number, &kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
            let event = Event {
                ticks: 7,
                kind,
                reason: Reason::Job,
                fiber: FiberId(1 << 40),
                object: u64::MAX,
                spawned_at: Some(Location::caller()),
                place: None,
            };
            assert_eq!(Event::of_record(&event.to_record()), Some(event));
        }
        let mut unknown = Event::now(Kind::End).to_record();
        unknown.words[0] = 255;
        assert_eq!(Event::of_record(&unknown), None);
    }
}
