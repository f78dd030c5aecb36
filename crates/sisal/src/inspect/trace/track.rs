//! The events of one worker, or of one thread outside, with times in nanoseconds since the beginning of the trace.

use crate::fiber::info::Fiber;
use crate::sched::events::{Event, Kind};
use crate::sched::remote::Life;
use crate::sched::shared::Shared;

/// Whose events they are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Worker(usize),
    /// A thread outside, by its number.
    Thread(u64),
}

/// What a worker does at the moment, as far as can be seen from outside. It matters for one that has recorded nothing, because it has done
/// the same thing all the time.
#[derive(Clone, Debug)]
pub(super) enum Present {
    Unknown,
    Asleep,
    Running(Fiber),
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) owner: Owner,
    pub(super) name: String,
    /// In their order. The ticks are nanoseconds.
    pub(super) events: Vec<Event>,
    /// How many were written over.
    pub(super) lost: u64,
    pub(super) present: Present,
}

impl Track {
    pub(super) fn unrecorded_turns(&self) -> u64 {
        self.events.iter().filter(|event| event.kind == Kind::GapOver).map(|event| event.object).sum()
    }
}

/// What was read from a ring.
pub(super) struct FromRing {
    /// None for the ring of all threads outside.
    worker: Option<usize>,
    pub(super) events: Vec<Event>,
    pub(super) lost: u64,
    present: Present,
}

/// Reads all rings, each from a number on.
pub(super) fn read(shared: &Shared, since: &[u64]) -> Vec<FromRing> {
    let workers = shared.remotes.len();
    let rings = shared.events.rings().zip(since).enumerate();
    let read = rings.filter_map(|(index, (ring, &since))| {
        let worker = (index < workers).then_some(index);
        // Before the events: what they say is newer.
        let present = worker.map_or(Present::Unknown, |worker| Present::of(shared, worker));
        let is_there = worker.is_some_and(|worker| shared.remotes[worker].life() != Life::Absent);
        let (events, lost) = match ring {
            Some(ring) => {
                let kept = ring.read(since);
                (kept.records.iter().filter_map(Event::of_record).collect(), kept.first.saturating_sub(since))
            }
            None => (Vec::new(), 0),
        };
        (is_there || !events.is_empty()).then_some(FromRing { worker, events, lost, present })
    });
    read.collect()
}

impl Present {
    fn of(shared: &Shared, worker: usize) -> Present {
        if shared.idle.is_sleeping(worker) {
            return Present::Asleep;
        }
        shared.remotes[worker].presence.running().map_or(Present::Unknown, Present::Running)
    }
}

impl FromRing {
    /// One track for a worker, and one for each thread.
    pub(super) fn into_tracks(mut self, shared: &Shared, nanoseconds: &dyn Fn(u64) -> u64, tracks: &mut Vec<Track>) {
        straighten(&mut self.events, nanoseconds);
        if let Some(worker) = self.worker {
            tracks.push(Track {
                owner: Owner::Worker(worker),
                name: format!("worker {worker}"),
                events: self.events,
                lost: self.lost,
                present: self.present,
            });
            return;
        }
        let names = shared.events.thread_names();
        let mut lost = self.lost;
        let first = tracks.len();
        for event in self.events {
            let owner = Owner::Thread(event.object);
            let found = tracks[first..].iter_mut().find(|track| track.owner == owner);
            match found {
                Some(track) => track.events.push(event),
                None => tracks.push(Track {
                    owner,
                    name: format!("thread {}", names.get(&event.object).map_or("", |name| &**name)),
                    events: vec![event],
                    // Nobody knows whose they were.
                    lost: std::mem::take(&mut lost),
                    present: Present::Unknown,
                }),
            }
        }
    }
}

/// From ticks to nanoseconds that never go back: a ring may be written by one thread after another, on processors whose counters differ a little.
fn straighten(events: &mut [Event], nanoseconds: &dyn Fn(u64) -> u64) {
    let mut latest = 0;
    for event in events {
        latest = nanoseconds(event.ticks).max(latest);
        event.ticks = latest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_go_back_in_a_ring_stand_still_in_its_track() {
        let mut events = [5, 9, 7, 0, 12].map(|ticks| Event { ticks, ..Event::now(Kind::Wake) });
        straighten(&mut events, &|ticks| ticks * 2);
        assert_eq!(events.map(|event| event.ticks), [10, 18, 18, 18, 24]);
    }
}
