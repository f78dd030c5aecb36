//! Who waits for whom, as far as that is certain: for a lock, the fiber that has it; for an end, the fiber that is to end; for a nursery,
//! each of its children.
//!
//! A fiber that waits for several others is stuck if one of them is, so a cycle among these edges never ends by itself. (What is sent into a
//! channel may come from anybody, a lock may have been given on if its fiber has spawned another on its thread, a wait with a deadline ends by itself, and one inside [`external_wait`](super::external_wait) or
//! [`no_deadlock_check`](super::no_deadlock_check) is as its fiber says: such waits have no edges.)

use super::snapshot::{FiberInfo, FiberState, Snapshot};
use super::survey::Seen;
use crate::fiber::FiberId;
use crate::fiber::flags::Outlook;
use crate::prim::reason::Reason;
use std::collections::HashMap;

/// All cycles there are; of those that share a fiber, one. Each begins with the fiber of the lowest number.
pub(super) fn cycles(snapshot: &Snapshot, waits: &[Seen]) -> Vec<Vec<FiberId>> {
    let numbers = |cycle: Vec<usize>| {
        let mut ids: Vec<FiberId> = cycle.into_iter().map(|index| snapshot.fibers[index].id).collect();
        let lowest = (0..ids.len()).min_by_key(|&place| ids[place]).unwrap_or(0);
        ids.rotate_left(lowest);
        ids
    };
    cycles_among(&edges(snapshot, waits)).into_iter().map(numbers).collect()
}

/// For each fiber of the snapshot whether it is stuck for ever: see [`doomed_among`].
pub(super) fn doomed(snapshot: &Snapshot, waits: &[Seen]) -> Vec<bool> {
    let is_cancellable = |place: usize| waits[place].is_cancellable;
    doomed_among(&edges(snapshot, waits), is_cancellable, |place| waits[place].has_token)
}

/// Whether each waits in a cycle, none of whose waits can be cancelled, or for one that does, and nobody has a token to cancel that.
fn doomed_among(
    edges: &[Vec<usize>],
    is_cancellable: impl Fn(usize) -> bool,
    has_token: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut waiting_for: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (place, edges) in edges.iter().enumerate() {
        edges.iter().for_each(|&to| waiting_for[to].push(place));
    }
    // By themselves: of cycles that share a fiber only one is found, and that could be one that may be cancelled. Here the others of them
    // wait for the one that is found.
    let for_ever: Vec<Vec<usize>> = edges
        .iter()
        .enumerate()
        .map(|(place, to)| if is_cancellable(place) { Vec::new() } else { to.clone() })
        .collect();
    let mut unseen: Vec<usize> = cycles_among(&for_ever).into_iter().flatten().collect();
    let mut doomed = vec![false; edges.len()];
    unseen.iter().for_each(|&place| doomed[place] = true);
    while let Some(place) = unseen.pop() {
        for &waiter in &waiting_for[place] {
            if !has_token(waiter) && !std::mem::replace(&mut doomed[waiter], true) {
                unseen.push(waiter);
            }
        }
    }
    doomed
}

