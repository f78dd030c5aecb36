//! Receiving as a task, in any executor.
//!
//! # Protocol
//! A poll tries; if it has to wait, it links a record, as the blocking calls do. The record is one of a [task](TaskRecord), so it is on
//! the heap, and wakes by a waker. The next poll finds out what has become of it: not unparked, it exchanges the waker; handed a
//! message, it is ready; signalled, it tries again before anything else.
//!
//! # A future that is dropped while it waits
//! It takes its record off the list, under the channel's lock. If nobody had claimed it, that was all. Else what it was given is
//! not lost: a message goes back to the channel ([`give_back`](ReceivePort::give_back)), a signal goes on to another
//! ([`pass_on_receipt`](ReceivePort::pass_on_receipt)). If the unpark has not come yet, whoever won the claim may still be writing to the
//! record; then it is [left behind](crate::prim::task_parker), together with a handle of the channel, and the same is done by the unpark.
#![allow(unsafe_code, reason = "values are moved by way of slots in records")]

use super::ReceiverFlavour;
use super::clock::Clock;
use super::error::RecvError;
use super::left::{Side, leave};
use super::port::{Attempt, ReceivePort};
use super::receiver::{Receiver, each_receiver};
use crate::fiber::task_record::TaskRecord;
use crate::park::gives_way;
use crate::prim::wake_timer::WakeTimer;
use std::fmt;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A receive as a future. See [`Receiver::recv_async`].
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(1);
/// let future: sisal::chan::RecvFuture<'_, u32> = receiver.recv_async();
/// sender.send(7).unwrap();
/// assert_eq!(sisal::block_on(future), Ok(7));
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a, T> {
    receiver: &'a Receiver<T>,
    receiving: Receiving<T>,
}

impl<T> Receiver<T> {
    /// Receives a message, as a future for any executor. Dropping it at any time loses no message.
    ///
    /// (A message that was handed to such a future by a rendezvous goes back when the future is dropped before it has been polled again. Receivers
    /// that found the channel closed meanwhile have been told so; whoever asks then still gets it.)
    ///
    /// Nothing from outside ends its wait, so the error is always that the channel is closed and empty. A channel that time sends to
    /// wakes its future from a thread that keeps the time for all. In a fiber it says once in a while that it is not ready although it
    /// might be, and wakes itself, so that others have a turn.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::bounded(0);
    ///     sisal::spawn(move || sender.send(42));
    ///     assert_eq!(sisal::block_on(receiver.recv_async()), Ok(42));
    ///     assert_eq!(sisal::block_on(receiver.recv_async()), Err(sisal::chan::RecvError::Closed));
    /// });
    /// ```
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture { receiver: self, receiving: Receiving::new() }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let future = self.get_mut();
        future.receiving.poll(future.receiver, context)
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    fn drop(&mut self) {
        self.receiving.abandon(self.receiver);
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvFuture").field("receiver", self.receiver).finish()
    }
}

// The message is in the record, or nowhere.
impl<T> Unpin for Receiving<T> {}

/// One receive after the other, from the same receiver.
pub(super) struct Receiving<T> {
    record: Option<TaskRecord<MaybeUninit<T>>>,
    /// Whether the record stands for a wait that has not been found to be over.
    waits: bool,
    timer: Option<WakeTimer>,
}

impl<T> Receiving<T> {
    pub(super) fn new() -> Receiving<T> {
        Receiving { record: None, waits: false, timer: None }
    }

    pub(super) fn poll(&mut self, receiver: &Receiver<T>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        // Before a signal is taken, which would be lost if this were dropped before the next poll.
        if gives_way(context) {
            return Poll::Pending;
        }
        if let Some(record) = self.record.as_ref().filter(|_| self.waits) {
            if record.parker().set_waker(context.waker()) {
                return Poll::Pending;
            }
            self.waits = false;
            if record.waiter().was_handed() {
                // SAFETY: the sender has put a value into the slot, which is taken once.
                return Poll::Ready(Ok(unsafe { record.slot().read().assume_init() }));
            }
        }
        match &receiver.0 {
            ReceiverFlavour::Clock(clock) => self.poll_clock(clock, context),
            _ => each_receiver!(receiver, channel => self.poll_port(&**channel, context)),
        }
    }

