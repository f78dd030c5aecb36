//! Sending as a task, in any executor: as [receiving](super::receiving), where the protocol is, with the sides exchanged.
//!
//! A message that was taken by a receiver is sent, whether its future is polled again or not.
#![allow(unsafe_code, reason = "values are moved by way of slots in records")]

use super::arm::{Arm, SendArm};
use super::error::SendError;
use super::left::{Side, leave};
use super::port::{Attempt, Room, SendPort};
use super::sender::{Sender, each_sender};
use super::{Policy, SenderFlavour};
use crate::fiber::task_record::TaskRecord;
use crate::park::gives_way;
use std::fmt;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A send as a future. See [`Sender::send_async`].
///
/// ```
/// let (sender, receiver) = sisal::chan::bounded(1);
/// let future: sisal::chan::SendFuture<'_, u32> = sender.send_async(7);
/// assert!(receiver.is_empty(), "nothing happens before it is awaited");
/// assert_eq!(sisal::block_on(future), Ok(()));
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFuture<'a, T> {
    sender: &'a Sender<T>,
    /// The message, unless it is in the record, or sent, or given back.
    message: Option<T>,
    /// INVARIANT: holds the message while it waits, unless its place was handed over.
    record: Option<TaskRecord<MaybeUninit<T>>>,
    waits: bool,
}

impl<T> Sender<T> {
    /// Sends a message, as a future for any executor. When it is dropped, the message is either sent or dropped.
    ///
    /// Nothing from outside ends its wait, so the error is always that the channel is closed.
    ///
    /// # Panics
    /// If it is polled again when it has been ready.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (sender, receiver) = sisal::chan::bounded(0);
    ///     let receiver = sisal::spawn(move || receiver.recv());
    ///     sisal::block_on(sender.send_async(42)).unwrap();
    ///     assert_eq!(receiver.join().unwrap(), Ok(42));
    /// });
    /// ```
    pub fn send_async(&self, message: T) -> SendFuture<'_, T> {
        SendFuture { sender: self, message: Some(message), record: None, waits: false }
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let future = self.get_mut();
        // Before a signal is taken, which would be lost if this were dropped before the next poll.
        if gives_way(context) {
            return Poll::Pending;
        }
        if let Some(record) = future.record.as_ref().filter(|_| future.waits) {
            if record.parker().set_waker(context.waker()) {
                return Poll::Pending;
            }
            future.waits = false;
            if record.waiter().was_handed() {
                return Poll::Ready(Ok(()));
            }
            // SAFETY: it was not taken, so the message is still there.
            future.message = Some(unsafe { record.slot().read().assume_init() });
        }
        let message = future.message.take().expect("sisal: a send was polled again after it was done");
        match &future.sender.0 {
            SenderFlavour::Array(_, Policy::DropNewest | Policy::DropOldest) => {
                Poll::Ready(send_dropping(future.sender, message))
            }
            _ => {
                let sender = future.sender;
                each_sender!(sender, channel => future.poll_port(&**channel, message, context))
            }
        }
    }
}

/// Into a channel that never makes a sender wait.
fn send_dropping<T>(sender: &Sender<T>, message: T) -> Result<(), SendError<T>> {
    let arm = SendArm::new(sender, message);
    assert!(arm.choose_now(None), "INVARIANT: such a channel never makes a sender wait");
    arm.take()
}

// Nothing that is pinned: the message moves, and the record is on the heap.
impl<T> Unpin for SendFuture<'_, T> {}

impl<T> SendFuture<'_, T> {
    fn poll_port<P: SendPort<T>>(
        &mut self,
        port: &P,
        message: T,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let mut slot = MaybeUninit::new(message);
        // SAFETY: the slot holds a value, until it is sent.
        match unsafe { port.try_send(slot.as_mut_ptr()) } {
            Attempt::Done => return Poll::Ready(Ok(())),
            // SAFETY: as above.
            Attempt::Closed => return Poll::Ready(Err(SendError::Closed(unsafe { slot.assume_init() }))),
            Attempt::Waits => {}
        }
        // SAFETY: as above. Back to where it is kept if the waker, which is foreign code, panics.
        self.message = Some(unsafe { slot.assume_init() });
        let waker = context.waker().clone();
        let record = TaskRecord::prepare(&mut self.record, waker, MaybeUninit::uninit);
        let place = record.slot().cast::<T>();
        let message = self.message.take().unwrap_or_else(|| unreachable!("INVARIANT: put back above"));
        // SAFETY: the place is the record's, and empty.
        unsafe { place.write(message) };
        record.waiter().set_slot(place.cast());
        // SAFETY: as above. The record stays until it is found to be unparked, or is abandoned, which takes it off or leaves it to
        // the unpark.
        match unsafe { port.send_or_enlist(place, record.waiter(), Room::Any) } {
            Attempt::Done => {
                record.parker().withdraw();
                Poll::Ready(Ok(()))
            }
            Attempt::Closed => {
                // SAFETY: as above. Out of the record before the waker goes, for the same reason.
                let message = unsafe { place.read() };
                record.parker().withdraw();
                Poll::Ready(Err(SendError::Closed(message)))
            }
            Attempt::Waits => {
                self.waits = true;
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for SendFuture<'_, T> {
    fn drop(&mut self) {
        if !self.waits {
            return;
        }
        let Some(record) = self.record.take() else { return };
        each_sender!(self.sender, channel => channel.delist_sender(record.waiter()));
        if record.wait().woken().is_none() {
            // SAFETY: nobody has claimed it, so the message is still there.
            return unsafe { record.slot().cast::<T>().drop_in_place() };
        }
        leave(self.sender, record);
    }
}

impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendFuture").field("sender", self.sender).finish()
    }
}

