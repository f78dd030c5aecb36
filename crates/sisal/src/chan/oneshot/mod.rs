//! A channel for one message. Neither side takes a lock, and an exchange without a wait is one read-modify-write altogether.
//!
//! # Words
//! One block for both sides: the word, the value, and the receiver's wait, which lies here and not in its frame, so that the sender can
//! look at it although the receiver may be gone.
//! ```text
//!    3               2             1   0
//!  ┌───────────────┬─────────────┬───────────────────────────────┐
//!  │ RECEIVER_GONE │ SENDER_GONE │ EMPTY, WAITED, SENT or CLOSED │
//!  └───────────────┴─────────────┴───────────────────────────────┘
//! ```
//! - EMPTY: the value is the sender's to write, the wait the receiver's.
//! - WAITED: the receiver's wait can be claimed by the sender.
//! - SENT: the value is the receiver's. CLOSED: none will come.
//! - GONE: that side touches the block no more. The later of the two frees it; with the value it has nothing to do.
//!
//! # Protocol
//! - *Send*: write the value, then exchange EMPTY for SENT and SENDER_GONE, in one. Or WAITED for SENT: the wait is now the sender's to
//!   claim. If that succeeds, the receiver sleeps until it is unparked: the sender sets SENDER_GONE, and unparks it. If it fails, the
//!   receiver is awake, gives up, and finds SENT; the sender is gone. If RECEIVER_GONE is found instead, the value was written
//!   for nobody and is taken back. A sender that is dropped does the same with CLOSED.
//! - *Receive*: if SENT, take the value and go; if CLOSED, go. Else write a wait, exchange EMPTY for WAITED, and park.
//! - *Cancel, deadline*: they claim the wait. The receiver exchanges WAITED for EMPTY: the wait is its own again. If that fails, the
//!   value (or the end) came at the last moment, and is received.
//! - *Poll* (the receiver as a future): as receive, with the wait of a [task](crate::prim::task_parker), and without the park. When it is polled again and
//!   has not been unparked, the waker is exchanged. Before it does anything else, a receiver that was polled takes its wait back: it
//!   claims it, and exchanges WAITED for EMPTY. If the sender was quicker with the claim, it sets SENDER_GONE as its next step;
//!   that is waited for actively, because a task, unlike a thread or fiber, does not sleep until it is unparked.
//! - *Select* (the receiver as an arm): as receive, with a record in the frame of the select, which the block points to, and without the park.
//!   When the select is over, and was not ended by this arm, WAITED is exchanged for EMPTY: the record is the select's own again. If that fails, the
//!   sender has found the record, and sets SENDER_GONE when it has looked at it; that is waited for actively.
//! - *Drop of the receiver*: exchange EMPTY for RECEIVER_GONE; or, if there is a value, take it, go, and drop it.
//!
//! Why no wake is lost: the receiver parks after EMPTY became WAITED, and the sender's exchange then finds WAITED. Why the wait
//! is safe to look at: between the sender's exchange of WAITED and its SENDER_GONE the receiver neither writes the wait
//! (it does so in EMPTY only) nor frees the block.
//!
//! # What is where
//! The block and its two sides are here, the word and the wait in `meeting`, the receiver as a future in `future`, and as an arm in `arm`.
#![allow(unsafe_code, reason = "the block is shared memory, owned as its word says")]

mod arm;
mod future;
#[cfg(all(test, loom))]
mod loom_models;
mod meeting;

use self::meeting::{CLOSED, EMPTY, Ended, Meeting, RECEIVER_GONE, SENT};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::fiber::end::Freeing;
use crate::fiber::waiter::Woken;
use crate::park::{Waiting, park, pay_fuel};
use crate::prim::cancel::Cancelled;
use crate::prim::cell::UnsafeCell;
use crate::prim::clock::Moment;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

