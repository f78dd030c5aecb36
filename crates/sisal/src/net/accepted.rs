//! What the scheduler is told of an accepted connection.

use crate::sched::worker::{self, Worker};

/// The next fiber that the calling one spawns is the one that serves the connection it has just accepted. It belongs on the worker
/// that homes fewest, or a listener would gather all its connections on its own worker: fibers never move once they have run.
///
/// Nothing happens outside of fibers.
#[inline]
pub(super) fn spread_next_spawn() {
    worker::with_current(|worker| worker.into_iter().for_each(Worker::note_accepted));
}