// SAFETY: records are linked to the channel and nowhere else, and handles are `Send` if messages are.
unsafe impl<T> Side<T> for Sender<T> {
    /// If it was taken, it was sent. A signal goes on to another, and the message is dropped.
    fn give_on(&self, record: &TaskRecord<MaybeUninit<T>>) {
        if !record.waiter().was_handed() {
            each_sender!(self, channel => channel.pass_on_room());
            // SAFETY: it was not taken, so the message is still there.
            unsafe { record.slot().cast::<T>().drop_in_place() };
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use crate::chan::models::{Counter, Left};
    use crate::chan::{Receiver, Sender, bounded};
    use crate::park::and_whether_it_waited;
    use loom::thread;
    use std::collections::HashSet;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll, Waker};

    /// A send that waits is dropped while an item is received and another sender waits: the other is not forgotten. Where its item `is_taken`
    /// by whoever claims it, it was sent then. Reached: sent at once; and however it was left, with another that had to wait and with one that
    /// had not.
    fn drop_against_receive(
        make: fn() -> (Sender<Box<usize>>, Receiver<Box<usize>>),
        wanted: &'static [usize],
        is_taken: bool,
    ) {
        let seen: &'static Mutex<HashSet<(Left, bool)>> = Box::leak(Box::default());
        let ready: &'static Mutex<HashSet<bool>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let (sender, receiver) = make();
            wanted.iter().skip(1).for_each(|&item| sender.send(Box::new(item)).unwrap());
            let receiving = thread::spawn(move || {
                let mut items: Vec<usize> = Vec::new();
                // Until that of the sender that stays has come: perhaps the leaver's was sent as well.
                while items.last() != Some(&1) {
                    items.push(*receiver.recv().unwrap());
                }
                items
            });
            let mut leaver = sender.send_async(Box::new(9));
            let counter = Counter::new();
            let waker = Waker::from(Arc::clone(&counter));
            let polled = Pin::new(&mut leaver).poll(&mut Context::from_waker(&waker));
            let parker =
                leaver.record.as_ref().filter(|_| polled.is_pending()).map(|record| Arc::clone(record.parker()));
            let stayer = {
                let sender = sender.clone();
                thread::spawn(move || and_whether_it_waited(|| sender.send(Box::new(1)).unwrap()).1)
            };
            drop(leaver);
            let waited = stayer.join().unwrap();
            let mut items = receiving.join().unwrap();
            let sent = items.iter().position(|&item| item == 9).map(|index| items.remove(index)).is_some();
            let left = parker.map(|parker| Left::of(&parker, &counter));
            ready.lock().unwrap().insert(polled.is_ready());
            seen.lock().unwrap().extend(left.map(|left| (left, waited)));
            match left {
                None => assert!(sent, "what was sent has come"),
                Some(left) => assert_eq!(sent, is_taken && left != Left::InTime),
            }
            if let Poll::Ready(result) = polled {
                result.unwrap();
            }
            items.sort_unstable();
            assert_eq!(items, wanted);
        });
        assert_eq!(ready.lock().unwrap().len(), 2, "ready, and not");
        assert_eq!(*seen.lock().unwrap(), Left::every_way());
    }

    #[test]
    fn loom_send_future_of_array_passes_its_room_on() {
        drop_against_receive(|| bounded(1), &[1, 2], false);
    }

    #[test]
    fn loom_send_future_of_rendezvous_is_taken_or_not() {
        drop_against_receive(|| bounded(0), &[1], true);
    }
}
