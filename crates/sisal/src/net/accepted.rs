//! What the scheduler is told of an accepted connection.

use crate::prim::reason::Place;
use crate::sched::worker;

/// The next fiber that the calling one spawns is the one that serves the connection it has just accepted. It belongs on the worker
/// that homes fewest, or a listener would gather all its connections on its own worker: fibers never move once they have run.
///
/// Nothing happens outside of fibers.
#[inline]
pub(super) fn spread_next_spawn(place: Place) {
    worker::with_current(|worker| worker.into_iter().for_each(|worker| worker.note_accepted(place)));
}