    fn poll_port<P: ReceivePort<T>>(&mut self, port: &P, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let mut slot = MaybeUninit::uninit();
        // SAFETY: the slot can be written, and holds a value if one was received.
        match unsafe { port.try_receive(slot.as_mut_ptr()) } {
            // SAFETY: as above.
            Attempt::Done => return Poll::Ready(Ok(unsafe { slot.assume_init() })),
            Attempt::Closed => return Poll::Ready(Err(RecvError::Closed)),
            Attempt::Waits => {}
        }
        let record = TaskRecord::prepare(&mut self.record, context.waker().clone(), MaybeUninit::uninit);
        let slot = record.slot().cast::<T>();
        record.waiter().set_slot(slot.cast());
        // SAFETY: as above. The record stays until it is found to be unparked, or is abandoned, which takes it off or leaves it to
        // the unpark.
        match unsafe { port.receive_or_enlist(slot, record.waiter()) } {
            Attempt::Done => {
                // Out of the record first: to drop a waker is to call somebody else's code, which may panic.
                // SAFETY: as above.
                let value = unsafe { slot.read() };
                record.parker().withdraw();
                Poll::Ready(Ok(value))
            }
            Attempt::Closed => {
                record.parker().withdraw();
                Poll::Ready(Err(RecvError::Closed))
            }
            Attempt::Waits => {
                self.waits = true;
                Poll::Pending
            }
        }
    }

    /// Nobody is ever linked to a clock: it is tried again when it is due.
    fn poll_clock(&mut self, clock: &Clock<T>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let mut slot = MaybeUninit::uninit();
        // SAFETY: the slot can be written, and holds a value if one was received.
        if unsafe { clock.try_receive(slot.as_mut_ptr()) } == Attempt::Done {
            self.timer = None;
            // SAFETY: as above.
            return Poll::Ready(Ok(unsafe { slot.assume_init() }));
        }
        if let Some(due) = clock.due()
            && self.timer.as_ref().is_none_or(|timer| !timer.is_for(due, context.waker()))
        {
            self.timer = Some(WakeTimer::new(due, context.waker()));
        }
        Poll::Pending
    }

    /// Nobody polls any more.
    pub(super) fn abandon(&mut self, receiver: &Receiver<T>) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let Some(record) = self.record.take() else { return };
        each_receiver!(receiver, channel => channel.delist_receiver(record.waiter()));
        if record.wait().woken().is_some() {
            leave(receiver, record);
        }
    }
}

// SAFETY: records are linked to the channel and nowhere else, and handles are `Send` if messages are.
unsafe impl<T> Side<T> for Receiver<T> {
    fn give_on(&self, record: &TaskRecord<MaybeUninit<T>>) {
        if record.waiter().was_handed() {
            // SAFETY: the sender has put a value into the slot, which is moved out once.
            each_receiver!(self, channel => unsafe { channel.give_back(record.slot().cast()) });
        } else {
            each_receiver!(self, channel => channel.pass_on_receipt());
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use crate::chan::models::{Counter, Left};
    use crate::chan::{Sender, bounded, unbounded};
    use crate::park::and_whether_it_waited;
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use std::task::Waker;

    /// A receive that is polled, once or twice, and dropped, against the send of an item: that is received by it or by the next. Reached:
    /// ready at once, ready when it was woken, and however it was left.
    fn drop_against_send(make: fn() -> (Sender<Box<usize>>, Receiver<Box<usize>>)) {
        let seen: &'static Mutex<HashSet<Result<bool, Left>>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let (sender, receiver) = make();
            let other = loom::thread::spawn(move || sender.send(Box::new(7)).unwrap());
            let counter = Counter::new();
            let waker = Waker::from(Arc::clone(&counter));
            let mut context = Context::from_waker(&waker);
            let mut future = receiver.recv_async();
            let received = match Pin::new(&mut future).poll(&mut context) {
                Poll::Pending => Pin::new(&mut future).poll(&mut context),
                ready => ready,
            };
            let parker = future.receiving.record.as_ref().map(|record| Arc::clone(record.parker()));
            drop(future);
            let by_future = received.is_ready();
            let item = match received {
                Poll::Ready(item) => item.unwrap(),
                Poll::Pending => receiver.recv().unwrap(),
            };
            assert_eq!(*item, 7);
            other.join().unwrap();
            let was_woken = counter.wakes() > 0;
            seen.lock().unwrap().insert(match parker {
                Some(parker) if !by_future => Err(Left::of(&parker, &counter)),
                _ => Ok(was_woken),
            });
            assert!(receiver.recv().is_err());
        });
        let lefts = [Left::InTime, Left::Woken, Left::Behind];
        assert_eq!(*seen.lock().unwrap(), [Ok(false), Ok(true)].into_iter().chain(lefts.map(Err)).collect());
    }

