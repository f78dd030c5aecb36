//! What a runtime says of itself.
//!
//! - [`trace`]: what its workers did, moment by moment.

mod trace;

pub use trace::{FlightRecorder, Trace, flight_recorder, recorded, trace};
pub(crate) use trace::{record_from_the_start, write_at_the_end};
