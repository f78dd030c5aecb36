//! Traces: what every worker did, moment by moment, as a file for a viewer.
//!
//! The scheduler records events while somebody wants them (`sched/events`). A [`FlightRecorder`] is one who does; a [`Trace`] is what the
//! rings held at a moment.
//!
//! - [`track`]: the events of one worker or thread, with times in nanoseconds
//! - [`timeline`]: from events to slices: who ran from when to when, and why it stopped
//! - [`flows`]: from wakes and spawns to arrows between slices
//! - [`chrome`]: all of that as JSON; [`file`](mod@file): and into a file

mod chrome;
mod file;
mod flows;
mod timeline;
mod track;

use crate::prim::clock::Moment;
use crate::prim::id::FiberId;
use crate::prim::say::say;
use crate::prim::ticks::Calibration;
use crate::sched::events::Position;
use crate::sched::shared::Shared;
use crate::sched::worker;
use crate::spawn::Handle;
use crate::time;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use track::{FromRing, Present, Track};

/// Traces the caller's runtime for so long. The caller waits meanwhile: a fiber parks.
///
/// A runtime that stops meanwhile ends the trace early. Outside of a runtime there is nothing to see, and the trace is empty, at once; to
/// trace from there, use [`FlightRecorder::start`].
///
/// ```
/// use std::time::Duration;
/// sisal::run(|| {
///     let busy = sisal::Builder::new().name("busy").spawn(|| {
///         while sisal::sleep(Duration::from_micros(50)).is_ok() {}
///     });
///     let trace = sisal::inspect::trace(Duration::from_millis(5));
///     busy.cancel();
///     assert!(trace.to_json().contains("\"busy\""));
/// });
/// ```
#[track_caller]
pub fn trace(duration: Duration) -> Trace {
    let Some(recorder) = flight_recorder() else { return Trace::empty() };
    // Cancelled, it is as long as it got.
    let _ = time::sleep(duration);
    recorder.stop()
}

/// Starts a [`FlightRecorder`] for the caller's runtime; none outside of one.
///
/// ```
/// assert!(sisal::inspect::flight_recorder().is_none());
/// sisal::run(|| assert!(sisal::inspect::flight_recorder().is_some()));
/// ```
pub fn flight_recorder() -> Option<FlightRecorder> {
    Handle::current().map(|handle| FlightRecorder::start(&handle))
}

/// What is recorded of a runtime at this moment, by whatever flight recorder or setting, since the first of those that are on now began; none if
/// nobody records anything.
///
/// ```
/// let runtime = sisal::Runtime::new().unwrap();
/// assert!(sisal::inspect::recorded(runtime.handle()).is_none());
/// let _recorder = sisal::inspect::FlightRecorder::start(runtime.handle());
/// assert!(sisal::inspect::recorded(runtime.handle()).is_some());
/// ```
pub fn recorded(handle: &Handle) -> Option<Trace> {
    let shared = handle.shared();
    shared.events.beginning().map(|beginning| Trace::take_kept(shared, &beginning))
}

/// Keeps the last events of a runtime, to be looked at when something has happened.
///
/// It is made to be left on: a worker keeps its last 65,536 events, in 2.6 MB, and there is a bound to how many it records in a time. For that
/// it leaves out the details of storms: if turns are very short, again and again, then only a part of them is recorded one by one,
/// and of the rest how many they were. There is no such bound for what threads outside of the runtime do, nor for keeping the names of fibers.
///
/// A worker begins to record when it next looks around, which it does from time to time between turns. Several recorders may
/// be on at once. Dropping one stops it. When none is left, names are forgotten; the memory for events stays with the runtime.
///
/// ```
/// sisal::run(|| {
///     let recorder = sisal::inspect::flight_recorder().unwrap();
///     sisal::spawn(|| ()).join().unwrap();
///     // Something strange has happened: what came before it?
///     let trace = recorder.snapshot();
///     assert!(trace.events() > 0);
///     // trace.save("strange.json")?;
/// });
/// ```
#[must_use = "dropping a recorder stops it"]
pub struct FlightRecorder {
    shared: Arc<Shared>,
    since: Position,
    whole: bool,
}

