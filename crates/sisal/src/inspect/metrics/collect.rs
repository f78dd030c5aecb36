//! Where the numbers come from: each worker's own counts, summed up.

use super::{
    BlockingThreads, IoMetrics, LatencyHistogram, LatencyRange, Metrics, QueueLengths, StackMetrics, WorkerMetrics,
    WorkerQueues,
};
use crate::blocking;
use crate::inspect::snapshot::FiberState;
use crate::inspect::state::{reason_of, state_of};
use crate::prim::atomic::Ordering;
use crate::sched::counts::{Activity, Count};
use crate::sched::latency::{RANGES, bound_of};
use crate::sched::remote::{Life, Remote};
use crate::sched::shared::Shared;
use crate::spawn::Stats;
use std::collections::BTreeMap;
use std::time::Duration;

impl Metrics {
    pub(crate) fn of(shared: &Shared) -> Metrics {
        let count = |which: fn(&Activity) -> &Count| activities(shared).map(|activity| which(activity).get()).sum();
        // Before those who are parked are counted, and those who run, which may be about to: so no wait is taken for ended that is not, and
        // what was told once need not be taken back.
        let begun: u64 = count(|activity| &activity.parks);
        // It takes longest: the rest is then of about the same moment.
        let (parked, may_park) = parked_by_reason(shared);
        let ended = begun.saturating_sub((parked.values().sum::<usize>() + may_park) as u64);
        let wakes = shared.wakes_told.fetch_max(ended, Ordering::Relaxed).max(ended);
        let stats = Stats::of(shared);
        let live = shared.unfinished();
        let queues = queues(shared);
        let (running, started) = running_and_started(shared);
        Metrics {
            runtime: shared.config.name.clone(),
            workers: workers(shared),
            live,
            running,
            fresh: live.saturating_sub(started as u64),
            ready: queues.workers.iter().map(|worker| worker.ready + worker.inbox).sum(),
            parked,
            spawned: stats.spawned,
            finished: stats.finished,
            panicked: stats.panicked,
            detached_panics: stats.detached_panics,
            cancelled: stats.cancelled,
            steals: count(|activity| &activity.steals),
            parks: count(|activity| &activity.parks),
            wakes,
            switches: shared.remotes.iter().map(|remote| remote.shown.heartbeat.load(Ordering::Relaxed)).sum(),
            blocking: blocking_threads(shared),
            timers: activities(shared).map(|activity| activity.timers.load(Ordering::Relaxed)).sum(),
            io: IoMetrics {
                descriptors: activities(shared).map(|activity| activity.descriptors.load(Ordering::Relaxed)).sum(),
                events: count(|activity| &activity.events),
            },
            stacks: stacks(shared),
            queues,
            latency: latency(shared),
        }
    }
}

fn activities(shared: &Shared) -> impl Iterator<Item = &Activity> {
    shared.remotes.iter().map(|remote| &remote.shown.activity)
}

/// The workers there are.
fn present(shared: &Shared) -> impl Iterator<Item = (usize, &Remote)> {
    shared.remotes.iter().enumerate().filter(|(_, remote)| remote.life() != Life::Absent)
}

fn workers(shared: &Shared) -> WorkerMetrics {
    let is_base = |remote: &Remote| remote.life() == Life::Base;
    let base = present(shared).filter(|(_, remote)| is_base(remote)).count();
    let total = present(shared).count();
    WorkerMetrics {
        total,
        base,
        added: total.saturating_sub(base),
        sleeping: present(shared).filter(|&(worker, _)| shared.idle.is_sleeping(worker)).count(),
        searching: shared.idle.searchers(),
    }
}

/// How many fibers run, and how many have been started and have not ended.
fn running_and_started(shared: &Shared) -> (usize, usize) {
    let mut sums = (0, 0);
    for (worker, remote) in present(shared) {
        let runs = remote.presence.runs_one() && !shared.idle.is_sleeping(worker);
        // One that has waited before is counted as one that lives there.
        let first_run = runs && !remote.presence.running_has_waited();
        sums.0 += usize::from(runs);
        sums.1 += remote.presence.homed() + usize::from(first_run);
    }
    sums
}

/// How many fibers wait, by what for, and how many run. Looks at all of them; nobody counts that meanwhile.
fn parked_by_reason(shared: &Shared) -> (BTreeMap<&'static str, usize>, usize) {
    let (mut parked, mut running) = (BTreeMap::new(), 0);
    for (_, remote) in present(shared) {
        remote.presence.look(|sighted| {
            if state_of(&sighted) == FiberState::Parked {
                *parked.entry(reason_of(&sighted).as_str()).or_insert(0) += 1;
            }
            running += usize::from(sighted.runs);
        });
    }
    (parked, running)
}

fn blocking_threads(shared: &Shared) -> BlockingThreads {
    let load = blocking::load(shared);
    BlockingThreads { busy: load.busy, idle: load.idle, queued: load.queued }
}

fn stacks(shared: &Shared) -> StackMetrics {
    let (usual, others) = (shared.depot.counts(), shared.others.counts());
    StackMetrics {
        in_use: usual.in_use + others.in_use,
        in_use_bytes: usual.in_use_bytes + others.in_use_bytes,
        mapped_bytes: usual.mapped_bytes + others.mapped_bytes,
    }
}

fn queues(shared: &Shared) -> QueueLengths {
    let of_worker = |(worker, remote): (usize, &Remote)| WorkerQueues {
        worker,
        ring: remote.ring.len(),
        lane: remote.lane.len(),
        inbox: remote.inbox.about(),
        ready: remote.shown.activity.ready.load(Ordering::Relaxed),
    };
    QueueLengths { injector: shared.injector.len(), workers: present(shared).map(of_worker).collect() }
}

fn latency(shared: &Shared) -> LatencyHistogram {
    let mut counts = [0; RANGES];
    for activity in activities(shared) {
        counts.iter_mut().zip(activity.latency.counts()).for_each(|(sum, count)| *sum += count);
    }
    let range = |(range, count)| LatencyRange { up_to: bound_of(range).map(Duration::from_nanos), count };
    LatencyHistogram {
        ranges: counts.into_iter().enumerate().map(range).collect(),
        sum: Duration::from_nanos(activities(shared).map(|activity| activity.latency.sum()).sum()),
    }
}
