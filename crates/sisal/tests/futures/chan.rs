//! Channels that are awaited: against blocking ends, in foreign executors, and with futures that are dropped.

use super::common::flavours::{FLAVOURS, Flavour, Ledger};
use super::common::waits::in_fibers_and_a_thread;
use super::common::watchdog::guarded;
use super::common::{background, in_fiber_of_each, rounds, shut_down, with_workers};
use super::tools::{Counter, Executor, all, poll};
use sisal::chan::{Policy, RecvError, SendError, after, at, bounded, bounded_with, never, tick, unbounded};
use sisal::{block_on, spawn, spawn_future, spawn_local};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};

#[test]
fn what_need_not_wait_is_ready_at_once() {
    in_fibers_and_a_thread(|| {
        for flavour in [Flavour::Bounded(2), Flavour::Unbounded] {
            let (sender, receiver) = flavour.make();
            block_on(async {
                sender.send_async(1).await.unwrap();
                sender.send_async(2).await.unwrap();
                assert_eq!((receiver.recv_async().await, receiver.recv_async().await), (Ok(1), Ok(2)));
                drop(sender);
                assert_eq!(receiver.recv_async().await, Err(RecvError::Closed));
            });
        }
    });
}

#[test]
fn a_closed_channel_gives_the_message_back() {
    in_fibers_and_a_thread(|| {
        for flavour in FLAVOURS {
            let (sender, receiver) = flavour.make();
            drop(receiver);
            assert_eq!(block_on(sender.send_async(7)), Err(SendError::Closed(7)));
        }
    });
}

/// A waker that is a closure.
struct Calls<F: Fn() + Send + Sync + 'static>(F);

impl<F: Fn() + Send + Sync + 'static> std::task::Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// A task and a fiber are claimed together; the waker of the task waits for what the fiber has.
#[test]
fn wakers_may_wait_for_those_who_were_woken_with_their_tasks() {
    guarded(|| {
        for flavour in FLAVOURS {
            let runtime = background(1);
            runtime.run(|| {
                let lock = Arc::new(sisal::sync::Mutex::new(()));
                let (sender, receiver) = flavour.make::<u32>();
                let wanted = Arc::clone(&lock);
                let waker = Waker::from(Arc::new(Calls(move || drop(wanted.lock()))));
                let mut task = receiver.recv_async();
                assert!(poll(&mut task, &waker).is_pending());
                let (fiber, held) = (receiver.clone(), Arc::clone(&lock));
                let fiber = spawn(move || {
                    let _guard = held.lock();
                    fiber.recv()
                });
                while lock.try_lock().is_some() {
                    sisal::yield_now();
                }
                sender.close();
                assert_eq!(fiber.join().unwrap(), Err(RecvError::Closed));
            });
            shut_down(runtime);
        }
    });
}

/// Of two tasks that one cancellation ends, the waker of the first waits. Meanwhile another fiber begins to wait, and finds that it is cancelled.
#[test]
fn wakers_are_not_called_by_a_fiber_that_happens_to_begin_a_wait() {
    guarded(|| {
        let runtime = background(1);
        runtime.run(|| {
            let shared = Arc::new((sisal::sync::Mutex::new(()), sisal::sync::Mutex::new(Vec::new())));
            let (lock, callers) = &*shared;
            let channels = [bounded::<u32>(0), bounded(0)];
            let of_waker = Arc::clone(&shared);
            let waker = Waker::from(Arc::new(Calls(move || {
                drop(of_waker.0.lock());
                of_waker.1.lock().push(sisal::fiber::current().map(|fiber| fiber.id()));
            })));
            let mut tasks = channels.each_ref().map(|(_, receiver)| receiver.recv_async());
            assert!(tasks.iter_mut().all(|task| poll(task, &waker).is_pending()));
            let (has_lock, canceller) = (sisal::sync::Event::new(), sisal::sync::Mutex::new(None));
            let ended = sisal::nursery(|n| {
                channels.iter().for_each(|(sender, _)| n.close_on(sender));
                n.spawn(|| {
                    let guard = lock.lock();
                    has_lock.set();
                    // Until the canceller waits for the lock, it has not waited itself.
                    while canceller.lock().is_none() {
                        sisal::yield_now();
                    }
                    sisal::yield_now();
                    assert!(never::<()>().recv().unwrap_err().is_cancelled());
                    drop(guard);
                });
                n.spawn(|| {
                    has_lock.wait().unwrap();
                    *canceller.lock() = sisal::fiber::current().map(|fiber| fiber.id());
                    n.cancel();
                });
                Ok::<_, ()>(())
            });
            assert_eq!(ended, Ok(()));
            assert_eq!(*callers.lock(), [*canceller.lock(); 2]);
            drop(tasks);
        });
        shut_down(runtime);
    });
}

