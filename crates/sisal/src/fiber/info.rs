//! What can be said of a fiber.

use super::header::Header;
use crate::prim::id::FiberId;
use crate::prim::reason::Place;
use std::fmt;
use std::panic::Location;

/// A fiber, as it is known by name: its number, its name and where it was spawned.
///
/// ```
/// sisal::run(|| {
///     let handle = sisal::Builder::new().name("worker bee").spawn(|| sisal::fiber::current().unwrap());
///     let fiber = handle.join().unwrap();
///     assert_eq!(fiber.name(), Some("worker bee"));
///     assert!(fiber.to_string().starts_with("fiber 'worker bee' (#"));
/// });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fiber {
    id: FiberId,
    name: Option<Box<str>>,
    spawned_at: Place,
    waits: Option<String>,
}

impl Fiber {
    pub(crate) fn of(header: &Header) -> Fiber {
        Fiber { id: header.id, name: header.name.clone(), spawned_at: header.spawned_at, waits: None }
    }

    /// With what it waits for, if it does.
    pub(crate) fn with_wait(header: &Header) -> Fiber {
        let waits = header.wait.read().map(|noted| format!("{} at {}", noted.reason, noted.place));
        Fiber { waits, ..Fiber::of(header) }
    }

    /// Its number.
    pub fn id(&self) -> FiberId {
        self.id
    }

    /// Its name, if it was given one by [`Builder::name`](crate::Builder::name).
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Where in the source it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}

impl fmt::Display for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "fiber '{name}' ({})", self.id)?,
            None => write!(f, "fiber {}", self.id)?,
        }
        write!(f, ", spawned at {}", self.spawned_at)?;
        match &self.waits {
            Some(waits) => write!(f, ", {waits}"),
            None => Ok(()),
        }
    }
}