impl FlightRecorder {
    /// Starts one for the runtime of this handle, from anywhere.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let recorder = sisal::inspect::FlightRecorder::start(runtime.handle());
    /// runtime.spawn(|| ()).join().unwrap();
    /// let trace = recorder.stop();
    /// assert!(trace.to_json().contains("spawn"));
    /// ```
    pub fn start(handle: &Handle) -> FlightRecorder {
        FlightRecorder::begin(handle.shared(), false)
    }

    /// As [`start`](Self::start), for all events, storms included: that slows short turns down. While it is on, all
    /// recorders of the runtime get all.
    ///
    /// ```
    /// let runtime = sisal::Runtime::new().unwrap();
    /// let recorder = sisal::inspect::FlightRecorder::start_unabridged(runtime.handle());
    /// assert_eq!(recorder.stop().unrecorded_turns(), 0);
    /// ```
    pub fn start_unabridged(handle: &Handle) -> FlightRecorder {
        FlightRecorder::begin(handle.shared(), true)
    }

    fn begin(shared: &Arc<Shared>, whole: bool) -> FlightRecorder {
        let since = shared.events.position();
        shared.events.want(whole);
        worker::with_current(|worker| {
            if let Some(worker) = worker.filter(|worker| Arc::ptr_eq(worker.shared(), shared)) {
                worker.heed_tracers_now();
            }
        });
        FlightRecorder { shared: Arc::clone(shared), since, whole }
    }

    /// What it holds now. It goes on.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let recorder = sisal::inspect::flight_recorder().unwrap();
    ///     let (before, after) = (recorder.snapshot(), recorder.snapshot());
    ///     assert!(before.duration() <= after.duration());
    /// });
    /// ```
    pub fn snapshot(&self) -> Trace {
        Trace::take(&self.shared, &self.since)
    }

    /// What it holds now. It stops.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let trace = sisal::inspect::flight_recorder().unwrap().stop();
    ///     assert_eq!(trace.lost(), 0);
    /// });
    /// ```
    pub fn stop(self) -> Trace {
        self.snapshot()
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        self.shared.events.want_no_more(self.whole);
    }
}

impl fmt::Debug for FlightRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightRecorder").field("runtime", &self.shared.config.name).finish_non_exhaustive()
    }
}

/// What the workers of a runtime did, moment by moment.
///
/// It is written as the JSON of Chrome's trace viewer, which <https://ui.perfetto.dev> and `chrome://tracing` open. There is one track for
/// each worker and for each thread outside that spawned or woke a fiber. On it stand:
/// - a slice for each turn of a fiber, by its name, or `#17 src/main.rs:7` with its number and where it was spawned; its arguments say
///   why it stopped, on what it waits, and where in the source
/// - the worker's sleep, and storms of turns that were not recorded one by one
/// - arrows from whoever woke a fiber to its next turn, and from whoever spawned it to its first
/// - marks for spawns, for fibers taken from another worker, and for what came from outside
/// - how many workers were busy
///
/// ```
/// sisal::run(|| {
///     let recorder = sisal::inspect::flight_recorder().unwrap();
///     sisal::Builder::new().name("parser").spawn(|| ()).join().unwrap();
///     let trace: sisal::inspect::Trace = recorder.stop();
///     assert!(trace.to_json().contains("traceEvents"));
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    runtime: String,
    /// How long, in nanoseconds.
    length: u64,
    tracks: Vec<Track>,
    names: HashMap<FiberId, Box<str>>,
}

impl Trace {
    fn empty() -> Trace {
        Trace { runtime: "sisal".to_owned(), length: 0, tracks: Vec::new(), names: HashMap::new() }
    }

    /// What happened since then.
    fn take(shared: &Shared, since: &Position) -> Trace {
        Trace::of_rings(shared, track::read(shared, &since.written), Calibration::now(), since.moment)
    }

