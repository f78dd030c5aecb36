//! From wakes and spawns to arrows: each from whoever woke or spawned a fiber to the turn that came of it.

use super::track::Track;
use crate::prim::id::FiberId;
use crate::sched::events::Kind;
use std::collections::HashMap;

/// A point on a track.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Which of the trace's tracks.
    pub(super) track: usize,
    pub(super) at: u64,
}

/// See the [module](self).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    /// A wake or a spawn.
    pub(super) kind: Kind,
    pub(super) from: Point,
    /// Where the turn begins. Not before `from`.
    pub(super) to: Point,
}

/// All arrows of which both ends are in the trace.
pub(super) fn flows(tracks: &[Track]) -> Vec<Flow> {
    let mut points: Vec<(Point, Kind, FiberId)> = Vec::new();
    for (track, events) in tracks.iter().map(|track| &track.events).enumerate() {
        points.extend(events.iter().map(|event| (Point { track, at: event.ticks }, event.kind, event.fiber)));
    }
    // Causes before effects where they are at the same time; else as they stand in their tracks.
    points.sort_by_key(|(point, kind, _)| (point.at, !matches!(kind, Kind::Wake | Kind::Spawn)));
    let mut pending: HashMap<FiberId, (Point, Kind)> = HashMap::new();
    let mut last_gap = vec![0; tracks.len()];
    let mut flows = Vec::new();
    for (to, kind, fiber) in points {
        match kind {
            Kind::Wake | Kind::Spawn => _ = pending.insert(fiber, (to, kind)),
            Kind::GapOver => last_gap[to.track] = to.at,
            Kind::Start | Kind::Resume => {
                // What was woken before a gap may have had its turn in it.
                let cause =
                    pending.remove(&fiber).filter(|(from, _)| kind == Kind::Start || from.at >= last_gap[to.track]);
                flows.extend(cause.map(|(from, kind)| Flow { kind, from, to }));
            }
            _ => {}
        }
    }
    flows
}
