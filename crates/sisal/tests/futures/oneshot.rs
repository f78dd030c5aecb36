//! The receiver of a single message, awaited.

use super::common::flavours::Ledger;
use super::common::waits::in_fibers_and_a_thread;
use super::common::{background, rounds, shut_down, with_workers};
use super::tools::{Counter, poll};
use sisal::block_on;
use sisal::chan::{RecvError, TryRecvError, oneshot};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

#[test]
fn the_message_or_the_end_is_awaited() {
    in_fibers_and_a_thread(|| {
        let (sender, receiver) = oneshot();
        let sending = std::thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver), Ok(7));
        sending.join().unwrap().unwrap();
        let (sender, receiver) = oneshot::<u32>();
        let going = std::thread::spawn(move || drop(sender));
        assert_eq!(block_on(receiver), Err(RecvError::Closed));
        going.join().unwrap();
    });
}

#[test]
fn one_that_was_polled_can_still_be_used_otherwise() {
    in_fibers_and_a_thread(|| {
        let ((first, old), (second, new)) = (Counter::new(), Counter::new());
        let (sender, mut receiver) = oneshot();
        assert!(poll(&mut receiver, &old).is_pending() && poll(&mut receiver, &new).is_pending());
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (2, 2), "no waker is kept");
        assert!(poll(&mut receiver, &new).is_pending());
        sender.send(7).unwrap();
        assert_eq!((first.wakes(), second.wakes()), (0, 1));
        assert_eq!(receiver.recv(), Ok(7));
        let (sender, mut receiver) = oneshot();
        assert!(poll(&mut receiver, &new).is_pending());
        drop(receiver);
        assert_eq!(sender.send(8), Err(8));
        assert_eq!(second.wakes(), 1);
    });
}

#[test]
fn sends_race_with_polls_and_drops() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (count, ledger) = (rounds(20_000), Ledger::of(rounds(20_000)));
        for round in 0..count {
            let (sender, mut receiver) = oneshot();
            let message = ledger.make(round);
            let sending = runtime.spawn(move || drop(sender.send(message)));
            let (_counter, waker) = Counter::new();
            match poll(&mut receiver, &waker) {
                Poll::Ready(message) => assert_eq!(message.unwrap().number, round),
                Poll::Pending if round % 2 == 0 => drop(receiver),
                Poll::Pending => assert_eq!(block_on(receiver).unwrap().number, round),
            }
            sending.join().unwrap();
        }
        ledger.check();
        shut_down(runtime);
    });
}

/// A waker that can't even be dropped, the last time.
struct Stubborn;

impl Wake for Stubborn {
    fn wake(self: Arc<Stubborn>) {}
}

impl Drop for Stubborn {
    fn drop(&mut self) {
        panic!("on purpose: the waker is dropped");
    }
}

#[test]
fn a_waker_that_panics_when_it_goes_leaves_the_channel_as_it_was() {
    in_fibers_and_a_thread(|| {
        let (sender, mut receiver) = oneshot();
        let waker = Waker::from(Arc::new(Stubborn));
        assert!(poll(&mut receiver, &waker).is_pending());
        drop(waker);
        assert!(catch_unwind(AssertUnwindSafe(|| receiver.try_recv())).is_err());
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "the sender is not done");
        sender.send(7).unwrap();
        assert_eq!(receiver.try_recv(), Ok(7));
    });
}