    /// As [`take`](Self::take); but where events have been written over it begins with the first that has not.
    fn take_kept(shared: &Shared, since: &Position) -> Trace {
        let rings = track::read(shared, &since.written);
        let calibration = Calibration::now();
        let first = rings.iter().filter_map(|ring| ring.events.first()).map(|event| event.ticks).min();
        let begin = match first {
            Some(ticks) if rings.iter().any(|ring| ring.lost > 0) => calibration.moment(ticks),
            _ => since.moment,
        };
        Trace::of_rings(shared, rings, calibration, begin)
    }

    fn of_rings(shared: &Shared, rings: Vec<FromRing>, calibration: Calibration, begin: Moment) -> Trace {
        let end = Moment::now();
        let length = end.0.saturating_sub(begin.0);
        let nanoseconds = |ticks| calibration.moment(ticks).0.saturating_sub(begin.0).min(length);
        let mut tracks = Vec::new();
        for ring in rings {
            ring.into_tracks(shared, &nanoseconds, &mut tracks);
        }
        let mut names = shared.events.names();
        for track in &tracks {
            if let Present::Running(fiber) = &track.present {
                names.extend(fiber.name().map(|name| (fiber.id(), name.into())));
            }
        }
        Trace { runtime: shared.config.name.clone(), length, tracks, names }
    }

    /// How long it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// let trace = sisal::run(|| sisal::inspect::trace(Duration::from_millis(2)));
    /// assert!(trace.duration() >= Duration::from_millis(2));
    /// ```
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    /// How many events there are.
    ///
    /// ```
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// assert!(trace.events() > 0);
    /// ```
    pub fn events(&self) -> u64 {
        self.tracks.iter().map(|track| track.events.len() as u64).sum()
    }

    /// How many events there were besides that have been written over by later ones: they lie before all others of their worker.
    ///
    /// ```
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// assert_eq!(trace.lost(), 0);
    /// ```
    pub fn lost(&self) -> u64 {
        self.tracks.iter().map(|track| track.lost).sum()
    }

    /// How many turns of fibers were not recorded one by one, since they came too fast.
    ///
    /// ```
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// assert_eq!(trace.unrecorded_turns(), 0);
    /// ```
    pub fn unrecorded_turns(&self) -> u64 {
        self.tracks.iter().map(Track::unrecorded_turns).sum()
    }

    /// As JSON in Chrome's trace event format.
    ///
    /// ```
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// assert!(trace.to_json().starts_with("{\"displayTimeUnit\""));
    /// ```
    pub fn to_json(&self) -> String {
        let mut json = Vec::new();
        let written = self.write_to(&mut json);
        debug_assert!(written.is_ok(), "INVARIANT: memory takes everything");
        String::from_utf8(json).unwrap_or_else(|_| unreachable!("INVARIANT: made of text"))
    }

    /// Writes [`to_json`](Self::to_json) without holding all of it. It is written in small pieces: give it something with a buffer.
    ///
    /// # Errors
    /// What the writer said.
    ///
    /// ```
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// let mut json = Vec::new();
    /// trace.write_to(&mut json)?;
    /// assert_eq!(json, trace.to_json().into_bytes());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        chrome::write(self, &mut writer)
    }

    /// Writes it to a file, whole or not at all: what was there before stays until all is written.
    ///
    /// # Errors
    /// What the system said.
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("saved-{}.json", std::process::id()));
    /// let trace = sisal::run(|| sisal::inspect::trace(std::time::Duration::from_millis(1)));
    /// trace.save(&file)?;
    /// assert_eq!(std::fs::read_to_string(&file)?, trace.to_json());
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        file::replace(path.as_ref(), |writer| self.write_to(writer))
    }
}

/// Begins to record a runtime, to its end: before its first worker starts.
pub(crate) fn record_from_the_start(shared: &Shared) {
    shared.events.want(false);
}

/// A runtime has ended, or the process is about to: writes what it did to the file, if its settings name one, or says why not.
pub(crate) fn write_at_the_end(shared: &Shared) {
    let (Some(path), Some(beginning)) = (&shared.config.trace, shared.events.beginning()) else { return };
    let trace = Trace::take_kept(shared, &beginning);
    if let Err(error) = trace.save(path) {
        say(format_args!("sisal: the trace could not be written to {}: {error}\n", path.display()));
    }
}
