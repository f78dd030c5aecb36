//! A channel for work: each piece becomes a fiber, and the results are received in the order in which the work was sent.
//!
//! # Protocol
//! Made of what is there already: a [semaphore](crate::sync::Semaphore) of `n` permits for places that may be taken, and a channel of
//! places, each a [one-shot channel](super::oneshot) for the handle of a fiber.
//! - *Send*: (1) take a permit, (2) take the right to spawn a fiber. These are the waits, which can be given up. (3) Send a new place:
//!   this is where it is decided whether the work is let in, and in which order. If the channel is closed, all goes back. (4) Spawn
//!   the work, and put its handle into the place; from now on the permit is the handle's.
//! - *Abandon a place*: if (4) panics, the permit goes back, and the one-shot channel is closed, by which receivers see that there
//!   is nothing to wait for.
//! - *Receive*: take the turn (receivers take turns, so that results go out in order), then the place at the front; wait for the handle in
//!   it, unless it was abandoned; wait for the end; give the permit back. If one of these waits is given up, what was taken stays at the front
//!   for whoever is next.
//! - *Poll* (receiving as a task): the same, where each wait is a future. It takes no turn, since it has the receiver for itself.
//! - *Close*: the channel of places is closed: what was let in is still received. Then there are permits for everybody: whoever waits
//!   for one gets it, and finds the channel closed at (3). (Whoever waits at (2) finds it when there is a place for one more fiber.)
//! - *The senders are gone*: the channel of places is closed by that, and nobody is left who could wait for a permit.
//! - *The receiver is gone*: closed likewise, and what is in it is dropped. What has been spawned goes on, and nobody sees its result.
//!
//! What is let in is received: (3) comes before the fiber, so no close comes between. Why nobody waits for ever: a place that was
//! taken is filled or abandoned by its sender, who waits for nothing after (3); a permit goes back by one of the two.
//!
//! Who sends outside of any runtime does the work itself, between (3) and (4), and the place is filled with the result.
//!
//! # What is where
//! Permits, places and turns in `queue`, which knows nothing of fibers; what fills a place in `work`; the handles in `sender` and `receiver`,
//! and receiving as a task in `future`.

#[cfg(not(modelled))]
mod error;
#[cfg(not(modelled))]
mod future;
#[cfg(all(test, loom))]
mod loom_models;
mod queue;
#[cfg(not(modelled))]
mod receiver;
#[cfg(not(modelled))]
mod sender;
#[cfg(not(modelled))]
mod work;

#[cfg(not(modelled))]
pub use self::{
    error::{OrderedRecvError, OrderedRecvTimeoutError, OrderedTryRecvError},
    future::OrderedRecvFuture,
    receiver::{OrderedIntoIter, OrderedIter, OrderedReceiver, OrderedTryIter},
    sender::{OrderedSender, ordered},
};
