//! Channels that are closed by the end of a nursery, however it comes.

use crate::common::watchdog::guarded;
use crate::common::{in_fiber_of_each, until};
use crate::sleepers::Sure;
use sisal::chan::{RecvError, bounded};
use sisal::sync::Event;
use sisal::{Nursery, Runtime, nursery, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

#[test]
fn a_channel_is_closed_when_its_nursery_is_cancelled() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let sum = AtomicUsize::new(0);
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| {
                // Not by the cancellation, which it is shielded from, but by the end of the channel.
                let add = |number| {
                    sum.fetch_add(number as usize, Ordering::Relaxed);
                };
                sisal::shield(|| receive.iter().for_each(add));
                assert_eq!(receive.recv(), Err(RecvError::Closed));
            });
            (1..=4).for_each(|number| send.send(number).unwrap());
            until(|| sum.load(Ordering::Relaxed) == 10);
            assert!(!send.is_closed());
            n.cancel();
            until(|| send.is_closed());
            Ok(())
        });
        done.unwrap();
        assert!(send.send(5).is_err());
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_ends() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let reader = {
            let receive = receive.clone();
            spawn(move || receive.iter().sum::<u32>())
        };
        let done: Sure<()> = nursery(|n| {
            n.close_on(&send);
            for number in 0..10 {
                let send = send.clone();
                n.spawn(move || send.send(number).unwrap());
            }
            Ok(())
        });
        done.unwrap();
        assert!(send.is_closed() && receive.is_closed());
        assert_eq!(reader.join().unwrap(), 45);
    });
}

#[test]
fn a_channel_is_closed_when_its_nursery_fails() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded::<u32>(10);
        let failed = nursery(|n| {
            n.close_on(&send);
            n.spawn(|| Err::<(), _>("lost"));
            until(|| send.is_closed());
            Ok(())
        });
        assert_eq!(failed, Err("lost"));
        assert_eq!(receive.recv(), Err(RecvError::Closed));
    });
}

/// Why a channel was closed; to be rid of it is no pleasure.
#[derive(Debug)]
struct Bomb;

impl std::fmt::Display for Bomb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb went off");
    }
}

#[test]
fn a_panic_of_what_goes_with_a_channel_leaves_nothing_that_leads_into_the_nursery() {
    in_fiber_of_each(|| {
        let (mut token, mut ended) = (None, None);
        let (send, receive) = bounded::<u32>(1);
        let ending = catch_unwind(AssertUnwindSafe(|| {
            let done: Sure<()> = nursery(|n| {
                token = Some(n.token());
                for _ in 0..2 {
                    let (bomb, _receiver) = bounded::<u32>(1);
                    n.close_on(&bomb);
                    bomb.close_with(Bomb);
                }
                n.close_on(&send);
                Ok(())
            });
            ended = Some(done);
        }));
        assert!(ending.is_err() && ended.is_none());
        assert_eq!(receive.recv(), Err(RecvError::Closed));
        let token = token.unwrap();
        assert!(!token.is_cancelled());
        token.cancel();
        assert!(token.is_cancelled());
    });
}

/// A waker that waits for an event, in a call of sisal.
struct Slow {
    called: Event,
    may_go_on: Event,
    went_on: Event,
}

impl Wake for Slow {
    fn wake(self: Arc<Slow>) {
        self.called.set();
        self.may_go_on.wait().unwrap();
        self.went_on.set();
    }
}

#[test]
fn a_waker_that_waits_takes_no_unpark_of_the_thread_that_calls_it() {
    guarded(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let slow = Arc::new(Slow { called: Event::new(), may_go_on: Event::new(), went_on: Event::new() });
        let (send, receive) = bounded::<u32>(1);
        let mut task = Box::pin(receive.recv_async());
        let waker = Waker::from(Arc::clone(&slow));
        assert_eq!(task.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        let options = Nursery::options().runtime(runtime.handle()).timeout(Duration::from_millis(5));
        let done: Sure<()> = options.run(|n| {
            n.close_on(&send);
            n.spawn(|| {
                // It ends while the waker waits, and with it the nursery.
                sisal::shield(|| slow.called.wait()).unwrap();
            });
            let others = Arc::clone(&slow);
            drop(runtime.spawn(move || {
                others.called.wait().unwrap();
                until(|| sisal::inspect::fibers().len() == 1);
                others.may_go_on.set();
            }));
            Ok(())
        });
        done.unwrap();
        assert!(slow.went_on.is_set(), "its wait was ended by what it waited for");
    });
}
