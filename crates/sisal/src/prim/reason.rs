//! Why a fiber waits, where in the code, and on what.

use std::fmt;
use std::panic::Location;

/// A place in the source, as `#[track_caller]` gives it.
pub(crate) type Place = &'static Location<'static>;

/// Why a fiber or thread waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    /// It does not wait.
    None = 0,
    /// It gave way to others and is ready.
    Yield,
    /// Its wait is over and it is ready, as its waker noted: see `sched/latency`.
    Ready,
    /// For a time to come.
    Sleep,
    /// For the end of the first of several fibers.
    JoinAny,
    /// To spawn, at the limit of `max_fibers`.
    SpawnLimit,
    /// For room in a channel, or for a receiver.
    Send,
    /// For a message.
    Receive,
    /// For the first of several channels.
    Select,
    /// For a condition.
    Condvar,
    /// For a permit.
    Semaphore,
    /// For others to come to a barrier.
    Barrier,
    /// For a group to be done.
    WaitGroup,
    /// For an event.
    Event,
    /// For a thing from a pool.
    Pool,
    /// For a cancellation.
    Cancel,
    /// For a transactional variable to change.
    Transaction,
    /// For the half of a fork that another worker runs.
    Job,
    // From here on: others that are known.
    /// For the end of another fiber.
    Join,
    /// For a mutex.
    Lock,
    /// To read under a lock.
    ReadLock,
    /// To write under a lock.
    WriteLock,
    /// For another to initialise something.
    Once,
    /// For the children of a nursery.
    Nursery,
    // From here on: something outside of the runtime.
    /// For its output to be written.
    Output,
    /// For a call that blocks, on a thread of its own.
    Blocking,
    /// For a descriptor to be readable.
    Read,
    /// For a descriptor to be writable.
    Write,
    /// For a connection to come in.
    Accept,
    /// For a connection to be made.
    Connect,
    /// For a file.
    File,
    /// For the end of a process.
    Process,
    /// For a future.
    Future,
}

impl Reason {
    /// In the order of their numbers.
    const ALL: [Reason; 33] = [
        Reason::None,
        Reason::Yield,
        Reason::Ready,
        Reason::Sleep,
        Reason::JoinAny,
        Reason::SpawnLimit,
        Reason::Send,
        Reason::Receive,
        Reason::Select,
        Reason::Condvar,
        Reason::Semaphore,
        Reason::Barrier,
        Reason::WaitGroup,
        Reason::Event,
        Reason::Pool,
        Reason::Cancel,
        Reason::Transaction,
        Reason::Job,
        Reason::Join,
        Reason::Lock,
        Reason::ReadLock,
        Reason::WriteLock,
        Reason::Once,
        Reason::Nursery,
        Reason::Output,
        Reason::Blocking,
        Reason::Read,
        Reason::Write,
        Reason::Accept,
        Reason::Connect,
        Reason::File,
        Reason::Process,
        Reason::Future,
    ];

    /// Whether something outside of the runtime ends such a wait, if nothing inside does.
    #[inline]
    pub(crate) fn is_outside(self) -> bool {
        self as u8 >= Reason::Output as u8
    }

    /// Whether the scheduler counts such waits: those for something outside, and the bound ones.
    #[inline]
    pub(crate) fn is_counted(self) -> bool {
        self as u8 >= Reason::Join as u8
    }

    /// How much of a cycle such a wait is: whoever waits for a lock may have it itself, who waits for an end waits for another's. A cycle comes
    /// to 2 at least.
    pub(crate) fn bond(self) -> usize {
        match self {
            Reason::Lock | Reason::ReadLock | Reason::WriteLock | Reason::Once => 2,
            Reason::Join | Reason::Nursery => 1,
            _ => 0,
        }
    }

    pub(crate) fn from_u8(byte: u8) -> Reason {
        Reason::ALL.get(usize::from(byte)).copied().unwrap_or(Reason::None)
    }

    /// Whether it waits for nothing but its turn.
    pub(crate) fn is_ready(self) -> bool {
        matches!(self, Reason::Yield | Reason::Ready)
    }

    /// In words, to be put after "is".
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Reason::None => "running",
            Reason::Yield | Reason::Ready => "ready",
            Reason::Sleep => "asleep",
            Reason::Join => "joining a fiber",
            Reason::JoinAny => "joining the first of several fibers",
            Reason::SpawnLimit => "waiting to spawn (max_fibers is reached)",
            Reason::Send => "sending to a channel",
            Reason::Receive => "receiving from a channel",
            Reason::Select => "selecting",
            Reason::Lock => "locking a mutex",
            Reason::ReadLock => "locking for reading",
            Reason::WriteLock => "locking for writing",
            Reason::Condvar => "waiting for a condition",
            Reason::Semaphore => "waiting for a permit",
            Reason::Barrier => "at a barrier",
            Reason::Once => "waiting for an initialisation",
            Reason::WaitGroup => "waiting for a group",
            Reason::Event => "waiting for an event",
            Reason::Pool => "waiting for a thing from a pool",
            Reason::Nursery => "waiting for the children of a nursery",
            Reason::Cancel => "waiting for a cancellation",
            Reason::Transaction => "waiting for a transactional variable",
            Reason::Output => "waiting for its output to be written",
            Reason::Blocking => "waiting for a call that blocks",
            Reason::Read => "reading",
            Reason::Write => "writing",
            Reason::Accept => "waiting for a connection",
            Reason::Connect => "connecting",
            Reason::File => "waiting for a file",
            Reason::Process => "waiting for a process to end",
            Reason::Future => "waiting for a future",
            Reason::Job => "waiting for the other half of a fork",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_found_by_its_number() {
        for (number, &reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(reason as usize, number);
        }
    }
}
