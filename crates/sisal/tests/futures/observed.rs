//! Channels for work, for all, and of one value, awaited: against ends that block, in foreign executors, and with futures that are dropped.

use super::common::places::everywhere;
use super::common::waits::in_fibers_and_a_thread;
use super::common::{LONG, background, rounds, shut_down, with_workers};
use super::tools::{Counter, Executor, poll};
use sisal::chan::{BroadcastRecvError, OrderedRecvError, RecvError, broadcast, oneshot, ordered, watch};
use sisal::{block_on, spawn, spawn_future};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

#[test]
fn what_need_not_wait_is_ready_at_once() {
    in_fibers_and_a_thread(|| {
        block_on(async {
            let (sender, mut receiver) = broadcast(2);
            (1..=3).for_each(|number| assert_eq!(sender.send(number), Ok(1)));
            assert_eq!(receiver.recv_async().await, Err(BroadcastRecvError::Lagged(1)));
            assert_eq!((receiver.recv_async().await, receiver.recv_async().await), (Ok(2), Ok(3)));
            drop(sender);
            assert_eq!(receiver.recv_async().await, Err(BroadcastRecvError::Closed));

            let (sender, mut receiver) = watch(1);
            sender.send(2);
            drop(sender);
            assert_eq!(receiver.changed_async().await, Ok(()));
            assert_eq!(receiver.changed_async().await, Err(RecvError::Closed));
        });
    });
}

#[test]
fn those_who_await_are_woken_by_whoever_sends() {
    everywhere(|place| {
        let (sender, receiver) = broadcast(1);
        let (telling, changes) = watch(0);
        let (told, heard) = sisal::chan::bounded(0);
        let listeners = place.crowd(4, |_| {
            let (mut receiver, mut changes, told) = (receiver.clone(), changes.clone(), told.clone());
            move || {
                block_on(async {
                    while receiver.recv_async().await.is_ok() {
                        told.send_async(()).await.unwrap();
                        changes.changed_async().await.unwrap();
                    }
                    changes.get()
                })
            }
        });
        for round in 1..=10 {
            assert_eq!(sender.send(round), Ok(5));
            (0..4).for_each(|_| heard.recv().unwrap());
            telling.send(round);
        }
        sender.close();
        assert!(listeners.into_iter().all(|listener| listener.join() == 10));
    });
}

#[test]
fn one_change_wakes_all_and_the_last_waker_counts() {
    in_fibers_and_a_thread(|| {
        let (sender, receiver) = broadcast(1);
        let mut receivers = vec![receiver; 3];
        let ((old, old_waker), (new, waker)) = (Counter::new(), Counter::new());
        let mut receives: Vec<_> = receivers.iter_mut().map(|receiver| receiver.recv_async()).collect();
        assert!(receives.iter_mut().all(|receive| poll(receive, &old_waker).is_pending()));
        assert!(receives.iter_mut().all(|receive| poll(receive, &waker).is_pending()));
        drop(old_waker);
        assert_eq!(Arc::strong_count(&old), 1);
        sender.send(7).unwrap();
        assert_eq!((old.wakes(), new.wakes()), (0, 3));
        assert!(receives.iter_mut().all(|receive| poll(receive, &waker) == Poll::Ready(Ok(7))));
        // The same future may be polled for another.
        assert!(receives.iter_mut().all(|receive| poll(receive, &waker).is_pending()));
        drop(sender);
        assert_eq!(new.wakes(), 6);
        assert!(
            receives.iter_mut().all(|receive| poll(receive, &waker) == Poll::Ready(Err(BroadcastRecvError::Closed)))
        );
    });
}

#[test]
fn a_future_that_is_dropped_is_not_woken_and_loses_nothing() {
    in_fibers_and_a_thread(|| {
        let (counter, waker) = Counter::new();
        let (sender, mut receiver) = broadcast(2);
        assert!(poll(&mut receiver.recv_async(), &waker).is_pending());
        sender.send(1).unwrap();
        let mut woken = receiver.recv_async();
        assert_eq!(poll(&mut woken, &waker), Poll::Ready(Ok(1)));
        assert!(poll(&mut woken, &waker).is_pending());
        assert_eq!(counter.wakes(), 0);
        sender.send(2).unwrap();
        assert_eq!(counter.wakes(), 1);
        drop(woken);
        assert_eq!(receiver.recv(), Ok(2));

        let (sender, mut receiver) = watch(1);
        let mut change = receiver.changed_async();
        assert!(poll(&mut change, &waker).is_pending());
        sender.send(2);
        assert_eq!(counter.wakes(), 2);
        drop(change);
        assert!(receiver.has_changed());
        assert_eq!(receiver.changed_timeout(LONG), Ok(()));
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 1);
    });
}

