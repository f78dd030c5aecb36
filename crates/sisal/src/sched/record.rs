//! What a worker records of itself while somebody traces.
//!
//! # When it does
//! On the way of every switch, spawn and wake stands one look at `recording`, a byte that is the worker's own; the rest is cold. Nobody
//! else touches that byte: the worker sees to it itself whenever it looks at everything (`search`), and when it lies down. So it hears of a
//! trace at its next such look; as long as one fiber runs it does not look. It then says who runs, so that a trace begins with that.
//!
//! # How it stays cheap
//! An event is not free, and turns may be very short. So there is a credit of [`MOST_CREDIT`] events, which grows
//! with time. When it is used up, turns are too short to be worth a look each: the worker notes a gap and clears its byte, and turns
//! then cost what they cost without a trace. When credit for [some](LEAST_CREDIT) has grown, it notes how many turns it has missed,
//! and records again. So there is a bound to how many events are recorded in a time, whatever fibers do; and a storm of short turns does not push all
//! that came before it out of the ring at once. Falling asleep, waking and the ends of gaps are always noted: they are rare. What threads outside do
//! is always recorded, too, and names are kept under a lock, whatever the credit.
//!
//! Who wants everything, whatever it costs, gets it.

use super::events::{Event, Kind};
use super::worker::Worker;
use crate::fiber::current;
use crate::fiber::header::FiberRef;
use crate::prim::clock::Moment;
use crate::prim::reason::Reason;
use std::cell::Cell;

/// How long credit for one event takes to grow, in nanoseconds. `examples/trace_cost.rs` shows what becomes of it, for one worker and fibers
/// without names.
const EVENT_EVERY: u64 = 4_000;

/// So many events may follow each other without a gap, whatever the rate: an eighth of the ring.
const MOST_CREDIT: u64 = 8192;

/// What those have who record everything.
const WITHOUT_END: u64 = u64::MAX;

/// A gap ends when there is credit for so many, so that gaps are not noted more often than turns.
const LEAST_CREDIT: u64 = 64;

/// How many of the names that were last kept a worker remembers.
const REMEMBERED_NAMES: usize = 64;

/// See the [module](self).
pub(super) struct Recorder {
    /// Whether it takes part in a trace, gaps included.
    is_tracing: Cell<bool>,
    credit: Cell<u64>,
    /// Until when the credit has been counted.
    credited: Cell<Moment>,
    /// The turn with which the gap began that it is in.
    gap: Cell<Option<u64>>,
    /// The time of the last event.
    last: Cell<u64>,
    /// Numbers of fibers whose names need not be kept again, each in the place that it falls into, plus one.
    named: [Cell<u64>; REMEMBERED_NAMES],
    names_turnover: Cell<u32>,
}

impl Recorder {
    pub(super) fn new() -> Recorder {
        Recorder {
            is_tracing: Cell::new(false),
            credit: Cell::new(0),
            credited: Cell::new(Moment(0)),
            gap: Cell::new(None),
            last: Cell::new(0),
            named: [const { Cell::new(0) }; REMEMBERED_NAMES],
            names_turnover: Cell::new(0),
        }
    }

    /// The credit grows with time.
    fn earn(&self, now: Moment, most: u64) {
        let earned = now.0.saturating_sub(self.credited.get().0) / EVENT_EVERY;
        self.credited.set(Moment(self.credited.get().0 + earned * EVENT_EVERY));
        self.credit.set(if most == WITHOUT_END { most } else { self.credit.get().saturating_add(earned).min(most) });
    }
}

/// Beginning and ending.
impl Worker {
    /// Sees whether somebody traces. `now` is the clock as it was last read.
    #[inline]
    pub(super) fn heed_tracers(&self, now: Moment) {
        if self.shared.events.are_wanted() || self.recorder.is_tracing.get() {
            self.follow_tracers(now);
        }
    }

    #[cold]
    fn follow_tracers(&self, now: Moment) {
        let (events, recorder) = (&self.shared.events, &self.recorder);
        if !events.are_wanted() {
            recorder.is_tracing.set(false);
            recorder.gap.set(None);
            return self.recording.set(false);
        }
        if !recorder.is_tracing.replace(true) {
            recorder.credit.set(self.most_credit());
            recorder.credited.set(now);
            recorder.named.iter().for_each(|named| named.set(0));
            self.recording.set(true);
            return self.record_present();
        }
        recorder.earn(now, self.most_credit());
        if recorder.names_turnover.replace(events.names_turnover()) != events.names_turnover() {
            recorder.named.iter().for_each(|named| named.set(0));
        }
        if recorder.credit.get() >= LEAST_CREDIT && self.end_gap() {
            self.record_present();
        }
    }

    fn most_credit(&self) -> u64 {
        if self.shared.events.are_wanted_whole() { WITHOUT_END } else { MOST_CREDIT }
    }

    /// Begins at once, if somebody traces: for the one who does.
    pub(crate) fn heed_tracers_now(&self) {
        self.heed_tracers(self.read_clock());
    }

