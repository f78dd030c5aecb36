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
    Yield = 1,
    /// For a time to come.
    Sleep = 2,
    /// For the end of another fiber.
    Join = 3,
    /// For the end of the first of several fibers.
    JoinAny = 4,
    /// To spawn, at the limit of `max_fibers`.
    SpawnLimit = 5,
}

impl Reason {
    pub(crate) fn from_u8(byte: u8) -> Reason {
        match byte {
            1 => Reason::Yield,
            2 => Reason::Sleep,
            3 => Reason::Join,
            4 => Reason::JoinAny,
            5 => Reason::SpawnLimit,
            _ => Reason::None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::None => "running",
            Reason::Yield => "ready",
            Reason::Sleep => "asleep",
            Reason::Join => "joining a fiber",
            Reason::JoinAny => "joining the first of several fibers",
            Reason::SpawnLimit => "waiting to spawn (max_fibers is reached)",
        })
    }
}