/// As [`cycles`], of places.
fn cycles_among(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut marks = vec![Mark::New; edges.len()];
    let mut told = vec![false; edges.len()];
    for start in 0..edges.len() {
        if marks[start] == Mark::New {
            search(start, edges, &mut marks, &mut told, &mut found);
        }
    }
    found
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Mark {
    New,
    /// On the path that is being followed, there.
    Open(usize),
    Done,
}

/// Follows all paths from `start`, depth first and without recursion. Those who stand in a cycle that was found are told.
fn search(start: usize, edges: &[Vec<usize>], marks: &mut [Mark], told: &mut [bool], found: &mut Vec<Vec<usize>>) {
    let mut path = vec![(start, 0)];
    marks[start] = Mark::Open(0);
    while let Some((at, next)) = path.last_mut() {
        let Some(&to) = edges[*at].get(*next) else {
            marks[*at] = Mark::Done;
            path.pop();
            continue;
        };
        *next += 1;
        match marks[to] {
            Mark::New => {
                marks[to] = Mark::Open(path.len());
                path.push((to, 0));
            }
            Mark::Open(first) => {
                let cycle = || path[first..].iter().map(|&(index, _)| index);
                if !told[to] && !cycle().any(|index| told[index]) {
                    cycle().for_each(|index| told[index] = true);
                    found.push(cycle().collect());
                }
            }
            Mark::Done => {}
        }
    }
}

/// For each fiber those it waits for, by their places in the snapshot.
pub(super) fn edges(snapshot: &Snapshot, waits: &[Seen]) -> Vec<Vec<usize>> {
    let places: HashMap<FiberId, usize> =
        snapshot.fibers.iter().enumerate().map(|(place, fiber)| (fiber.id, place)).collect();
    let objects: HashMap<usize, _> = snapshot.objects.iter().map(|object| (object.id, object)).collect();
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, fiber) in snapshot.fibers.iter().enumerate() {
        if let Some(nursery) = fiber.nursery {
            children.entry(nursery).or_default().push(place);
        }
    }
    // Whether a fiber certainly has what it has locked.
    let has = |id: &FiberId| places.get(id).is_some_and(|&place| !waits[place].lends);
    let of_fiber = |seen: &Seen| -> Vec<usize> {
        let object = seen.awaited.first().and_then(|(_, number)| objects.get(number));
        let one = match seen.reason {
            Reason::Lock | Reason::ReadLock | Reason::WriteLock => {
                object.and_then(|object| object.owner).filter(|owner| has(owner))
            }
            Reason::Once => object.and_then(|object| object.owner),
            Reason::Join => object.and_then(|object| object.fiber),
            _ => None,
        };
        match seen.opened {
            Some(nursery) => children.get(&nursery).cloned().unwrap_or_default(),
            None => one.and_then(|id| places.get(&id)).copied().into_iter().collect(),
        }
    };
    let waits_for_ever = |fiber: &FiberInfo, seen: &Seen| {
        fiber.state == FiberState::Parked && !seen.is_limited && seen.outlook == Outlook::Inside
    };
    (snapshot.fibers.iter().zip(waits))
        .map(|(fiber, seen)| if waits_for_ever(fiber, seen) { of_fiber(seen) } else { Vec::new() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        edges.iter().map(|to| to.to_vec()).collect()
    }

    fn found(edges: &[&[usize]]) -> Vec<Vec<usize>> {
        cycles_among(&of(edges))
    }

    #[test]
    fn cycles_are_found_and_chains_are_not() {
        assert!(found(&[&[1], &[2], &[], &[1]]).is_empty());
        assert_eq!(found(&[&[0]]), [[0]]);
        assert_eq!(found(&[&[1], &[2], &[0]]), [[0, 1, 2]]);
        assert_eq!(found(&[&[1], &[2], &[1], &[4], &[3]]), [[1, 2], [3, 4]]);
        assert_eq!(found(&[&[1, 2], &[], &[0]]), [[0, 2]]);
        assert_eq!(found(&[&[1, 2, 3], &[0], &[0], &[0]]), [[0, 1]], "one of those that share a fiber");
    }

    #[test]
    fn those_in_a_cycle_and_those_who_wait_for_them_are_stuck_unless_somebody_could_end_it() {
        let stuck = |edges: &[&[usize]], cancellable: &[usize], tokens: &[usize]| {
            let doomed =
                doomed_among(&of(edges), |place| cancellable.contains(&place), |place| tokens.contains(&place));
            (0..doomed.len()).filter(|&place| doomed[place]).collect::<Vec<_>>()
        };
        assert_eq!(stuck(&[&[1], &[0], &[1], &[]], &[], &[]), [0, 1, 2]);
        assert_eq!(stuck(&[&[1], &[0], &[1], &[2]], &[2], &[2]), [0, 1]);
        assert!(stuck(&[&[1], &[0], &[1]], &[1], &[]).is_empty());
        // The opener of a nursery waits for two children: one that joins it, which can be cancelled, and one that wants its lock, which can't.
        assert_eq!(stuck(&[&[1, 2], &[0], &[0]], &[1], &[]), [0, 1, 2]);
        assert_eq!(stuck(&[&[1, 2], &[0], &[0]], &[2], &[]), [0, 1, 2]);
    }
}
