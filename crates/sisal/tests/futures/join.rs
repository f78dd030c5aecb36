//! Handles that are awaited.

use super::common::gate::Gate;
use super::common::watchdog::guarded;
use super::common::{background, in_fiber_of_each, rounds, shut_down, until, with_workers};
use super::tools::{Counter, Executor, all, poll};
use sisal::{JoinError, JoinHandle, block_on, spawn, spawn_future};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

#[test]
fn a_handle_is_awaited_before_and_after_the_end() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let handle = spawn(move || way.pass().map(|()| vec![1, 2]));
        let ended = spawn(|| 7);
        until(|| ended.is_finished());
        let waiter = spawn_future(async move { (handle.await.unwrap().unwrap(), ended.await.unwrap()) });
        gate.open();
        assert_eq!(waiter.join().unwrap(), (vec![1, 2], 7));
    });
}

#[test]
fn a_thread_awaits_a_fiber() {
    guarded(|| {
        let runtime = background(2);
        let gate = Gate::closed();
        let way = gate.way();
        let handle = runtime.spawn(move || way.pass());
        let opener = std::thread::spawn(move || gate.open());
        block_on(handle).unwrap().unwrap();
        opener.join().unwrap();
        shut_down(runtime);
    });
}

#[test]
fn panics_and_cancellations_come_through() {
    in_fiber_of_each(|| {
        let error = block_on(spawn(|| panic!("on purpose: awaited"))).unwrap_err();
        assert!(matches!(error, JoinError::Panicked(panic) if panic.message() == "on purpose: awaited"));
        let gate = Gate::closed();
        let way = gate.way();
        let handle = spawn(move || way.pass());
        handle.cancel();
        match block_on(handle) {
            Ok(passed) => assert!(passed.is_err()),
            Err(error) => assert!(matches!(error, JoinError::Cancelled(_))),
        }
    });
}

#[test]
fn the_last_waker_is_called_and_once() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let mut handle = spawn(move || way.pass().map(|()| 7));
        let ((first, old), (second, new)) = (Counter::new(), Counter::new());
        assert!(poll(&mut handle, &old).is_pending());
        assert!(poll(&mut handle, &old).is_pending());
        assert!(poll(&mut handle, &new).is_pending());
        drop(old);
        assert_eq!(Arc::strong_count(&first), 1, "the old waker is not kept");
        gate.open();
        until(|| second.wakes() == 1);
        let Poll::Ready(Ok(Ok(7))) = poll(&mut handle, &new) else { panic!("it has ended") };
        assert_eq!((first.wakes(), second.wakes()), (0, 1));
        assert!(handle.is_finished() && handle.id() == handle.id());
        drop((handle, new));
        // The new one neither. Whoever calls it counts before it lets go of it.
        until(|| Arc::strong_count(&second) == 1);
    });
}

#[test]
fn a_dropped_handle_forgets_its_waker_and_detaches() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let (way, ran) = (gate.way(), Arc::new(AtomicUsize::new(0)));
        let mut handle = {
            let ran = Arc::clone(&ran);
            spawn(move || {
                way.pass().unwrap();
                ran.fetch_add(1, Ordering::AcqRel);
            })
        };
        let (counter, waker) = Counter::new();
        assert!(poll(&mut handle, &waker).is_pending());
        drop((handle, waker));
        assert_eq!(Arc::strong_count(&counter), 1, "the fiber has no waker any more");
        gate.open();
        until(|| ran.load(Ordering::Acquire) == 1);
        assert_eq!(counter.wakes(), 0);
    });
}

#[test]
fn a_handle_that_was_polled_can_still_be_joined_and_shared() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let start = || {
            let way = gate.way();
            spawn(move || way.pass().map(|()| 7))
        };
        let (mut one, mut two) = (start(), start());
        let (_counter, waker) = Counter::new();
        assert!(poll(&mut one, &waker).is_pending() && poll(&mut two, &waker).is_pending());
        let two = two.shared();
        let others: Vec<_> = (0..3).map(|_| spawn_future(two.clone())).collect();
        gate.open();
        assert_eq!(one.join().unwrap(), Ok(7));
        assert_eq!(two.join().unwrap(), Ok(7));
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap().unwrap(), Ok(7)));
    });
}

#[test]
#[should_panic(expected = "has given its result already")]
fn a_handle_that_has_given_its_result_can_not_be_joined() {
    guarded(|| {
        sisal::run(|| {
            let mut handle = spawn(|| 7);
            assert_eq!(block_on(&mut handle).unwrap(), 7);
            let _ = handle.join();
        });
    });
}

#[test]
fn shared_handles_are_awaited_by_many_and_dropped_at_any_time() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let shared = spawn(move || way.pass().map(|()| String::from("all"))).shared();
        let waiters: Vec<_> = (0..20).map(|_| spawn_future(shared.clone())).collect();
        let (counter, waker) = Counter::new();
        let mut leavers: Vec<_> = (0..5).map(|_| shared.clone()).collect();
        assert!(leavers.iter_mut().all(|leaver| poll(leaver, &waker).is_pending()));
        drop((leavers, waker));
        assert_eq!(Arc::strong_count(&counter), 1);
        gate.open();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap().unwrap().unwrap(), "all");
        }
        assert_eq!(counter.wakes(), 0);
    });
}

