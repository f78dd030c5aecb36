//! Nurseries: children that borrow from the caller and have all ended when it goes on.

use crate::common::gate::Gate;
use crate::common::places::settle;
use crate::common::watchdog::guarded;
use crate::common::{background, fixed, in_fiber_of_each, in_main_fiber, shut_down, until, with_workers};
use sisal::chan::bounded;
use sisal::sync::Mutex;
use sisal::{Nursery, nursery, sleep, spawn, yield_now};
use std::cell::Cell;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The result of a nursery in which nothing fails.
type Sure<T> = Result<T, Infallible>;

#[test]
fn an_empty_nursery_returns_what_its_body_returns() {
    in_fiber_of_each(|| {
        assert_eq!(nursery(|_| Ok::<_, ()>(7)), Ok(7));
        assert_eq!(nursery(|_| Err::<(), _>("no")), Err("no"));
    });
}

#[test]
fn children_borrow_from_the_caller_and_end_before_it_goes_on() {
    in_fiber_of_each(|| {
        let mut numbers = vec![0; 100];
        let text = String::from("shared");
        let sum: Sure<usize> = nursery(|n| {
            for (place, number) in numbers.iter_mut().enumerate() {
                let text = &text;
                n.spawn(move || {
                    if place % 3 == 0 {
                        yield_now();
                    }
                    *number = place + text.len();
                });
            }
            Ok(1)
        });
        assert_eq!(sum, Ok(1));
        assert!(numbers.iter().enumerate().all(|(place, number)| *number == place + 6));
        numbers.push(0);
    });
}

#[test]
fn children_that_wait_are_waited_for() {
    in_fiber_of_each(|| {
        let ended = AtomicUsize::new(0);
        let done: Sure<()> = nursery(|n| {
            for number in 0..20 {
                let ended = &ended;
                n.spawn(move || {
                    sleep(Duration::from_micros(number * 50)).unwrap();
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
            Ok(())
        });
        done.unwrap();
        assert_eq!(ended.into_inner(), 20);
    });
}

#[test]
fn children_talk_through_what_they_borrow() {
    in_fiber_of_each(|| {
        let (send, receive) = bounded(3);
        let sum = Mutex::new(0);
        let done: Sure<()> = nursery(|n| {
            for _ in 0..4 {
                n.spawn(|| receive.iter().for_each(|number: u32| *sum.lock() += number));
            }
            n.spawn(|| {
                let send = send;
                (0..100).for_each(|number| send.send(number).unwrap());
            });
            Ok(())
        });
        done.unwrap();
        assert_eq!(sum.into_inner(), 4_950);
    });
}

#[test]
fn children_spawn_siblings() {
    fn grow<'scope>(n: &'scope Nursery<'scope, '_, Infallible>, depth: usize, count: &'scope AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            for _ in 0..2 {
                n.spawn(move || grow(n, depth - 1, count));
            }
        }
    }
    in_fiber_of_each(|| {
        let count = AtomicUsize::new(0);
        nursery(|n| {
            grow(n, 8, &count);
            Ok(())
        })
        .unwrap();
        assert_eq!(count.into_inner(), 511);
    });
}

#[test]
fn a_sibling_spawned_when_all_others_have_ended_is_waited_for() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let (way, last) = (gate.way(), AtomicBool::new(false));
        let opener = thread::spawn(move || gate.open());
        let done: Sure<()> = nursery(|n| {
            let last = &last;
            n.spawn(move || {
                way.pass().unwrap();
                n.spawn(move || {
                    yield_now();
                    n.spawn(|| last.store(true, Ordering::Relaxed));
                });
            });
            Ok(())
        });
        done.unwrap();
        assert!(last.into_inner());
        until(|| opener.is_finished());
    });
}