#[test]
fn a_close_wakes_those_who_wait() {
    in_fiber_of_each(|| {
        for flavour in [Flavour::Rendezvous, Flavour::Bounded(1)] {
            let (sender, receiver) = flavour.make();
            (0..flavour.room().unwrap()).for_each(|_| sender.send(0).unwrap());
            let mut sends: Vec<_> = (0..3).map(|_| sender.send_async(1)).collect();
            let (counter, waker) = Counter::new();
            assert!(sends.iter_mut().all(|send| poll(send, &waker).is_pending()));
            receiver.close();
            assert_eq!(counter.wakes(), 3);
            assert!(sends.iter_mut().all(|send| poll(send, &waker) == Poll::Ready(Err(SendError::Closed(1)))));
            let (sender, receiver) = flavour.make::<u32>();
            let mut receives: Vec<_> = (0..3).map(|_| receiver.recv_async()).collect();
            assert!(receives.iter_mut().all(|receive| poll(receive, &waker).is_pending()));
            drop(sender);
            assert_eq!(counter.wakes(), 6);
            assert!(receives.iter_mut().all(|receive| poll(receive, &waker) == Poll::Ready(Err(RecvError::Closed))));
        }
    });
}

#[test]
fn awaited_and_blocking_ends_mix() {
    const ENDS: usize = 4;
    in_fiber_of_each(|| {
        for flavour in FLAVOURS {
            let items = rounds(2000);
            let (sender, receiver) = flavour.make();
            let senders: Vec<_> = (0..ENDS)
                .map(|end| {
                    let sender = sender.clone();
                    let numbers = (0..items).map(move |item| item * ENDS + end);
                    match end % 2 {
                        0 => spawn(move || numbers.for_each(|number| sender.send(number).unwrap())),
                        _ => spawn_future(async move {
                            for number in numbers {
                                sender.send_async(number).await.unwrap();
                            }
                        }),
                    }
                })
                .collect();
            drop(sender);
            let receivers: Vec<_> = (0..ENDS)
                .map(|end| {
                    let receiver = receiver.clone();
                    match end % 2 {
                        0 => spawn(move || receiver.iter().collect::<Vec<_>>()),
                        _ => spawn_future(async move {
                            let mut received = Vec::new();
                            while let Ok(number) = receiver.recv_async().await {
                                received.push(number);
                            }
                            received
                        }),
                    }
                })
                .collect();
            drop(receiver);
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            let mut all: Vec<_> = receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..items * ENDS), "{flavour:?}");
        }
    });
}

#[test]
fn channels_work_in_a_foreign_executor() {
    in_fiber_of_each(|| {
        for flavour in FLAVOURS {
            let (executor, sum) = (Executor::default(), Arc::new(AtomicUsize::new(0)));
            let (sender, receiver) = flavour.make();
            for task in 0..10 {
                let (sender, receiver, sum) = (sender.clone(), receiver.clone(), Arc::clone(&sum));
                executor.spawn(async move {
                    for item in 0..20 {
                        sender.send_async(task * 20 + item).await.unwrap();
                    }
                });
                executor.spawn(async move {
                    for _ in 0..20 {
                        sum.fetch_add(receiver.recv_async().await.unwrap(), Ordering::AcqRel);
                    }
                });
            }
            executor.run();
            assert_eq!(sum.load(Ordering::Acquire), 199 * 200 / 2);
        }
    });
}

