//! What can be said of a fiber.

use super::header::Header;
use crate::prim::id::FiberId;
use crate::prim::reason::{Place, Reason};
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
    waits: Option<(Reason, Place)>,
}

impl Fiber {
    pub(crate) fn of(header: &Header) -> Fiber {
        Fiber { id: header.id, name: header.name.clone(), spawned_at: header.spawned_at, waits: None }
    }

    /// With what it waits for, if it does.
    pub(crate) fn with_wait(header: &Header) -> Fiber {
        let waits = header.wait.read().map(|noted| (noted.reason, noted.place));
        Fiber { waits, ..Fiber::of(header) }
    }

    /// Its number.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::spawn(|| sisal::fiber::current().unwrap().id());
    ///     let id = handle.id();
    ///     assert_eq!(handle.join().unwrap(), id);
    /// });
    /// ```
    pub fn id(&self) -> FiberId {
        self.id
    }

    /// Its name, if it was given one by [`Builder::name`](crate::Builder::name).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::Builder::new().name("bee").spawn(|| sisal::fiber::current().unwrap());
    ///     assert_eq!(handle.join().unwrap().name(), Some("bee"));
    ///     let handle = sisal::spawn(|| sisal::fiber::current().unwrap());
    ///     assert_eq!(handle.join().unwrap().name(), None);
    /// });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// One without a name, for tests of what is said of fibers.
    #[cfg(test)]
    pub(crate) fn unnamed(id: FiberId, spawned_at: Place) -> Fiber {
        Fiber { id, name: None, spawned_at, waits: None }
    }

    /// Where in the source it was spawned.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let spawn = || sisal::spawn(|| sisal::fiber::current().unwrap()).join().unwrap();
    ///     assert_eq!(spawn().spawned_at(), spawn().spawned_at());
    ///     assert!(spawn().to_string().ends_with(&spawn().spawned_at().to_string()));
    /// });
    /// ```
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
            Some((reason, place)) => write!(f, ", {reason} at {place}"),
            None => Ok(()),
        }
    }
}