#[test]
fn nurseries_nest() {
    in_fiber_of_each(|| {
        let leaves = AtomicUsize::new(0);
        let total: Sure<usize> = nursery(|outer| {
            for _ in 0..5 {
                outer.spawn(|| {
                    let inner: Sure<()> = nursery(|inner| {
                        for _ in 0..5 {
                            inner.spawn(|| {
                                yield_now();
                                leaves.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                        Ok(())
                    });
                    inner.unwrap();
                });
            }
            let here: Sure<usize> = nursery(|inner| {
                inner.spawn(|| {
                    leaves.fetch_add(1, Ordering::Relaxed);
                });
                Ok(1)
            });
            here
        });
        assert_eq!((total, leaves.into_inner()), (Ok(1), 26));
    });
}

#[test]
fn a_child_spawns_into_the_nursery_around_its_own() {
    in_fiber_of_each(|| {
        let (count, held) = (AtomicUsize::new(0), AtomicBool::new(true));
        let done: Sure<()> = nursery(|outer| {
            let (count, held) = (&count, &held);
            let inner: Sure<()> = nursery(|inner| {
                inner.spawn(move || {
                    outer.spawn(move || {
                        until(|| !held.load(Ordering::Relaxed));
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                });
                Ok(())
            });
            inner.unwrap();
            assert_eq!(count.load(Ordering::Relaxed), 0, "the inner one does not wait for it");
            held.store(false, Ordering::Relaxed);
            Ok(())
        });
        done.unwrap();
        assert_eq!(count.into_inner(), 1);
    });
}

#[test]
fn a_child_may_be_looked_at_and_waited_for() {
    in_fiber_of_each(|| {
        let may_end = AtomicBool::new(false);
        let done: Sure<()> = nursery(|n| {
            let child = n.spawn(|| until(|| may_end.load(Ordering::Relaxed)));
            let other = n.spawn(|| ());
            assert_ne!(child.id(), other.id());
            settle();
            assert!(!child.is_finished());
            may_end.store(true, Ordering::Relaxed);
            child.wait().unwrap();
            assert!(child.is_finished());
            child.wait().unwrap();
            other.wait().unwrap();
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn a_child_has_the_name_and_the_stack_it_was_given() {
    in_fiber_of_each(|| {
        let done: Sure<()> = nursery(|n| {
            n.builder().name("clerk").spawn(|| {
                assert_eq!(sisal::fiber::current().unwrap().name(), Some("clerk"));
            });
            n.builder().stack_size(2 << 20).spawn(|| {
                let mut space = [0u8; 1 << 20];
                yield_now();
                std::hint::black_box(&mut space)[1 << 19] = 1;
            });
            let spread = n.builder().name("far").spread().spawn(|| ());
            spread.wait().unwrap();
            Ok(())
        });
        done.unwrap();
        let named: Sure<u32> = Nursery::options().name("office").run(|n| {
            n.spawn(|| ());
            Ok(1)
        });
        assert_eq!(named, Ok(1));
    });
}

#[test]
fn a_local_child_may_have_what_is_not_send() {
    in_fiber_of_each(|| {
        let (count, here) = (Cell::new(0), thread::current().id());
        let done: Sure<()> = nursery(|n| {
            for _ in 0..10 {
                n.spawn_local(|| {
                    assert_eq!(thread::current().id(), here);
                    yield_now();
                    count.set(count.get() + 1);
                });
            }
            Ok(())
        });
        done.unwrap();
        assert_eq!(count.get(), 10);
    });
}

#[test]
fn ten_thousand_children_end() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let sum = AtomicUsize::new(0);
            let done: Sure<()> = nursery(|n| {
                for number in 0..10_000 {
                    let sum = &sum;
                    n.spawn(move || {
                        sum.fetch_add(number, Ordering::Relaxed);
                    });
                }
                Ok(())
            });
            done.unwrap();
            assert_eq!(sum.into_inner(), 49_995_000);
        });
    });
}

#[test]
fn what_a_child_owned_is_dropped_when_the_nursery_returns() {
    in_fiber_of_each(|| {
        let alive = Arc::new(());
        let done: Sure<()> = nursery(|n| {
            for _ in 0..50 {
                let alive = Arc::clone(&alive);
                n.spawn(move || drop(Arc::clone(&alive)));
            }
            Ok(())
        });
        done.unwrap();
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn a_nursery_in_a_destructor_while_unwinding_waits_for_its_children() {
    struct WorkOnDrop<'a>(&'a AtomicUsize);
    impl Drop for WorkOnDrop<'_> {
        fn drop(&mut self) {
            let done: Sure<()> = nursery(|n| {
                for _ in 0..5 {
                    n.spawn(|| {
                        yield_now();
                        self.0.fetch_add(1, Ordering::Relaxed);
                    });
                }
                Ok(())
            });
            done.unwrap();
        }
    }
    in_fiber_of_each(|| {
        let count = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _works = WorkOnDrop(&count);
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(count.into_inner(), 5);
    });
}

#[test]
fn detached_fibers_are_not_waited_for() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let detached = nursery(|_| Ok::<_, ()>(spawn(move || way.pass()))).unwrap();
        assert!(!detached.is_finished());
        gate.open();
        detached.join().unwrap().unwrap();
    });
}

#[test]
fn a_thread_outside_lends_its_stack_to_children_in_a_runtime() {
    with_workers(|workers| {
        let runtime = background(workers);
        for _ in 0..20 {
            let mut numbers = [0; 10];
            let done: Sure<u32> = runtime.handle().nursery(|n| {
                for (place, number) in numbers.iter_mut().enumerate() {
                    n.spawn(move || {
                        assert!(sisal::in_fiber());
                        yield_now();
                        *number = place;
                    });
                }
                Ok(7)
            });
            assert_eq!(done, Ok(7));
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        }
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_may_have_a_nursery_in_another_runtime() {
    guarded(|| {
        let far = background(2);
        let handle = far.handle().clone();
        let count = fixed(2)
            .run(|| {
                let count = AtomicUsize::new(0);
                let done: Sure<()> = handle.nursery(|n| {
                    for _ in 0..10 {
                        n.spawn(|| {
                            yield_now();
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    Ok(())
                });
                done.unwrap();
                count.into_inner()
            })
            .unwrap();
        assert_eq!(count, 10);
        assert_eq!(far.handle().stats().spawned, 10);
        shut_down(far);
    });
}

#[test]
fn without_a_runtime_a_nursery_works_until_it_spawns() {
    guarded(|| {
        assert_eq!(nursery(|_| Ok::<_, ()>(7)), Ok(7));
        let panicked = catch_unwind(|| {
            nursery(|n| {
                n.spawn(|| ());
                Ok::<_, ()>(())
            })
        });
        let payload = panicked.unwrap_err();
        let message = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        assert!(message.is_some_and(|message| message.contains("no sisal runtime here")), "{message:?}");
    });
}