#[test]
fn the_last_waker_counts_and_no_other_is_kept() {
    in_fibers_and_a_thread(|| {
        let (sender, receiver) = bounded(1);
        let mut future = receiver.recv_async();
        let ((first, old), (second, new)) = (Counter::new(), Counter::new());
        assert!(poll(&mut future, &old).is_pending() && poll(&mut future, &new).is_pending());
        drop(old);
        assert_eq!(Arc::strong_count(&first), 1);
        sender.send(7).unwrap();
        assert_eq!((first.wakes(), second.wakes()), (0, 1));
        assert_eq!(poll(&mut future, &new), Poll::Ready(Ok(7)));
        drop((future, new));
        assert_eq!(Arc::strong_count(&second), 1);
    });
}

#[test]
fn a_dropped_receive_that_was_given_something_passes_it_on() {
    in_fibers_and_a_thread(|| {
        for flavour in FLAVOURS {
            let (sender, receiver) = flavour.make();
            let ((gone, first), (stays, second)) = (Counter::new(), Counter::new());
            let (mut leaver, mut stayer) = (receiver.recv_async(), receiver.recv_async());
            assert!(poll(&mut leaver, &first).is_pending() && poll(&mut stayer, &second).is_pending());
            // In a rendezvous the first is handed it, else it is signalled.
            sender.try_send(7).unwrap();
            assert_eq!((gone.wakes(), stays.wakes()), (1, 0), "{flavour:?}");
            drop(leaver);
            assert_eq!(stays.wakes(), 1, "{flavour:?}");
            assert_eq!(poll(&mut stayer, &second), Poll::Ready(Ok(7)), "{flavour:?}");
        }
    });
}

#[test]
fn a_dropped_receive_without_another_leaves_the_message_in_the_channel() {
    in_fibers_and_a_thread(|| {
        for flavour in FLAVOURS {
            let (sender, receiver) = flavour.make();
            let (_counter, waker) = Counter::new();
            for number in 0..3 {
                let mut leaver = receiver.recv_async();
                assert!(poll(&mut leaver, &waker).is_pending());
                sender.try_send(number).unwrap();
                drop(leaver);
                assert_eq!(receiver.len(), 1);
                match number {
                    0 => assert_eq!(receiver.try_recv(), Ok(0)),
                    1 => assert_eq!(receiver.recv(), Ok(1)),
                    _ => {
                        // Also after the close.
                        sender.close();
                        sisal::select! {
                            recv(receiver) -> message => assert_eq!(message, Ok(2)),
                        }
                    }
                }
            }
            assert_eq!(receiver.recv(), Err(RecvError::Closed));
        }
    });
}

#[test]
fn a_dropped_send_passes_its_room_on() {
    in_fibers_and_a_thread(|| {
        let (sender, receiver) = bounded(1);
        sender.send(0).unwrap();
        let ((gone, first), (stays, second)) = (Counter::new(), Counter::new());
        let (mut leaver, mut stayer) = (sender.send_async(1), sender.send_async(2));
        assert!(poll(&mut leaver, &first).is_pending() && poll(&mut stayer, &second).is_pending());
        assert_eq!(receiver.recv(), Ok(0));
        assert_eq!((gone.wakes(), stays.wakes()), (1, 0));
        drop(leaver);
        assert_eq!(stays.wakes(), 1);
        assert_eq!(poll(&mut stayer, &second), Poll::Ready(Ok(())));
        assert_eq!(receiver.recv(), Ok(2));
    });
}

#[test]
fn messages_that_borrow_and_that_are_not_send_can_be_awaited() {
    guarded(|| {
        let word = String::from("borrowed");
        let (sender, receiver) = bounded::<(&str, std::rc::Rc<u32>)>(0);
        let mut future = receiver.recv_async();
        let (_counter, waker) = Counter::new();
        assert!(poll(&mut future, &waker).is_pending());
        sender.try_send((&word, std::rc::Rc::new(7))).unwrap();
        drop(future);
        assert_eq!(receiver.recv().unwrap().0, "borrowed");
    });
}

