//! A trace as JSON, in the trace event format of Chrome: an object with a list of events, each with a phase (`ph`), a time in microseconds
//! (`ts`), a process and a thread.
//!
//! `M` names the process and its tracks, `X` is a slice with its duration, `i` a mark, `s` and `f` are the ends of an arrow (each is bound
//! to the slice around it), `C` is a counter.

use super::Trace;
use super::flows::{self, Flow};
use super::timeline::{self, Slice, Then, What};
use super::track::{Owner, Track};
use crate::inspect::json::Text;
use crate::prim::id::FiberId;
use crate::prim::reason::Place;
use crate::sched::events::{Event, Kind};
use std::fmt::{self, Display};
use std::io::{self, Write};

/// So many values at most says the counter of busy workers, and none for a shorter time than this, in nanoseconds.
const MOST_SAMPLES: u64 = 1_000;
const SHORTEST_SAMPLE: u64 = 10_000;

/// What is written for the same thread stands on the same track. Numbers of workers and of threads are both small.
const FIRST_THREAD: u64 = 1_000_000;

/// Writes all of it.
pub(super) fn write(trace: &Trace, writer: &mut dyn Write) -> io::Result<()> {
    let mut out = Out { trace, writer, pid: std::process::id(), is_first: true };
    out.raw("{\"displayTimeUnit\":\"ns\",\"otherData\":{")?;
    write!(out.writer, "\"producer\":\"sisal\",\"runtime\":{},", Text(&trace.runtime))?;
    write!(out.writer, "\"duration_ns\":\"{}\",", trace.length)?;
    write!(out.writer, "\"events\":\"{}\",\"lost_events\":\"{}\",", trace.events(), trace.lost())?;
    writeln!(out.writer, "\"unrecorded_turns\":\"{}\"}},\"traceEvents\":[", trace.unrecorded_turns())?;
    out.names()?;
    let slices: Vec<Vec<Slice>> = trace.tracks.iter().map(|track| timeline::slices(track, trace.length)).collect();
    for (track, slices) in trace.tracks.iter().zip(&slices) {
        out.track(track, slices)?;
    }
    for (number, flow) in flows::flows(&trace.tracks).iter().enumerate() {
        out.flow(number, flow)?;
    }
    out.busy(&slices)?;
    out.raw("\n]}\n")
}

struct Out<'a> {
    trace: &'a Trace,
    writer: &'a mut dyn Write,
    pid: u32,
    is_first: bool,
}