struct Block<T> {
    meeting: Meeting,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Watched for Block<T> {
    fn sight(&self) -> Sight {
        Sight::channel(Some(1), 0)
    }
}

impl<T> Block<T> {
    /// # Safety
    /// The value is there, and is the caller's. It is not there any more afterwards.
    unsafe fn take(&self) -> T {
        // SAFETY: the caller's promise.
        self.value.with(|value| unsafe { (*value).assume_init_read() })
    }
}

/// # Safety
/// Both sides are gone.
unsafe fn free<T>(block: NonNull<Block<T>>) {
    // SAFETY: it was leaked by `oneshot`, and nobody else reaches it.
    drop(unsafe { Box::from_raw(block.as_ptr()) });
}

/// A channel for one message.
///
/// The receiver is an arm of [`select!`](crate::select!) as `recv(&mut receiver)`, and a future.
///
/// ```
/// sisal::run(|| {
///     let (answer, answered) = sisal::chan::oneshot();
///     sisal::spawn(move || answer.send(6 * 7));
///     assert_eq!(answered.recv(), Ok(42));
/// });
/// ```
pub fn oneshot<T>() -> (OneSender<T>, OneReceiver<T>) {
    let block = Block { meeting: Meeting::new(), value: UnsafeCell::new(MaybeUninit::uninit()) };
    let block = NonNull::from(Box::leak(Box::new(block)));
    (OneSender { block }, OneReceiver { block: Some(block), polled: false })
}

/// Sends the one message of a [`oneshot`] channel. If it is dropped instead, the channel is closed.
///
/// ```
/// let (sender, receiver) = sisal::chan::oneshot::<u32>();
/// drop(sender);
/// assert_eq!(receiver.recv(), Err(sisal::chan::RecvError::Closed));
/// ```
#[must_use = "if it is dropped, the receiver gets nothing"]
pub struct OneSender<T> {
    block: NonNull<Block<T>>,
}

// SAFETY: the value goes from one thread to another, and is never seen by two.
unsafe impl<T: Send> Send for OneSender<T> {}
// SAFETY: through a shared sender nothing can be had but the news that the receiver is gone.
unsafe impl<T: Send> Sync for OneSender<T> {}
// A panic leaves the channel as it was.
impl<T> UnwindSafe for OneSender<T> {}
impl<T> RefUnwindSafe for OneSender<T> {}

impl<T> OneSender<T> {
    /// Sends the message. Never waits.
    ///
    /// # Errors
    /// The message, if the receiver is gone.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::oneshot();
    /// drop(receiver);
    /// assert_eq!(sender.send(7), Err(7));
    /// ```
    #[track_caller]
    pub fn send(self, message: T) -> Result<(), T> {
        let place = Location::caller();
        let pointer = ManuallyDrop::new(self).block;
        // SAFETY: the sender is not gone.
        let block = unsafe { pointer.as_ref() };
        // SAFETY: nothing was sent yet, so the value is ours to write.
        block.value.with_mut(|value| unsafe { (*value).write(message) });
        match block.meeting.end(SENT) {
            Ended::Seen(freeing) => {
                if freeing == Freeing::Mine {
                    // SAFETY: both sides are gone.
                    unsafe { free(pointer) };
                }
                pay_fuel(place);
                Ok(())
            }
            Ended::Unseen => {
                // SAFETY: the receiver is gone and has not seen it. With the message back we are, too.
                let message = unsafe {
                    let message = block.take();
                    free(pointer);
                    message
                };
                pay_fuel(place);
                Err(message)
            }
        }
    }

    /// Whether the receiver is gone.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::oneshot::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        // SAFETY: the sender is not gone.
        unsafe { self.block.as_ref() }.meeting.is_unwanted()
    }
}

impl<T> Drop for OneSender<T> {
    fn drop(&mut self) {
        // SAFETY: the sender is not gone.
        match unsafe { self.block.as_ref() }.meeting.end(CLOSED) {
            Ended::Seen(Freeing::Theirs) => {}
            // SAFETY: both sides are gone.
            Ended::Seen(Freeing::Mine) | Ended::Unseen => unsafe { free(self.block) },
        }
    }
}

impl<T> fmt::Debug for OneSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneSender").field("is_closed", &self.is_closed()).finish()
    }
}

/// Receives the one message of a [`oneshot`] channel.
///
/// ```
/// let (sender, receiver) = sisal::chan::oneshot();
/// sender.send(7).unwrap();
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub struct OneReceiver<T> {
    /// None when the message, or the news that there is none, has been received: then this side is gone.
    block: Option<NonNull<Block<T>>>,
    /// Whether it waits as a task.
    polled: bool,
}

// SAFETY: as for the sender.
unsafe impl<T: Send> Send for OneReceiver<T> {}
// SAFETY: through a shared receiver nothing can be had.
unsafe impl<T: Send> Sync for OneReceiver<T> {}
// A panic leaves the channel as it was.
impl<T> UnwindSafe for OneReceiver<T> {}
impl<T> RefUnwindSafe for OneReceiver<T> {}

impl<T> OneReceiver<T> {
    /// Waits for the message.
    ///
    /// # Errors
    /// If the sender is gone without having sent it, or if something from outside ended the wait.
    ///
    /// ```
    /// let (sender, receiver) = sisal::chan::oneshot();
    /// std::thread::spawn(move || sender.send("from a thread"));
    /// assert_eq!(receiver.recv(), Ok("from a thread"));
    /// ```
    #[track_caller]
    pub fn recv(mut self) -> Result<T, RecvError> {
        self.recv_at(|| None, Location::caller()).map_err(|error| match error {
            RecvTimeoutError::Closed => RecvError::Closed,
            RecvTimeoutError::Cancelled(cancelled) => RecvError::Cancelled(cancelled),
            RecvTimeoutError::TimedOut => unreachable!("INVARIANT: no deadline was given"),
        })
    }