#[test]
fn every_message_is_dropped_once_whatever_is_dropped_when() {
    in_fiber_of_each(|| {
        for flavour in FLAVOURS {
            let ledger = Ledger::of(6);
            let (_counter, waker) = Counter::new();
            let (sender, receiver) = flavour.make();
            // Never polled.
            drop(sender.send_async(ledger.make(0)));
            // Polled and dropped, pending or not.
            let mut send = sender.send_async(ledger.make(1));
            let _ = poll(&mut send, &waker);
            drop(send);
            // Handed over or signalled, and both dropped.
            let mut receive = receiver.recv_async();
            let _ = poll(&mut receive, &waker);
            let _ = sender.try_send(ledger.make(2));
            drop(receive);
            // Handed over by a send that waits.
            let mut send = sender.send_async(ledger.make(3));
            let _ = poll(&mut send, &waker);
            drop(receiver.try_recv());
            drop(receiver.try_recv());
            drop(send);
            let mut send = sender.send_async(ledger.make(4));
            let _ = poll(&mut send, &waker);
            let mut receive = receiver.recv_async();
            let _ = poll(&mut receive, &waker);
            drop((receive, send));
            let _ = sender.try_send(ledger.make(5));
            drop((sender, receiver));
            ledger.check();
        }
    });
}

#[test]
fn a_forgotten_future_harms_nobody() {
    in_fibers_and_a_thread(|| {
        let (_counter, waker) = Counter::new();
        for flavour in FLAVOURS {
            let (sender, receiver) = flavour.make();
            let mut receive = receiver.recv_async();
            assert!(poll(&mut receive, &waker).is_pending());
            std::mem::forget(receive);
            let _ = sender.try_send(1);
            let _ = sender.try_send(2);
            drop((sender, receiver));
        }
    });
}

#[test]
fn channels_that_drop_never_make_a_future_wait() {
    in_fibers_and_a_thread(|| {
        let (_counter, waker) = Counter::new();
        for (policy, left) in [(Policy::DropNewest, [0, 1]), (Policy::DropOldest, [8, 9])] {
            let (sender, receiver) = bounded_with(2, policy);
            for number in 0..10 {
                assert_eq!(poll(&mut sender.send_async(number), &waker), Poll::Ready(Ok(())));
            }
            assert_eq!(receiver.try_iter().collect::<Vec<_>>(), left);
        }
    });
}

#[test]
fn clocks_are_awaited() {
    in_fibers_and_a_thread(|| {
        let start = Instant::now();
        let beat = tick(Duration::from_millis(1));
        block_on(async {
            after(Duration::from_millis(3)).recv_async().await.unwrap();
            at(start + Duration::from_millis(4)).recv_async().await.unwrap();
            for _ in 0..3 {
                beat.recv_async().await.unwrap();
            }
        });
        assert!(start.elapsed() >= Duration::from_millis(4));
        let (_counter, waker) = Counter::new();
        assert!(poll(&mut never::<u32>().recv_async(), &waker).is_pending());
    });
}