#[test]
fn the_children_of_a_nursery_are_awaited() {
    in_fiber_of_each(|| {
        let (count, gate) = (AtomicUsize::new(0), Gate::closed());
        sisal::nursery(|nursery| {
            let children: Vec<_> = (0..10)
                .map(|_| {
                    nursery.spawn(|| {
                        gate.way().pass().unwrap();
                        count.fetch_add(1, Ordering::AcqRel);
                    })
                })
                .collect();
            let (_counter, waker) = Counter::new();
            let mut left = nursery.spawn(|| gate.way().pass().unwrap());
            assert!(poll(&mut left, &waker).is_pending());
            drop(left);
            gate.open();
            block_on(all(children));
            assert_eq!(count.load(Ordering::Acquire), 10);
            Ok::<_, ()>(())
        })
        .unwrap();
    });
}

#[test]
fn several_are_awaited_at_once() {
    in_fiber_of_each(|| {
        let handles: Vec<JoinHandle<usize>> = (0..50)
            .map(|index| {
                spawn(move || {
                    (0..index % 7).for_each(|_| sisal::yield_now());
                    index
                })
            })
            .collect();
        let results = block_on(all(handles));
        assert!(results.into_iter().map(Result::unwrap).eq(0..50));
    });
}

#[test]
fn handles_are_awaited_in_a_foreign_executor() {
    in_fiber_of_each(|| {
        let (executor, sum) = (Executor::default(), Arc::new(AtomicUsize::new(0)));
        for index in 0..100 {
            let sum = Arc::clone(&sum);
            let handle = spawn(move || {
                sisal::yield_now();
                index
            });
            executor.spawn(async move {
                let value = handle.await.unwrap();
                let more = spawn(move || value).await.unwrap();
                sum.fetch_add(more, Ordering::AcqRel);
            });
        }
        executor.run();
        assert_eq!(sum.load(Ordering::Acquire), 4950);
    });
}

#[test]
fn a_waker_that_frees_its_fiber_and_uses_the_runtime_does_no_harm() {
    struct Uses {
        handle: Mutex<Option<JoinHandle<()>>>,
        sender: sisal::chan::Sender<u32>,
    }
    impl std::task::Wake for Uses {
        fn wake(self: Arc<Uses>) {
            // The fiber has ended, so this frees it.
            drop(self.handle.lock().unwrap().take());
            // More than a turn's fuel, and a spawn.
            (0..1000).for_each(|number| self.sender.send(number).unwrap());
            sisal::yield_now();
            drop(spawn(|| ()));
        }
    }
    in_fiber_of_each(|| {
        let (sender, receiver) = sisal::chan::unbounded();
        let waiting = (0..20)
            .filter(|_| {
                let uses = Arc::new(Uses { handle: Mutex::new(None), sender: sender.clone() });
                let mut slot = uses.handle.lock().unwrap();
                let handle = slot.insert(spawn(sisal::yield_now));
                poll(handle, &Arc::clone(&uses).into()).is_pending()
            })
            .count();
        drop(sender);
        assert_eq!(receiver.iter().count(), waiting * 1000);
    });
}

#[test]
fn ends_race_with_polls_and_drops() {
    with_workers(|workers| {
        let runtime = background(workers);
        for round in 0..rounds(20_000) {
            let mut handle = runtime.spawn(move || {
                (0..round % 3).for_each(|_| sisal::yield_now());
                Box::new(round)
            });
            let (counter, waker) = Counter::new();
            match poll(&mut handle, &waker) {
                Poll::Ready(result) => assert_eq!(*result.unwrap(), round),
                Poll::Pending if round % 2 == 0 => drop(handle),
                Poll::Pending => {
                    if round % 4 == 1 {
                        until(|| counter.wakes() == 1);
                    }
                    assert_eq!(*block_on(handle).unwrap(), round);
                }
            }
            drop(waker);
        }
        shut_down(runtime);
    });
}

#[test]
fn a_handle_of_a_runtime_spawns_futures_from_anywhere() {
    with_workers(|workers| {
        let (here, there) = (background(workers), background(1));
        let handle = there.handle().clone();
        let (sender, receiver) = sisal::chan::bounded(0);
        here.run(|| {
            let awaiting = handle.spawn_future(async move { receiver.recv_async().await });
            sender.send(7).unwrap();
            assert_eq!(awaiting.join().unwrap(), Ok(7));
        });
        // Here the fiber above, and nothing else.
        assert_eq!((here.handle().stats().spawned, handle.stats().spawned), (1, 1));
        let never = handle.spawn_future(std::future::pending::<()>());
        never.cancel();
        assert!(matches!(never.join(), Err(JoinError::Cancelled(_))));
        shut_down(here);
        shut_down(there);
    });
}
