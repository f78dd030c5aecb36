//! Structured concurrency: children that end before their opener goes on, and what ends them early.
//!
//! - [`open`]: opening a nursery, its body, its end and what comes of it. [`options`]: with a time limit, by signals, collecting errors.
//! - [`inside`]: the nursery as body and children see it. [`child`]: its children.
//!   [`child_builder`]: how they are to be. [`value`]: what they return. [`policy`]: what becomes of errors and panics.
//! - [`roster`]: how the opener waits for the last child. [`closing`]: channels that are closed with the nursery.
//! - [`token`]: cancelling by hand. [`shield`]: not being cancelled.
//!
//! The mechanism of cancellation is that of [`cancel_node`](crate::fiber::cancel_node) and [`scope`](crate::park::scope).
//!
//! # The frame
//! A nursery lies in the frame of its opener, and so does what children borrow. Both are left when every child has ended, whatever
//! happens: a panic of the body is caught first, and the wait for the end can't be cancelled. A child that ends
//! 1. drops its closure and its result, or hands a value to its handle, inside its scope,
//! 2. leaves the scope, after which the nursery's node does not lead to it any more,
//! 3. hands its error or panic to the nursery,
//! 4. counts itself out in the roster, which is its last touch of the frame.
//!
//! A child that is not run, because the nursery, the child or the runtime is ending, does the same without calling the closure.

pub(crate) mod roster;
mod token;

#[cfg(not(modelled))]
mod child;
#[cfg(not(modelled))]
mod child_builder;
#[cfg(not(modelled))]
mod closing;
#[cfg(not(modelled))]
mod inside;
#[cfg(not(modelled))]
mod open;
#[cfg(not(modelled))]
mod options;
#[cfg(not(modelled))]
mod policy;
#[cfg(not(modelled))]
mod shield;
#[cfg(not(modelled))]
mod value;

#[cfg(not(modelled))]
pub(crate) use self::open::whole_nursery_at;
pub use self::token::CancelToken;
#[cfg(not(modelled))]
pub use self::{
    child::Child,
    child_builder::ChildBuilder,
    inside::Nursery,
    open::nursery,
    options::NurseryOptions,
    policy::ChildResult,
    shield::{check_cancelled, shield},
};