#[test]
fn many_are_awaited_at_once() {
    in_fiber_of_each(|| {
        let ends: Vec<_> = (0..20).map(|_| bounded(0)).collect();
        let (senders, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let sending = spawn(move || {
            senders.into_iter().enumerate().rev().for_each(|(number, sender)| sender.send(number).unwrap());
        });
        let received = block_on(all(receivers.iter().map(|receiver| receiver.recv_async()).collect()));
        assert!(received.into_iter().map(Result::unwrap).eq(0..20));
        sending.join().unwrap();
    });
}

#[test]
fn a_future_that_never_has_to_wait_starves_nobody() {
    in_fiber_of_each(|| {
        let (sender, receiver) = unbounded();
        let stop = Arc::new(AtomicUsize::new(0));
        let greedy = {
            let stop = Arc::clone(&stop);
            spawn_local(move || {
                block_on(async {
                    while stop.load(Ordering::Acquire) == 0 {
                        sender.send_async(()).await.unwrap();
                        receiver.recv_async().await.unwrap();
                    }
                });
            })
        };
        // On the same worker, so it must be given turns to get there.
        let modest = spawn_local(move || {
            (0..10).for_each(|_| sisal::yield_now());
            stop.store(1, Ordering::Release);
        });
        modest.join().unwrap();
        greedy.join().unwrap();
    });
}

#[test]
fn a_storm_of_futures_that_are_dropped_loses_nothing() {
    with_workers(|workers| {
        for flavour in FLAVOURS {
            let (items, ledger) = (rounds(5000), Ledger::of(rounds(5000)));
            let runtime = background(workers);
            let (sender, receiver) = flavour.make();
            let received = Arc::new(AtomicUsize::new(0));
            // Polls a few receives at a time, and drops all but the first that is ready.
            let fickle: Vec<_> = (0..3)
                .map(|_| {
                    let (receiver, received) = (receiver.clone(), Arc::clone(&received));
                    runtime.spawn(move || {
                        let (_counter, waker) = Counter::new();
                        loop {
                            let mut futures: Vec<_> = (0..3).map(|_| receiver.recv_async()).collect();
                            let ready = futures.iter_mut().find_map(|future| match poll(future, &waker) {
                                Poll::Ready(message) => Some(message),
                                Poll::Pending => None,
                            });
                            sisal::yield_now();
                            match ready {
                                Some(Ok(_message)) => {
                                    received.fetch_add(1, Ordering::AcqRel);
                                }
                                Some(Err(_)) => return,
                                None => {}
                            }
                        }
                    })
                })
                .collect();
            let faithful: Vec<_> = (0..2)
                .map(|_| {
                    let (receiver, received) = (receiver.clone(), Arc::clone(&received));
                    runtime.spawn(move || {
                        for _message in receiver {
                            received.fetch_add(1, Ordering::AcqRel);
                        }
                    })
                })
                .collect();
            drop(receiver);
            let senders: Vec<_> = (0..2)
                .map(|half| {
                    let (sender, ledger) = (sender.clone(), ledger.clone());
                    runtime.spawn(move || {
                        for number in (half..items).step_by(2) {
                            sender.send(ledger.make(number)).unwrap();
                        }
                    })
                })
                .collect();
            drop(sender);
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            // What the fickle had in hand when the channel was closed is in it again.
            fickle.into_iter().for_each(|fiber| fiber.join().unwrap());
            faithful.into_iter().for_each(|fiber| fiber.join().unwrap());
            ledger.check();
            assert!(received.load(Ordering::Acquire) <= items);
            if flavour != Flavour::Rendezvous {
                assert_eq!(received.load(Ordering::Acquire), items, "{flavour:?}");
            }
            shut_down(runtime);
        }
    });
}

/// A waker that can't be cloned.
#[allow(unsafe_code, reason = "a waker of one's own")]
fn unclonable() -> Waker {
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("on purpose: the waker is cloned"), |_| (), |_| (), |_| ());
    // SAFETY: its functions use no data.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

#[test]
fn a_message_whose_waker_panics_is_kept() {
    in_fibers_and_a_thread(|| {
        for flavour in [Flavour::Rendezvous, Flavour::Bounded(1)] {
            let ledger = Ledger::of(3);
            let (sender, receiver) = flavour.make();
            (0..flavour.room().unwrap()).for_each(|_| sender.send(ledger.make(0)).unwrap());
            let mut dropped = sender.send_async(ledger.make(1));
            assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut dropped, &unclonable()))).is_err());
            drop(dropped);
            assert_eq!(ledger.each().nth(1), Some(1));
            let mut kept = sender.send_async(ledger.make(2));
            assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut kept, &unclonable()))).is_err());
            assert_eq!(ledger.each().nth(2), Some(0));
            let (_, waker) = Counter::new();
            assert!(poll(&mut kept, &waker).is_pending(), "it can be polled again");
            drop((kept, receiver));
            assert_eq!(ledger.each().nth(2), Some(1));
        }
    });
}
