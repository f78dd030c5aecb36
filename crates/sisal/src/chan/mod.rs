//! Channels: for fibers and threads alike, any number of senders and receivers, each message to one receiver.
//!
//! - [`bounded`]: room for so many messages; none at all is a rendezvous, where sender and receiver meet. [`bounded_with`] says what
//!   a full one does with one more. [`unbounded`]: room for any number.
//! - [`after`], [`at`], [`tick`], [`never`](never()): receivers that time sends to, for [`select!`](crate::select!).
//! - [`oneshot`]: for one message. [`broadcast`]: every message to every receiver. [`watch`]: one value, and news of its changes.
//! - [`ordered`]: for work that is done by fibers, whose results come in the order it was sent. [`pool`]: things that are lent.
//!
//! Operations wait, with futures for any executor ([`recv_async`](Receiver::recv_async), [`send_async`](Sender::send_async)), a `try_` form that does not and forms with a time limit. When the last handle of one side is gone, or by
//! [`close`](Sender::close), a channel lets no more messages in; those in it are still received. Messages that were not sent are given
//! back with the error.
//!
//! Names are those of crossbeam's channels, but for errors: what is `Disconnected` there is `Closed` here, since channels can be closed with handles
//! left, `Timeout` is `TimedOut` as in `std::io`, and any wait may be `Cancelled` too.
//!
//! ```
//! sisal::run(|| {
//!     let (sender, receiver) = sisal::chan::bounded(8);
//!     for number in 0..4 {
//!         let sender = sender.clone();
//!         sisal::spawn(move || sender.send(number * number));
//!     }
//!     drop(sender);
//!     assert_eq!(receiver.iter().sum::<u64>(), 14);
//! });
//! ```
//!
//! Inside: one file for each flavour, which all have the ports (`port`) that the blocking calls (`blocking`), the futures (`receiving`,
//! `sending`) and select are written against.

pub(crate) mod arm;
mod array;
mod blocking;
mod broadcast;
mod clock;
mod counted;
mod error;
mod left;
mod list;
#[cfg(all(test, loom))]
mod models;
mod observed;
mod oneshot;
#[cfg(not(shuttle))]
mod ordered;
mod pace;
mod pool;
pub(crate) mod port;
mod receiver;
mod receiving;
mod rendezvous;
pub(crate) mod selectable;
mod sender;
mod sending;
#[cfg(feature = "futures")]
mod stream;
mod watch;

#[cfg(not(modelled))]
pub use self::ordered::{
    OrderedIntoIter, OrderedIter, OrderedReceiver, OrderedRecvError, OrderedRecvFuture, OrderedRecvTimeoutError,
    OrderedSender, OrderedTryIter, OrderedTryRecvError, ordered,
};
#[cfg(feature = "futures")]
pub use self::stream::RecvStream;
pub use self::{
    broadcast::{
        BroadcastIter, BroadcastReceiver, BroadcastRecvError, BroadcastRecvFuture, BroadcastRecvTimeoutError,
        BroadcastSender, BroadcastTryRecvError, broadcast,
    },
    error::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError},
    oneshot::{OneReceiver, OneSender, oneshot},
    pool::{Pool, PoolGuard, PoolTimeoutError, pool},
    receiver::{IntoIter, Iter, Receiver, TryIter},
    receiving::RecvFuture,
    selectable::Selectable,
    sender::Sender,
    sending::SendFuture,
    watch::{ChangedFuture, WatchReceiver, WatchSender, watch},
};

use self::{
    array::Array, clock::Clock, counted::Counted, list::List, receiver::ReceiverFlavour, rendezvous::Rendezvous,
    sender::SenderFlavour,
};
use crate::prim::clock::Moment;
use std::time::{Duration, Instant};

/// What a full channel does with one message more.
///
/// ```
/// use sisal::chan::{Policy, bounded_with};
/// let left = |policy| {
///     let (sender, receiver) = bounded_with(1, policy);
///     (1..=2).for_each(|number| _ = sender.try_send(number));
///     receiver.recv().unwrap()
/// };
/// assert_eq!([Policy::Wait, Policy::DropNewest, Policy::DropOldest].map(left), [1, 1, 2]);
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Its sender waits for room.
    #[default]
    Wait,
    /// It is dropped, and counts as sent.
    DropNewest,
    /// It takes the place of the oldest, which is dropped.
    DropOldest,
}

