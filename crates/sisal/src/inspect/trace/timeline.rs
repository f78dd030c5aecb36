//! From the events of a track to slices: who ran from when to when, and why it stopped.
//!
//! Slices of a track follow one another and never overlap, whatever is missing: a slice is opened by an event and closed by the next that says
//! otherwise. What was open when the trace began is known only from what closed it, and is left out; what is open at its end is
//! closed there. A wake or a spawn outside of any fiber's turn is the work of the scheduler, which gets a slice then, so that every arrow
//! begins in one.

use super::track::{Owner, Present, Track};
use crate::prim::id::FiberId;
use crate::prim::reason::{Place, Reason};
use crate::sched::events::{Event, Kind};

/// How long what a thread outside does is drawn, in nanoseconds: nobody has measured it.
const OUTSIDE_LENGTH: u64 = 1_000;

/// What a slice shows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The turn of a fiber that was spawned there.
    Fiber(FiberId, Option<Place>),
    /// The worker sleeps.
    Asleep,
    /// It fires timers, hears from outside, looks for work.
    Scheduler,
    /// So many turns, not recorded one by one.
    Unrecorded(u64),
    /// Something done by a thread outside.
    Outside(Kind),
}

/// Why a turn ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The trace ended before, or does not say.
    Unknown,
    Ended,
    /// It waits for this reason, on this object, at this place.
    Waits(Reason, u64, Option<Place>),
}

/// See the [module](self). From when to when, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) what: What,
    pub(super) then: Then,
}

/// All slices of a track, in their order.
pub(super) fn slices(track: &Track, length: u64) -> Vec<Slice> {
    match track.owner {
        Owner::Worker(_) => slices_of_worker(track, length),
        Owner::Thread(_) => slices_of_thread(&track.events, length),
    }
}

fn slices_of_thread(events: &[Event], length: u64) -> Vec<Slice> {
    let next = events.iter().skip(1).map(|event| event.ticks).chain([length]);
    let slice = |(event, next): (&Event, u64)| Slice {
        start: event.ticks,
        end: next.min(event.ticks + OUTSIDE_LENGTH),
        what: What::Outside(event.kind),
        then: Then::Unknown,
    };
    events.iter().zip(next).map(slice).collect()
}

fn slices_of_worker(track: &Track, length: u64) -> Vec<Slice> {
    if track.events.is_empty() {
        let what = match &track.present {
            Present::Unknown => return Vec::new(),
            Present::Asleep => What::Asleep,
            Present::Running(fiber) => What::Fiber(fiber.id(), Some(fiber.spawned_at())),
        };
        return vec![Slice { start: 0, end: length, what, then: Then::Unknown }];
    }
    let mut pen = Pen { slices: Vec::new(), open: None };
    for (number, event) in track.events.iter().enumerate() {
        // A worker that slept when the trace began has recorded nothing before.
        let was_asleep = number == 0 && event.kind == Kind::Awake && track.lost == 0;
        if was_asleep {
            pen.open(0, What::Asleep);
        }
        pen.draw(event);
    }
    pen.close(length, Then::Unknown);
    pen.slices
}

/// What draws the slices of a worker.
struct Pen {
    slices: Vec<Slice>,
    open: Option<(u64, What)>,
}

impl Pen {
    fn draw(&mut self, event: &Event) {
        let now = event.ticks;
        match event.kind {
            Kind::Start | Kind::Resume => {
                self.close(now, left(event));
                self.open(now, What::Fiber(event.fiber, event.spawned_at));
            }
            Kind::Leave => self.close(now, left(event)),
            Kind::End => self.close(now, Then::Ended),
            Kind::Sleep => self.change(now, What::Asleep),
            Kind::Gap => self.change(now, What::Unrecorded(0)),
            Kind::GapOver => {
                if let Some((_, What::Unrecorded(turns))) = &mut self.open {
                    *turns = event.object;
                }
                self.close(now, Then::Unknown);
            }
            Kind::Awake | Kind::Begin | Kind::Gone => self.close(now, Then::Unknown),
            Kind::Spawn | Kind::Wake | Kind::Steal | Kind::Heard => {
                // In the middle of a sleep that means that it has woken.
                if matches!(self.open, None | Some((_, What::Asleep))) {
                    self.change(now, What::Scheduler);
                }
            }
        }
    }

    fn open(&mut self, now: u64, what: What) {
        self.open = Some((now, what));
    }

    fn close(&mut self, now: u64, then: Then) {
        if let Some((start, what)) = self.open.take() {
            let is_fiber = matches!(what, What::Fiber(..));
            self.slices.push(Slice { start, end: now, what, then: if is_fiber { then } else { Then::Unknown } });
        }
    }

    fn change(&mut self, now: u64, what: What) {
        self.close(now, Then::Unknown);
        self.open(now, what);
    }
}

/// Why the fiber has left that ran before this event.
fn left(event: &Event) -> Then {
    match event.reason {
        Reason::None => Then::Unknown,
        reason => Then::Waits(reason, event.object, event.place),
    }
}