    /// As [`recv`](Self::recv), for at most so long. Can be repeated.
    ///
    /// # Errors
    /// If the time is up, the sender is gone without having sent, the message was received before, or something from outside ended
    /// the wait.
    ///
    /// ```
    /// use sisal::chan::RecvTimeoutError;
    /// use std::time::Duration;
    /// let (sender, mut receiver) = sisal::chan::oneshot();
    /// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::TimedOut));
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Ok(7));
    /// ```
    #[track_caller]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_at(|| Some(Moment::now().after(timeout)), Location::caller())
    }

    /// As [`recv_timeout`](Self::recv_timeout), until this time at most.
    ///
    /// # Errors
    /// As for [`recv_timeout`](Self::recv_timeout).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let (sender, mut receiver) = sisal::chan::oneshot();
    /// assert!(receiver.recv_deadline(Instant::now()).is_err());
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.recv_deadline(Instant::now() + Duration::from_secs(60)), Ok(7));
    /// ```
    #[track_caller]
    pub fn recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_at(|| Some(Moment::of(deadline)), Location::caller())
    }

    /// The message, if it is there.
    ///
    /// # Errors
    /// If it is not, and never will be if the sender is gone or it was received before.
    ///
    /// ```
    /// use sisal::chan::TryRecvError;
    /// let (sender, mut receiver) = sisal::chan::oneshot();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(7).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[track_caller]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let place = Location::caller();
        let received = self.take();
        pay_fuel(place);
        received
    }

    pub(super) fn recv_at(
        &mut self,
        deadline: impl FnOnce() -> Option<Moment>,
        place: Place,
    ) -> Result<T, RecvTimeoutError> {
        match self.take() {
            Ok(message) => {
                pay_fuel(place);
                Ok(message)
            }
            Err(TryRecvError::Closed) => {
                pay_fuel(place);
                Err(RecvTimeoutError::Closed)
            }
            Err(TryRecvError::Empty) => {
                self.wait(deadline(), place)?;
                self.take().map_err(|error| match error {
                    TryRecvError::Closed => RecvTimeoutError::Closed,
                    TryRecvError::Empty => unreachable!("INVARIANT: the sender is done"),
                })
            }
        }
    }

    /// Waits until the sender is done.
    fn wait(&self, deadline: Option<Moment>, place: Place) -> Result<(), RecvTimeoutError> {
        let Some(block) = &self.block else { return Ok(()) };
        // SAFETY: the receiver is not gone.
        let block = unsafe { block.as_ref() };
        let object = Object::of(block);
        let waiting = Waiting { reason: Reason::Receive, object, place, deadline, cancellable: true };
        match block.meeting.wait_by(|wait| park(wait, &waiting)) {
            Woken::Object(_) => Ok(()),
            Woken::Deadline => Err(RecvTimeoutError::TimedOut),
            Woken::Cancelled(cause) => {
                pay_fuel(place);
                Err(RecvTimeoutError::Cancelled(Cancelled::by(cause)))
            }
        }
    }

    /// Takes the message and goes, if the sender is done.
    #[inline]
    fn take(&mut self) -> Result<T, TryRecvError> {
        let Some(pointer) = self.block else { return Err(TryRecvError::Closed) };
        // SAFETY: the receiver is not gone.
        let block = unsafe { pointer.as_ref() };
        if std::mem::take(&mut self.polled) {
            block.meeting.delist_task();
        }
        let message = match block.meeting.state() {
            EMPTY => return Err(TryRecvError::Empty),
            // SAFETY: it was sent, and is taken once: we are gone afterwards.
            SENT => Ok(unsafe { block.take() }),
            _ => Err(TryRecvError::Closed),
        };
        self.block = None;
        if block.meeting.leave(RECEIVER_GONE) == Freeing::Mine {
            // SAFETY: both sides are gone.
            unsafe { free(pointer) };
        }
        message
    }
}

impl<T> Drop for OneReceiver<T> {
    fn drop(&mut self) {
        while let Some(block) = &self.block {
            // SAFETY: the receiver is not gone.
            if !self.polled && unsafe { block.as_ref() }.meeting.go_unserved() {
                return;
            }
            drop(self.take());
        }
    }
}

impl<T> fmt::Debug for OneReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneReceiver").finish_non_exhaustive()
    }
}
