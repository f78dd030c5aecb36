//! Looking at the fibers that have not started.
//!
//! They stand in queues that workers take from, and end when they have run. So all workers are kept from starting any, for as long as
//! the look takes: what a queue shows then is alive, whether somebody has taken it meanwhile or not.
#![allow(unsafe_code, reason = "queued fibers are read through pointers, while nobody can run them")]

use super::shared::Shared;
use crate::fiber::header::Header;

/// How many of each queue are looked at: few enough that nobody notices that the workers were held up.
const MOST_OF_A_QUEUE: usize = 8_192;

impl Shared {
    /// Calls `see` with the fibers that any worker may start; of very many, with some. Returns how many there are. (Those that must start on one worker
    /// can't be seen.)
    pub(crate) fn look_at_fresh(&self, mut see: impl FnMut(&Header)) -> usize {
        // First, so that no worker is held while we wait for somebody who looks at all fibers of another.
        let _alone: Vec<_> = self.remotes.iter().map(|remote| remote.presence.look_alone()).collect();
        let _held: Vec<_> = self.remotes.iter().map(|remote| remote.presence.hold()).collect();
        // SAFETY: it was in a queue while no worker could start it, and none can until we are done; so it has not ended.
        let mut see = |fiber: std::ptr::NonNull<Header>| see(unsafe { fiber.as_ref() });
        let mut seen = 0;
        let mut see = |fiber| {
            seen += 1;
            see(fiber);
        };
        for remote in &self.remotes {
            remote.ring.look(MOST_OF_A_QUEUE, &mut see);
            remote.lane.look(MOST_OF_A_QUEUE, &mut see);
        }
        self.injector.look(MOST_OF_A_QUEUE, &mut see);
        let queued: usize = self.remotes.iter().map(|remote| remote.ring.len() + remote.lane.len()).sum();
        seen.max(queued + self.injector.len())
    }
}