/// A channel with room for `capacity` messages. With none it is a rendezvous: a sender waits until its message is received.
///
/// A fiber that waits for room in a larger one (8 messages or more) goes on when there is any; while a receiver on another worker takes one
/// message after the other, some 50 us later at most, so that it need not be woken for each.
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(1);
/// sender.send(7).unwrap();
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    if capacity > 0 {
        return bounded_with(capacity, Policy::Wait);
    }
    let (sender, receiver) = Counted::pair(Rendezvous::new());
    (Sender(SenderFlavour::Rendezvous(sender)), Receiver(ReceiverFlavour::Rendezvous(receiver)))
}

/// As [`bounded`], with a choice of what happens when it is full.
///
/// # Panics
/// If there is no room at all, and the policy is not [`Policy::Wait`].
///
/// ```
/// use sisal::chan::{Policy, bounded_with};
/// let (sender, receiver) = bounded_with(2, Policy::DropOldest);
/// (1..=5).for_each(|number| sender.send(number).unwrap());
/// assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [4, 5]);
/// ```
pub fn bounded_with<T>(capacity: usize, policy: Policy) -> (Sender<T>, Receiver<T>) {
    if capacity == 0 {
        assert!(policy == Policy::Wait, "sisal: a channel that drops messages needs room for at least one");
        return bounded(0);
    }
    let (sender, receiver) = Counted::pair(Array::new(capacity));
    (Sender(SenderFlavour::Array(sender, policy)), Receiver(ReceiverFlavour::Array(receiver)))
}

/// A channel with room for any number of messages: a send never waits.
///
/// ```
/// let (sender, receiver) = sisal::chan::unbounded();
/// (0..1000).for_each(|number| sender.send(number).unwrap());
/// assert_eq!(receiver.len(), 1000);
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = Counted::pair(List::new());
    (Sender(SenderFlavour::List(sender)), Receiver(ReceiverFlavour::List(receiver)))
}

fn clock<T>(due: Moment, period: Option<Duration>, message: fn(Instant) -> T) -> Receiver<T> {
    Receiver(ReceiverFlavour::Clock(Counted::receiver(Clock::new(due, period, message))))
}

/// A receiver of one message, after `duration`. It is never closed.
///
/// ```
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// let sent = sisal::chan::after(Duration::from_millis(5)).recv().unwrap();
/// assert!(sent >= start + Duration::from_millis(5));
/// ```
pub fn after(duration: Duration) -> Receiver<Instant> {
    clock(Moment::now().after(duration), None, |sent| sent)
}

/// A receiver of one message, at `instant`. It is never closed. The message is that time, or if that was before the process first used the clock, some time
/// between the two.
///
/// ```
/// use std::time::{Duration, Instant};
/// let then = Instant::now() + Duration::from_millis(5);
/// sisal::chan::at(then).recv().unwrap();
/// assert!(Instant::now() >= then);
/// ```
pub fn at(instant: Instant) -> Receiver<Instant> {
    clock(Moment::of(instant), None, |sent| sent)
}

/// A receiver of one message every `period`. Of messages that are not received in time the first stays, and those after it are
/// skipped. It is never closed.
///
/// # Panics
/// If the period is zero.
///
/// ```
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// let beat = sisal::chan::tick(Duration::from_millis(2));
/// beat.iter().take(3).for_each(drop);
/// assert!(start.elapsed() >= Duration::from_millis(6));
/// ```
pub fn tick(period: Duration) -> Receiver<Instant> {
    assert!(!period.is_zero(), "sisal: a tick needs a period greater than zero");
    clock(Moment::now().after(period), Some(period), |sent| sent)
}

/// A receiver that never gets a message and is never closed: for an arm of a select that is to stay out.
///
/// ```
/// assert!(sisal::chan::never::<u32>().try_recv().is_err());
/// ```
pub fn never<T>() -> Receiver<T> {
    clock(Moment::NEVER, None, |_| unreachable!("INVARIANT: never is not due"))
}
