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
//! - *Poll* (the receiver as a future): as receive, with the wait of a [task](TaskParker), and without the park. When it is polled again and
//!   has not been unparked, the waker is exchanged. Before it does anything else, a receiver that was polled takes its wait back: it
//!   claims it, and exchanges WAITED for EMPTY. If the sender was quicker with the claim, it sets SENDER_GONE as its next step;
//!   that is waited for actively, because a task, unlike a thread or fiber, does not sleep until it is unparked.
//! - *Drop of the receiver*: exchange EMPTY for RECEIVER_GONE; or, if there is a value, take it, go, and drop it.
//!
//! Why no wake is lost: the receiver parks after EMPTY became WAITED, and the sender's exchange then finds WAITED. Why the wait
//! is safe to look at: between the sender's exchange of WAITED and its SENDER_GONE the receiver neither writes the wait
//! (it does so in EMPTY only) nor frees the block.
#![allow(unsafe_code, reason = "the block is shared memory, owned as its word says")]

use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::fiber::end::Freeing;
use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park::{Waiting, me, park, pay_fuel, unpark};
use crate::prim::atomic::{AtomicUsize, Backoff, Ordering};
use crate::prim::cancel::Cancelled;
use crate::prim::cell::UnsafeCell;
use crate::prim::clock::Moment;
use crate::prim::object::{Object, Sight, Watched};
use crate::prim::reason::{Place, Reason};
use crate::prim::task_parker::TaskParker;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const EMPTY: usize = 0;
const WAITED: usize = 1;
const SENT: usize = 2;
const CLOSED: usize = 3;
const STATES: usize = 3;
const SENDER_GONE: usize = 4;
const RECEIVER_GONE: usize = 8;

/// Where the two sides meet: the word and the wait.
struct Meeting {
    word: AtomicUsize,
    wait: UnsafeCell<Option<Wait<Who>>>,
}

/// How the sender's part ended.
#[must_use]
enum Ended {
    /// The receiver will see it; the sender is gone.
    Seen(Freeing),
    /// The receiver is gone, so the block is the sender's alone.
    Unseen,
}

impl Meeting {
    fn new() -> Meeting {
        Meeting { word: AtomicUsize::new(EMPTY), wait: UnsafeCell::new(None) }
    }