#[test]
fn a_forgotten_future_harms_nobody() {
    in_fibers_and_a_thread(|| {
        let (counter, waker) = Counter::new();
        let (sender, mut receiver) = broadcast(2);
        let mut forgotten = receiver.recv_async();
        assert!(poll(&mut forgotten, &waker).is_pending());
        std::mem::forget(forgotten);
        sender.send(1).unwrap();
        assert_eq!(counter.wakes(), 1);
        assert_eq!(receiver.recv(), Ok(1));
    });
}

#[test]
fn results_are_awaited_in_the_order_of_their_work() {
    in_fibers_and_a_thread(|| {
        let (sender, mut receiver) = ordered(4);
        block_on(async {
            (0..4).for_each(|number| sender.send(move || number).unwrap());
            drop(sender);
            for number in 0..4 {
                assert_eq!(receiver.recv_async().await.unwrap(), number);
            }
            assert!(matches!(receiver.recv_async().await, Err(OrderedRecvError::Closed)));
        });
    });
}

#[test]
fn a_result_is_awaited_at_every_step_and_lost_at_none() {
    with_workers(|workers| {
        let runtime = background(workers);
        runtime.run(|| {
            let (counter, waker) = Counter::new();
            let (sender, mut receiver) = ordered(2);
            // Before there is a place.
            let mut receive = receiver.recv_async();
            assert!(poll(&mut receive, &waker).is_pending());
            let (go, gone) = oneshot::<u32>();
            sender.send(move || gone.recv().unwrap()).unwrap();
            assert_eq!(counter.wakes(), 1);
            // Before the work is done.
            assert!(poll(&mut receive, &waker).is_pending());
            drop(receive);
            assert!(receiver.try_recv().is_err());
            let mut receive = receiver.recv_async();
            assert!(poll(&mut receive, &waker).is_pending());
            go.send(7).unwrap();
            assert_eq!(block_on(receive).unwrap(), 7);
            // A panic is an error in its place.
            sender.send(|| panic!("told to")).unwrap();
            assert!(matches!(block_on(receiver.recv_async()), Err(OrderedRecvError::Panicked(_))));
            // And what was polled can be received by a call that blocks.
            let (go, gone) = oneshot::<u32>();
            sender.send(move || gone.recv().unwrap()).unwrap();
            assert!(poll(&mut receiver.recv_async(), &waker).is_pending());
            go.send(8).unwrap();
            assert_eq!(receiver.recv().unwrap(), 8);
            assert!(sender.is_empty());
        });
        shut_down(runtime);
    });
}

#[test]
fn they_work_in_a_foreign_executor() {
    with_workers(|workers| {
        let runtime = background(workers);
        let executor = Executor::default();
        let sum = Arc::new(AtomicUsize::new(0));
        let (sender, mut results) = runtime.run(|| ordered(4));
        let (publisher, mut news) = broadcast(100);
        let work = runtime.spawn(move || {
            for number in 0..50 {
                sender.send(move || number).unwrap();
                publisher.send(number).unwrap();
            }
        });
        let (add, added) = (Arc::clone(&sum), Arc::clone(&sum));
        executor.spawn(async move {
            while let Ok(number) = results.recv_async().await {
                add.fetch_add(number, Ordering::Relaxed);
            }
        });
        executor.spawn(async move {
            while let Ok(number) = news.recv_async().await {
                added.fetch_add(number, Ordering::Relaxed);
            }
        });
        executor.run();
        work.join().unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), 2 * 49 * 50 / 2);
        shut_down(runtime);
    });
}

#[test]
fn a_storm_of_futures_that_are_dropped_loses_nothing() {
    with_workers(|workers| {
        let runtime = background(workers);
        let count = rounds(2000) as u64;
        runtime.run(|| {
            let (sender, receiver) = broadcast(count as usize);
            let listeners: Vec<_> = (0..3)
                .map(|_| {
                    let mut receiver = receiver.clone();
                    spawn_future(async move {
                        let (mut sum, waker) = (0, std::task::Waker::noop());
                        loop {
                            // Dropped while a change may just be claiming it.
                            let polled = poll(&mut receiver.recv_async(), waker);
                            let received = match polled {
                                Poll::Ready(received) => received,
                                Poll::Pending => receiver.recv_async().await,
                            };
                            match received {
                                Ok(number) => sum += number,
                                Err(error) => return (sum, error),
                            }
                        }
                    })
                })
                .collect();
            drop(receiver);
            let sending = spawn(move || (0..count).for_each(|number| assert_eq!(sender.send(number), Ok(3))));
            for listener in listeners {
                assert_eq!(listener.join().unwrap(), (count * (count - 1) / 2, BroadcastRecvError::Closed));
            }
            sending.join().unwrap();
        });
        shut_down(runtime);
    });
}
