//! Waiting for what nothing tells of: trying again after a while.
//!
//! Unix sockets have two such waits: for room in the queue of a listener, and for room at a socket to which a message goes without a
//! connection. The kernel reports either to nobody but those who block in the call. And what otherwise needs a descriptor of its own to be heard
//! of, as the end of a child, is waited for like this when there is none.
//!
//! What may be closed by others meanwhile is told of, and its close ends the pause: see [`Source::pause`](super::source::Source::pause).

use super::error;
use crate::fiber::waiter::{Wait, Woken};
use crate::park::{self, Waiting};
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use std::io;
use std::time::Duration;

/// Short enough for one who is merely late.
const FIRST: Duration = Duration::from_micros(250);
/// Long enough not to be felt if nobody ever comes.
const LONGEST: Duration = Duration::from_millis(32);

/// Pauses between tries, each twice as long as the one before.
pub(crate) struct Pauses {
    next: Duration,
    reason: Reason,
    place: Place,
    deadline: Option<Moment>,
}

impl Pauses {
    /// Until `deadline`, if there is one.
    pub(crate) fn new(reason: Reason, deadline: Option<Moment>, place: Place) -> Pauses {
        Pauses { next: FIRST, reason, place, deadline }
    }

    /// Waits until it is time to try again.
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        match park::park_or_leave(&Wait::new(park::me()), &self.next()?, || ()) {
            Woken::Deadline => Ok(()),
            Woken::Cancelled(cause) => Err(error::cancelled(cause)),
            Woken::Object(_) => unreachable!("INVARIANT: a pause waits for no object"),
        }
    }

    /// The next pause; an error if there is no time left for one.
    pub(super) fn next(&mut self) -> io::Result<Waiting> {
        let now = Moment::now();
        let until = match self.deadline {
            Some(deadline) if deadline <= now => return Err(error::timed_out()),
            Some(deadline) => deadline.min(now.after(self.next)),
            None => now.after(self.next),
        };
        self.next = LONGEST.min(self.next * 2);
        let (reason, place) = (self.reason, self.place);
        Ok(Waiting { reason, object: Object::NONE, place, deadline: Some(until), cancellable: true })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::panic::Location;

    /// The first is so long that no test sees its end.
    #[track_caller]
    pub(crate) fn of_an_hour() -> Pauses {
        Pauses { next: Duration::from_secs(3600), ..Pauses::new(Reason::Write, None, Location::caller()) }
    }
}