    /// The sender is done: by SENT, with the value in place, or by CLOSED. It has not been before.
    fn end(&self, how: usize) -> Ended {
        // ORDERING: Acquire pairs with the Release of `go_unserved`: what the receiver did comes before the freeing.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let next = match word {
                EMPTY => how | SENDER_GONE,
                WAITED => how,
                RECEIVER_GONE => return Ended::Unseen,
                _ => unreachable!("INVARIANT: a sender is done once"),
            };
            // ORDERING: Release pairs with the Acquire of `state`: the value can be read. Acquire pairs with the Release of `wait_by`:
            // the wait can be; on failure it is as above.
            match self.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(WAITED) => return Ended::Seen(self.wake(how)),
                Ok(_) => return Ended::Seen(Freeing::Theirs),
                Err(now) => word = now,
            }
        }
    }

    /// WAITED has become `how`: wakes the receiver, if nothing else has, and goes.
    #[cold]
    fn wake(&self, how: usize) -> Freeing {
        // SAFETY: the receiver writes the wait in EMPTY only, and the word will not be EMPTY again.
        let claimed = self.wait.with(|wait| unsafe { (*wait).as_ref() }.and_then(|wait| wait.claim(Woken::Object(0))));
        match claimed {
            Some(receiver) => {
                // ORDERING: Release pairs with the Acquire of `leave`: our look at the wait comes before the freeing. It need not be an
                // exchange, since the receiver does nothing until it is unparked.
                self.word.store(how | SENDER_GONE, Ordering::Release);
                unpark(receiver);
                Freeing::Theirs
            }
            None => self.leave(SENDER_GONE),
        }
    }

    /// EMPTY, SENT or CLOSED, for the receiver while it does not wait.
    #[inline]
    fn state(&self) -> usize {
        // ORDERING: Acquire pairs with the Release of `end`: the value can be read.
        self.word.load(Ordering::Acquire) & STATES
    }

    /// The receiver waits, by what `park` does with its wait. `Object` means that the sender is done, anything else that it is not.
    fn wait_by(&self, park: impl FnOnce(&Wait<Who>) -> Woken) -> Woken {
        // SAFETY: the word is EMPTY or the sender is done without having found a wait, so nobody else looks.
        self.wait.with_mut(|wait| unsafe { *wait = Some(Wait::new(me())) });
        // ORDERING: Release pairs with the Acquire of `end`: the sender finds the wait.
        if self.word.compare_exchange(EMPTY, WAITED, Ordering::Release, Ordering::Relaxed).is_err() {
            return Woken::Object(0);
        }
        // SAFETY: we have written it, and nobody writes it while we wait.
        let woken = self.wait.with(|wait| match unsafe { (*wait).as_ref() } {
            Some(wait) => park(wait),
            None => unreachable!("INVARIANT: written above"),
        });
        match woken {
            Woken::Object(_) => woken,
            // Relaxed: the sender has not looked at the wait.
            _ => match self.word.compare_exchange(WAITED, EMPTY, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => woken,
                Err(_) => Woken::Object(0),
            },
        }
    }

    /// The receiver waits as a task, which is not waited for here; false if the sender is done.
    #[must_use]
    fn enlist_task(&self, waker: Waker) -> bool {
        let who = Who::Task(Arc::new(TaskParker::new(waker)));
        // SAFETY: as in `wait_by`.
        self.wait.with_mut(|wait| unsafe { *wait = Some(Wait::new(who)) });
        // ORDERING: as in `wait_by`.
        self.word.compare_exchange(EMPTY, WAITED, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Calls `f` with the wait of a task and its parker. For the receiver, after [`enlist_task`](Self::enlist_task).
    fn with_task<R>(&self, f: impl FnOnce(&Wait<Who>, &TaskParker) -> R) -> R {
        // SAFETY: only the receiver writes it, which is the caller.
        self.wait.with(|wait| match unsafe { (*wait).as_ref() }.map(|wait| (wait, wait.who())) {
            Some((wait, Who::Task(parker))) => f(wait, parker),
            _ => unreachable!("INVARIANT: the receiver was enlisted as a task"),
        })
    }

    /// The wait of a task is the receiver's own again, and the word EMPTY, or the sender is done.
    fn delist_task(&self) {
        let claimed = self.with_task(|wait, parker| {
            let claimed = wait.claim_own(Woken::Deadline);
            if claimed {
                parker.withdraw();
            }
            claimed
        });
        if claimed {
            // Relaxed: the sender has not looked at the wait, or, if this fails, finds it claimed.
            let _ = self.word.compare_exchange(WAITED, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
            return;
        }
        let mut backoff = Backoff::new();
        // ORDERING: Acquire pairs with the Release in `wake`: the sender's look at the wait comes before what we do.
        while self.word.load(Ordering::Acquire) & SENDER_GONE == 0 {
            backoff.pause();
        }
    }

    /// The receiver goes before the sender is done; false if that is done.
    #[must_use]
    fn go_unserved(&self) -> bool {
        // ORDERING: Release pairs with the Acquire of `end`: what we did comes before the freeing.
        self.word.compare_exchange(EMPTY, RECEIVER_GONE, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// One side goes, after the sender is done and its value, if there was one, is out.
    #[inline]
    fn leave(&self, side: usize) -> Freeing {
        let other = side ^ (SENDER_GONE | RECEIVER_GONE);
        // ORDERING: Acquire pairs with the Release of whatever set that the other side is gone, Release with the Acquire of
        // its `leave`: what one side did comes before the freeing by the other.
        if self.word.load(Ordering::Acquire) & other != 0 || self.word.fetch_or(side, Ordering::AcqRel) & other != 0 {
            Freeing::Mine
        } else {
            Freeing::Theirs
        }
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // By way of the cell, so that the models see whether anybody still looks at it.
        // SAFETY: whoever has the meeting to itself has the wait.
        self.wait.with_mut(|wait| drop(unsafe { (*wait).take() }));
    }
}

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
                unsafe {
                    let message = block.take();
                    free(pointer);
                    Err(message)
                }
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
        unsafe { self.block.as_ref() }.meeting.word.load(Ordering::Relaxed) & RECEIVER_GONE != 0
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

    fn recv_at(&mut self, deadline: impl FnOnce() -> Option<Moment>, place: Place) -> Result<T, RecvTimeoutError> {
        match self.take() {
            Ok(message) => {
                pay_fuel(place);
                Ok(message)
            }
            Err(TryRecvError::Closed) => Err(RecvTimeoutError::Closed),
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
            Woken::Cancelled(cause) => Err(RecvTimeoutError::Cancelled(Cancelled::by(cause))),
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

/// The receiver is a future, for any executor. Nothing from outside ends its wait, so the error is always that the sender is gone.
///
/// ```
/// sisal::run(|| {
///     let (answer, answered) = sisal::chan::oneshot();
///     sisal::spawn(move || answer.send(6 * 7));
///     assert_eq!(sisal::block_on(answered), Ok(42));
/// });
/// ```
impl<T> Future for OneReceiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let receiver = self.get_mut();
        loop {
            if let (Some(block), true) = (receiver.block, receiver.polled)
                // SAFETY: the receiver is not gone.
                && unsafe { block.as_ref() }.meeting.with_task(|_, parker| parker.set_waker(context.waker()))
            {
                return Poll::Pending;
            }
            match (receiver.take(), receiver.block) {
                (Ok(message), _) => return Poll::Ready(Ok(message)),
                (Err(TryRecvError::Empty), Some(block)) => {
                    // SAFETY: the receiver is not gone.
                    if unsafe { block.as_ref() }.meeting.enlist_task(context.waker().clone()) {
                        receiver.polled = true;
                        return Poll::Pending;
                    }
                }
                (Err(_), _) => return Poll::Ready(Err(RecvError::Closed)),
            }
        }
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

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize as Counter;
    use loom::thread;
    use std::collections::HashSet;
    use std::sync::Mutex;

    /// Counts how often it is dropped.
    struct Message(Arc<Counter>);

    impl Drop for Message {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn outcome<T>(received: &Result<T, RecvError>) -> &'static str {
        match received {
            Ok(_) => "message",
            Err(RecvError::Closed) => "closed",
            Err(RecvError::Cancelled(_)) => unreachable!("nobody cancels"),
        }
    }

    /// A wait whose time is up at once.
    fn wait_briefly(receiver: &OneReceiver<Message>) -> Woken {
        let place = Location::caller();
        let waiting =
            Waiting { reason: Reason::Receive, object: Object::NONE, place, deadline: None, cancellable: true };
        let block = receiver.block.unwrap();
        // SAFETY: the receiver is not gone.
        unsafe { block.as_ref() }.meeting.wait_by(|wait| match wait.claim_own(Woken::Deadline) {
            true => Woken::Deadline,
            // The sender has been faster: its unpark is on its way.
            false => park(wait, &waiting),
        })
    }

    /// Counts its wakes.
    struct Bell(Counter);

    impl std::task::Wake for Bell {
        fn wake(self: std::sync::Arc<Bell>) {
            self.0.fetch_add(1, Ordering::Release);
        }
    }

    fn poll(receiver: &mut OneReceiver<Message>, waker: &Waker) -> Poll<Result<Message, RecvError>> {
        Pin::new(receiver).poll(&mut Context::from_waker(waker))
    }

    fn after(polled: Poll<Result<Message, RecvError>>) -> &'static str {
        match polled {
            Poll::Ready(received) => outcome(&received),
            Poll::Pending => "nothing",
        }
    }

    /// Does what `how` says, and tells what came of it.
    fn receive(how: &'static str, mut receiver: OneReceiver<Message>) -> &'static str {
        match how {
            "receives" => outcome(&receiver.recv()),
            "tries" => match receiver.try_recv() {
                Ok(_) => "message",
                Err(TryRecvError::Empty) => "nothing",
                Err(TryRecvError::Closed) => "closed",
            },
            "gives up" => match wait_briefly(&receiver) {
                Woken::Object(_) => "woken",
                _ => "gave up",
            },
            "gives up and receives" => {
                let _ = wait_briefly(&receiver);
                outcome(&receiver.recv())
            }
            "polls twice" => match poll(&mut receiver, Waker::noop()).is_ready() {
                true => "ready",
                false => after(poll(&mut receiver, Waker::noop())),
            },
            "polls and receives" => match poll(&mut receiver, Waker::noop()) {
                Poll::Ready(received) => outcome(&received),
                Poll::Pending => outcome(&receiver.recv()),
            },
            "awaits" => {
                let bell = std::sync::Arc::new(Bell(Counter::new(0)));
                let waker = Waker::from(bell.clone());
                let first = poll(&mut receiver, &waker);
                while first.is_pending() && bell.0.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
                match first {
                    Poll::Ready(received) => outcome(&received),
                    Poll::Pending => after(poll(&mut receiver, &waker)),
                }
            }
            _ => "gone",
        }
    }

    fn send(sends: bool, sender: OneSender<Message>, drops: &Arc<Counter>) -> &'static str {
        match sends.then(|| sender.send(Message(drops.clone()))) {
            Some(Ok(())) => "sent",
            Some(Err(_)) => "got it back",
            None => "gone",
        }
    }

    /// Everything the sender can do against everything the receiver can: no receiver sleeps for ever, and a message is dropped once,
    /// whoever has it last. Returns what was reached.
    fn check(sends: bool, how: &'static str) -> HashSet<(&'static str, &'static str)> {
        let seen: &'static Mutex<HashSet<_>> = Box::leak(Box::default());
        loom::model(move || {
            let drops = Arc::new(Counter::new(0));
            let (sender, receiver) = oneshot();
            let other = thread::spawn(move || receive(how, receiver));
            let sent = send(sends, sender, &drops);
            let received = other.join().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), usize::from(sends), "{sent}, {received}");
            assert!(received != "message" || sent == "sent");
            seen.lock().unwrap().insert((sent, received));
        });
        seen.lock().unwrap().clone()
    }

    #[test]
    fn loom_oneshot_send_meets_every_receiver() {
        assert_eq!(check(true, "receives"), HashSet::from([("sent", "message")]));
        assert_eq!(
            check(true, "tries"),
            HashSet::from([("sent", "message"), ("sent", "nothing"), ("got it back", "nothing")])
        );
        assert_eq!(
            check(true, "gives up"),
            HashSet::from([("sent", "woken"), ("sent", "gave up"), ("got it back", "gave up")])
        );
        assert_eq!(check(true, "gives up and receives"), HashSet::from([("sent", "message")]));
        assert_eq!(check(true, "goes"), HashSet::from([("sent", "gone"), ("got it back", "gone")]));
    }

    #[test]
    fn loom_oneshot_drop_meets_every_receiver() {
        assert_eq!(check(false, "receives"), HashSet::from([("gone", "closed")]));
        assert_eq!(check(false, "tries"), HashSet::from([("gone", "closed"), ("gone", "nothing")]));
        assert_eq!(check(false, "gives up"), HashSet::from([("gone", "woken"), ("gone", "gave up")]));
        assert_eq!(check(false, "gives up and receives"), HashSet::from([("gone", "closed")]));
        assert_eq!(check(false, "goes"), HashSet::from([("gone", "gone")]));
    }

    #[test]
    fn loom_oneshot_future_meets_every_sender() {
        assert_eq!(
            check(true, "polls twice"),
            HashSet::from([("sent", "ready"), ("sent", "message"), ("sent", "nothing"), ("got it back", "nothing")])
        );
        assert_eq!(check(true, "polls and receives"), HashSet::from([("sent", "message")]));
        assert_eq!(check(true, "awaits"), HashSet::from([("sent", "message")]));
        assert_eq!(
            check(false, "polls twice"),
            HashSet::from([("gone", "ready"), ("gone", "closed"), ("gone", "nothing")])
        );
        assert_eq!(check(false, "polls and receives"), HashSet::from([("gone", "closed")]));
        assert_eq!(check(false, "awaits"), HashSet::from([("gone", "closed")]));
    }
}
