//! Time limits, cancellation, shields and nurseries.

#[path = "../common/mod.rs"]
mod common;

mod cancel;
mod cancel_token;
mod cancel_waits;
mod nursery;
mod nursery_around;
mod nursery_cancel;
mod nursery_channels;
mod nursery_doorstep;
mod nursery_errors;
mod nursery_limits;
mod nursery_values;
mod shield;
mod sleepers;
mod timeout;