impl Out<'_> {
    fn raw(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(text.as_bytes())
    }

    /// One event: what all have, then what `rest` holds, which begins with a comma.
    fn event(
        &mut self,
        phase: &str,
        tid: u64,
        at: u64,
        name: &dyn Display,
        rest: fmt::Arguments<'_>,
    ) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "" } else { ",\n" };
        let pid = self.pid;
        let (name, at) = (Text(name), Microseconds(at));
        write!(
            self.writer,
            "{separator}{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at},\"name\":{name}{rest}}}"
        )
    }

    /// The process and its tracks, the workers first.
    fn names(&mut self) -> io::Result<()> {
        let trace = self.trace;
        self.event("M", 0, 0, &"process_name", format_args!(",\"args\":{{\"name\":{}}}", Text(&trace.runtime)))?;
        for track in &trace.tracks {
            let (tid, name) = (tid(track.owner), Text(&track.name));
            self.event("M", tid, 0, &"thread_name", format_args!(",\"args\":{{\"name\":{name}}}"))?;
            self.event("M", tid, 0, &"thread_sort_index", format_args!(",\"args\":{{\"sort_index\":{tid}}}"))?;
        }
        Ok(())
    }

    /// Slices and marks of a track, in the order of their times.
    fn track(&mut self, track: &Track, slices: &[Slice]) -> io::Result<()> {
        let tid = tid(track.owner);
        if track.lost > 0 {
            let at = track.events.first().map_or(0, |event| event.ticks);
            let name = format!("{} earlier events were overwritten", track.lost);
            self.event("i", tid, at, &name, format_args!(",\"s\":\"t\",\"cat\":\"lost\""))?;
        }
        let mut slices = slices.iter().peekable();
        for event in &track.events {
            while let Some(slice) = slices.next_if(|slice| slice.start <= event.ticks) {
                self.slice(tid, slice)?;
            }
            self.mark(track.owner, tid, event)?;
        }
        slices.try_for_each(|slice| self.slice(tid, slice))
    }

    fn slice(&mut self, tid: u64, slice: &Slice) -> io::Result<()> {
        let trace = self.trace;
        let length = Microseconds(slice.end.saturating_sub(slice.start));
        match slice.what {
            What::Fiber(fiber, spawned_at) => {
                let (name, then) = (trace.name_of(fiber, spawned_at), Turn { fiber, spawned_at, then: slice.then });
                let rest = format_args!(",\"cat\":\"fiber\",\"dur\":{length},\"args\":{{{then}}}");
                self.event("X", tid, slice.start, &name, rest)
            }
            What::Unrecorded(turns) => {
                let name = format!("{turns} turns, not recorded one by one");
                let rest = format_args!(",\"cat\":\"gap\",\"dur\":{length},\"args\":{{\"turns\":{turns}}}");
                self.event("X", tid, slice.start, &name, rest)
            }
            What::Asleep | What::Scheduler | What::Outside(_) => {
                let name = match slice.what {
                    What::Asleep => "asleep",
                    What::Outside(Kind::Spawn) => "spawns",
                    What::Outside(_) => "wakes",
                    _ => "scheduler",
                };
                self.event("X", tid, slice.start, &name, format_args!(",\"cat\":\"worker\",\"dur\":{length}"))
            }
        }
    }

    /// Spawns, thefts, what came from outside, and workers that come and go.
    fn mark(&mut self, owner: Owner, tid: u64, event: &Event) -> io::Result<()> {
        let about = self.trace.name_of(event.fiber, event.spawned_at);
        let (category, name) = match event.kind {
            Kind::Spawn => ("spawn", format!("spawns {about}")),
            Kind::Steal => ("steal", format!("takes {about} from worker {}", event.object)),
            Kind::Heard => ("io", format!("hears of {} from outside", event.object)),
            Kind::Begin => ("worker", format!("{} begins", Whose(owner))),
            Kind::Gone => ("worker", format!("{} goes", Whose(owner))),
            _ => return Ok(()),
        };
        let fiber = matches!(event.kind, Kind::Spawn | Kind::Steal).then_some(event.fiber);
        let args = fiber.map(|fiber| format!(",\"args\":{{\"fiber\":{}}}", fiber.get())).unwrap_or_default();
        self.event("i", tid, event.ticks, &name, format_args!(",\"s\":\"t\",\"cat\":\"{category}\"{args}"))
    }

    fn flow(&mut self, number: usize, flow: &Flow) -> io::Result<()> {
        let name = if flow.kind == Kind::Spawn { "spawn" } else { "wake" };
        let tid_of = |track: usize| tid(self.trace.tracks[track].owner);
        let (from, to) = (tid_of(flow.from.track), tid_of(flow.to.track));
        self.event("s", from, flow.from.at, &name, format_args!(",\"cat\":\"{name}\",\"id\":{number}"))?;
        self.event("f", to, flow.to.at, &name, format_args!(",\"cat\":\"{name}\",\"id\":{number},\"bp\":\"e\""))
    }

    /// How many workers ran fibers, on average over short times.
    fn busy(&mut self, tracks: &[Vec<Slice>]) -> io::Result<()> {
        let length = self.trace.length;
        if length == 0 {
            return Ok(());
        }
        let step = (length / MOST_SAMPLES).max(SHORTEST_SAMPLE);
        let mut busy = vec![0u64; (length / step + 1) as usize];
        let turns = tracks.iter().flatten().filter(|slice| matches!(slice.what, What::Fiber(..) | What::Unrecorded(_)));
        for slice in turns {
            for sample in slice.start / step..=slice.end / step {
                let (start, end) = (sample * step, (sample + 1) * step);
                busy[sample as usize] += slice.end.min(end).saturating_sub(slice.start.max(start));
            }
        }
        for (sample, busy) in (0..).zip(busy) {
            let at = sample * step;
            let span = step.min(length - at).max(1);
            let rest = format_args!(",\"args\":{{\"busy\":{:.2}}}", busy as f64 / span as f64);
            self.event("C", 0, at, &"busy workers", rest)?;
        }
        Ok(())
    }
}

impl Trace {
    fn name_of(&self, fiber: FiberId, spawned_at: Option<Place>) -> String {
        match (self.names.get(&fiber), spawned_at) {
            (Some(name), _) => name.to_string(),
            (None, Some(place)) => format!("{fiber} {}:{}", place.file(), place.line()),
            (None, None) => fiber.to_string(),
        }
    }
}

fn tid(owner: Owner) -> u64 {
    match owner {
        // Viewers think something of thread 0.
        Owner::Worker(worker) => worker as u64 + 1,
        Owner::Thread(thread) => FIRST_THREAD + thread,
    }
}

struct Whose(Owner);

impl Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Owner::Worker(worker) => write!(f, "worker {worker}"),
            Owner::Thread(thread) => write!(f, "thread {thread}"),
        }
    }
}

/// What there is to know of a turn.
struct Turn {
    fiber: FiberId,
    spawned_at: Option<Place>,
    then: Then,
}

impl Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"fiber\":{}", self.fiber.get())?;
        if let Some(place) = self.spawned_at {
            write!(f, ",\"spawned_at\":{}", Text(place))?;
        }
        match self.then {
            Then::Unknown => Ok(()),
            Then::Ended => f.write_str(",\"then\":\"ended\""),
            Then::Waits(reason, object, place) => {
                write!(f, ",\"then\":{}", Text(reason))?;
                if object != 0 {
                    write!(f, ",\"object\":\"{object:#x}\"")?;
                }
                place.map_or(Ok(()), |place| write!(f, ",\"at\":{}", Text(place)))
            }
        }
    }
}

/// Nanoseconds, written as microseconds.
struct Microseconds(u64);

impl Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