    #[test]
    fn loom_future_of_rendezvous_loses_no_item() {
        drop_against_send(|| bounded(0));
    }

    #[test]
    fn loom_future_of_array_loses_no_item() {
        drop_against_send(|| bounded(1));
    }

    #[test]
    fn loom_future_of_list_loses_no_item() {
        drop_against_send(unbounded);
    }

    /// One future waits, and is dropped while an item is sent; another receives and gets it, and is woken for it if it waits. Reached: ready at
    /// once; and however it was left, with another that had to wait and with one that had not.
    fn pass_on_to_the_other(make: fn() -> (Sender<Box<usize>>, Receiver<Box<usize>>)) {
        let seen: &'static Mutex<HashSet<(Left, bool)>> = Box::leak(Box::default());
        let ready: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let (sender, receiver) = make();
            // Not closed before an item is given back.
            let _open = sender.clone();
            let other = loom::thread::spawn(move || sender.send(Box::new(7)));
            let mut leaver = receiver.recv_async();
            let counter = Counter::new();
            let waker = Waker::from(Arc::clone(&counter));
            let polled = Pin::new(&mut leaver).poll(&mut Context::from_waker(&waker));
            ready.lock().unwrap().insert(polled.is_ready());
            match polled {
                Poll::Ready(item) => {
                    assert_eq!(*item.unwrap(), 7);
                    other.join().unwrap().unwrap();
                }
                Poll::Pending => {
                    let parker = leaver.receiving.record.as_ref().map(|record| Arc::clone(record.parker())).unwrap();
                    let receiver = receiver.clone();
                    let stayer = loom::thread::spawn(move || and_whether_it_waited(|| *receiver.recv().unwrap()));
                    drop(leaver);
                    let (item, waited) = stayer.join().unwrap();
                    assert_eq!(item, 7);
                    other.join().unwrap().unwrap();
                    seen.lock().unwrap().insert((Left::of(&parker, &counter), waited));
                }
            }
        });
        assert_eq!(ready.lock().unwrap().len(), 2, "ready, and not");
        assert_eq!(*seen.lock().unwrap(), Left::every_way());
    }

    #[test]
    fn loom_future_of_array_passes_its_signal_on() {
        pass_on_to_the_other(|| bounded(1));
    }

    #[test]
    fn loom_future_of_list_passes_its_signal_on() {
        pass_on_to_the_other(unbounded);
    }

    #[test]
    fn loom_future_of_rendezvous_passes_its_item_on() {
        pass_on_to_the_other(|| bounded(0));
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use crate::chan::{bounded, unbounded};
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Small, and without a runtime, so that it can be checked for misuse of memory.
    #[test]
    fn futures_of_every_flavour_come_and_go_without_loss() {
        for (sender, receiver) in [bounded(0), bounded(1), unbounded()] {
            let (mut one, mut two) = (receiver.recv_async(), receiver.recv_async());
            assert!(poll(&mut one).is_pending() && poll(&mut two).is_pending());
            sender.try_send(Box::new(1)).unwrap();
            drop(one);
            assert_eq!(poll(&mut two), Poll::Ready(Ok(Box::new(1))));
            // The same future may be polled for another.
            assert!(poll(&mut two).is_pending());
            sender.try_send(Box::new(2)).unwrap();
            drop(two);
            let mut send = sender.send_async(Box::new(3));
            let sent = poll(&mut send).is_ready();
            assert_eq!(receiver.try_recv(), Ok(Box::new(2)));
            assert!(sent || receiver.is_empty());
            drop(send);
            let mut pending = receiver.recv_async();
            assert_eq!(poll(&mut pending).is_ready(), sent);
        }
    }
}
