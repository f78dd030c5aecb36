//! What everything else is made of: the atomics facade, the clock, ids, reasons, errors of cancellation.
//! Knows no fiber.

pub(crate) mod atomic;
pub(crate) mod cancel;
pub(crate) mod id;
pub(crate) mod parker;
pub(crate) mod reason;

#[cfg(not(loom))]
pub(crate) mod clock;
#[cfg(not(loom))]
pub(crate) mod fork;
#[cfg_attr(loom, path = "futex_loom.rs")]
pub(crate) mod futex;