    /// Says who runs, if it is not known. A fiber that is about to leave has written down why, and is not told of: its turn is over.
    fn record_present(&self) {
        let fiber = current::fiber();
        if let Some(fiber) = fiber.filter(|fiber| fiber.wait.read().is_none()) {
            self.record_run(Kind::Resume, None, fiber);
        }
    }

    /// True if there was a gap.
    fn end_gap(&self) -> bool {
        let Some(since) = self.recorder.gap.take() else { return false };
        let turns = self.tick.get().wrapping_sub(since);
        self.push(Event::now(Kind::GapOver).with_object(turns));
        self.recording.set(true);
        true
    }

    /// Ends a gap, whatever the credit, since something comes that is seldom: true if a trace goes on.
    fn is_tracing(&self) -> bool {
        let is_tracing = self.recorder.is_tracing.get();
        if is_tracing {
            self.end_gap();
        }
        is_tracing
    }
}

/// Recording. All of it is called only while the worker is `recording`, but for what says otherwise.
impl Worker {
    /// The worker goes from the fiber that is still the current one, if any, to another, or to none.
    #[cold]
    #[inline(never)]
    pub(super) fn record_switch(&self, to: Option<FiberRef>) {
        let from = current::fiber();
        match (from, to) {
            (_, Some(to)) => self.record_run(if to.is_homed.get() { Kind::Resume } else { Kind::Start }, from, to),
            (Some(from), None) => {
                let left = why_left(Event::now(Kind::Leave), from);
                let kind = if left.reason == Reason::None { Kind::End } else { Kind::Leave };
                self.record(Event { kind, ..left });
            }
            (None, None) => {}
        }
    }

    #[inline]
    fn record_run(&self, kind: Kind, from: Option<FiberRef>, to: FiberRef) {
        if to.name.is_some() {
            self.keep_name(to);
        }
        let event = Event::now(kind).about(to);
        self.record(match from {
            Some(from) => why_left(event, from),
            None => event,
        });
    }

    /// The fiber that ran has ended, and may be gone.
    #[cold]
    pub(super) fn record_end(&self) {
        self.record(Event::now(Kind::End));
    }

    /// A fiber is about to be queued for the first time.
    #[cold]
    #[inline(never)]
    fn record_spawn(&self, fiber: FiberRef) {
        if fiber.name.is_some() {
            self.keep_name(fiber);
        }
        self.record(Event::now(Kind::Spawn).about(fiber));
    }

    /// As [`record_spawn`](Self::record_spawn), if this worker is recording.
    #[inline]
    pub(crate) fn note_spawn(&self, fiber: FiberRef) {
        if self.recording.get() {
            self.record_spawn(fiber);
        }
    }

    /// A claimed fiber is about to be queued.
    #[cold]
    #[inline(never)]
    pub(super) fn record_wake(&self, fiber: FiberRef) {
        self.record(Event::now(Kind::Wake).about(fiber));
    }

    #[cold]
    pub(super) fn record_steal(&self, first: FiberRef, victim: usize) {
        self.record(Event::now(Kind::Steal).about(first).with_object(victim as u64));
    }

    /// The driver has woken so many. Called always.
    #[inline]
    pub(super) fn note_heard(&self, count: u64) {
        if self.recording.get() && count > 0 {
            self.record(Event::now(Kind::Heard).with_object(count));
        }
    }

    /// The worker falls asleep, wakes, begins or goes. Called always.
    pub(super) fn note(&self, kind: Kind) {
        if self.is_tracing() {
            self.push(Event::now(kind));
        }
    }

    #[cold]
    fn record(&self, event: Event) {
        let recorder = &self.recorder;
        let credit = recorder.credit.get();
        if credit == 0 {
            recorder.gap.set(Some(self.tick.get()));
            self.recording.set(false);
            return self.push(Event { ticks: event.ticks, ..Event::now(Kind::Gap) });
        }
        recorder.credit.set(credit - 1);
        self.push(event);
    }

    /// Times of one worker don't go backwards, even if it changes its processor.
    #[inline]
    fn push(&self, event: Event) {
        let ticks = event.ticks.max(self.recorder.last.get());
        self.recorder.last.set(ticks);
        self.shared.events.ring_to_write(self.index).push(&Event { ticks, ..event }.to_record());
    }

    fn keep_name(&self, fiber: FiberRef) {
        let remembered = &self.recorder.named[fiber.id.0 as usize % REMEMBERED_NAMES];
        if remembered.replace(fiber.id.0 + 1) != fiber.id.0 + 1 {
            self.shared.events.note_name(fiber);
        }
    }
}

/// With the reason for which a fiber that has not gone yet is about to leave.
#[inline]
fn why_left(event: Event, fiber: FiberRef) -> Event {
    match fiber.wait.read() {
        Some(noted) => {
            let object = fiber.wait.object().map_or(0, |object| object.data.addr() as u64);
            Event { reason: noted.reason, object, place: Some(noted.place), ..event }
        }
        None => event,
    }
}
