//! Forks.

use crate::common::watchdog::guarded;
use crate::common::{LONG, background, in_main_fiber, shut_down, until, with_workers};
use crate::work::fib;
use sisal::par::join;
use sisal::sync::{Barrier, Mutex};
use sisal::{chan, spawn, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn halves_that_wait_for_each_other_end() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..100 {
                let (sender, receiver) = chan::bounded(0);
                let (_, got) = join(move || sender.send(7).unwrap(), move || receiver.recv().unwrap());
                assert_eq!(got, 7);
                let (sender, receiver) = chan::bounded(0);
                let (got, _) = join(move || receiver.recv().unwrap(), move || sender.send(8).unwrap());
                assert_eq!(got, 8);
            }
        });
    });
}

/// A pool whose waiting workers run other jobs on top of a blocked frame would run one here that wants the same mutex.
#[test]
fn a_mutex_may_be_held_across_a_fork() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let mutex = Arc::new(Mutex::new(0));
            let fibers: Vec<_> = (0..50)
                .map(|_| {
                    let mutex = Arc::clone(&mutex);
                    spawn(move || {
                        let mut held = mutex.lock();
                        let (a, b) = join(
                            || {
                                yield_now();
                                fib(8)
                            },
                            || fib(9),
                        );
                        *held += a + b;
                    })
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
            assert_eq!(*mutex.lock(), 50 * (21 + 34));
        });
    });
}

/// Two fibers of one worker, each of which forks, waits in its first half, and goes on after the other has forked: each takes its own.
#[test]
fn fibers_that_take_turns_get_their_own_halves_back() {
    in_main_fiber(1, || {
        let turns = |name: usize| {
            move || {
                for round in 0..1_000 {
                    let (a, b) = join(
                        || {
                            yield_now();
                            name * 1_000_000 + round
                        },
                        || name * 1_000_000 + round + 1,
                    );
                    assert_eq!((a, b), (name * 1_000_000 + round, name * 1_000_000 + round + 1));
                }
            }
        };
        let (first, second) = (spawn(turns(1)), spawn(turns(2)));
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// The same, parked in their first halves until the other has forked too.
#[test]
fn fibers_that_park_in_first_halves_get_their_own_halves_back() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let ((to_first, first_waits), (to_second, second_waits)) = (chan::bounded(1), chan::bounded(1));
            let turns = |name: usize, tell: chan::Sender<usize>, wait: chan::Receiver<usize>| {
                move || {
                    for round in 0..1_000 {
                        let (a, b) = join(
                            || {
                                tell.send(round).unwrap();
                                assert_eq!(wait.recv(), Ok(round));
                                name
                            },
                            || name * 1_000 + round,
                        );
                        assert_eq!((a, b), (name, name * 1_000 + round));
                    }
                }
            };
            let first = sisal::spawn_local(turns(1, to_second, first_waits));
            let second = sisal::spawn_local(turns(2, to_first, second_waits));
            first.join().unwrap();
            second.join().unwrap();
        });
    });
}

fn meet(count: usize, barrier: &Barrier) {
    if count == 1 {
        barrier.wait();
        return;
    }
    join(|| meet(count / 2, barrier), || meet(count - count / 2, barrier));
}

#[test]
fn a_thousand_leaves_meet_at_a_barrier() {
    with_workers(|workers| in_main_fiber(workers, || meet(1_000, &Barrier::new(1_000))));
}

#[test]
fn a_panic_comes_out_when_both_have_ended() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let ended = AtomicUsize::new(0);
            let count = |value: u32| {
                yield_now();
                ended.fetch_add(1, Ordering::Relaxed);
                assert_ne!(value, 13, "on purpose");
                value
            };
            for (a, b) in [(13, 1), (1, 13), (13, 13)] {
                let before = ended.load(Ordering::Relaxed);
                let result = catch_unwind(AssertUnwindSafe(|| join(|| count(a), || count(b))));
                assert!(result.is_err());
                // The first yields, so the second is there for others, but it need not be run when the first has panicked.
                let ran = ended.load(Ordering::Relaxed) - before;
                assert!((1..=2).contains(&ran), "{ran} halves ran");
                assert!(ran == 2 || a == 13, "the second half was not run");
            }
        });
    });
}

struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn drop_all(depth: u32, dropped: &AtomicUsize, panics_at: u32) {
    if depth == 0 {
        return;
    }
    let (mine, theirs) = (Counted(dropped), Counted(dropped));
    join(
        move || {
            let _mine = mine;
            assert_ne!(depth, panics_at, "on purpose");
            drop_all(depth - 1, dropped, panics_at);
        },
        move || {
            let _theirs = theirs;
            yield_now();
        },
    );
}

#[test]
fn closures_are_dropped_once_whatever_panics() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for panics_at in [0, 1, 5, 10] {
                let dropped = AtomicUsize::new(0);
                let result = catch_unwind(AssertUnwindSafe(|| drop_all(10, &dropped, panics_at)));
                assert_eq!(result.is_err(), panics_at != 0);
                let forks = if panics_at == 0 { 10 } else { 10 - panics_at + 1 };
                assert_eq!(dropped.load(Ordering::Relaxed), 2 * forks as usize);
            }
        });
    });
}

#[test]
fn fibers_that_do_nothing_but_fork_let_fresh_ones_have_their_turn() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (began, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let forking = (0..workers).map(|_| {
            let (began, ended) = (began.clone(), ended.clone());
            runtime.spawn(move || {
                began.fetch_add(1, Ordering::Relaxed);
                while ended.load(Ordering::Relaxed) == 0 {
                    join(|| std::hint::black_box(1), || std::hint::black_box(2));
                }
            })
        });
        let forking: Vec<_> = forking.collect();
        until(|| began.load(Ordering::Relaxed) == workers);
        let fresh = ended.clone();
        runtime.spawn(move || fresh.store(1, Ordering::Relaxed)).join().unwrap();
        forking.into_iter().for_each(|fiber| fiber.join().unwrap());
        shut_down(runtime);
    });
}

#[test]
fn a_first_half_that_gives_way_lets_the_second_run() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let flag = AtomicUsize::new(0);
            join(
                || {
                    while flag.load(Ordering::Relaxed) == 0 {
                        yield_now();
                    }
                },
                || flag.store(1, Ordering::Relaxed),
            );
            let (sender, receiver) = chan::bounded(1);
            join(|| while receiver.try_recv().is_err() {}, || sender.send(7).unwrap());
        });
    });
}

#[test]
fn a_first_half_that_blocks_its_worker_lets_the_second_run_elsewhere() {
    guarded(|| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let runtime = sisal::Runtime::builder().workers(1).max_workers(4);
        let received =
            runtime.run(|| join(move || sisal::block_in_place(|| receiver.recv()), move || sender.send(7).unwrap()).0);
        assert_eq!(received.unwrap(), Ok(7));
    });
}

#[test]
fn the_halves_of_a_fiber_that_was_started_run_while_the_runtime_stops() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle().clone();
        let forking = runtime.spawn(move || {
            handle.request_stop();
            let (sender, receiver) = chan::bounded(0);
            let (received, ()) = sisal::shield(|| join(|| receiver.recv(), || sender.send(7).unwrap()));
            let both = Barrier::new(2);
            join(|| both.wait(), || both.wait());
            let (sender, of_both) = chan::bounded(0);
            let in_time = || join(|| of_both.recv(), || sender.send(8).unwrap()).0;
            assert_eq!(sisal::shield(|| sisal::timeout(LONG, in_time)), Ok(8));
            received
        });
        assert_eq!(forking.join().unwrap(), Ok(7));
        shut_down(runtime);
    });
}

#[test]
fn a_fiber_that_does_nothing_but_fork_lets_fibers_of_its_worker_start() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let flag = std::rc::Rc::new(std::cell::Cell::new(false));
            let set = flag.clone();
            let other = sisal::spawn_local(move || set.set(true));
            while !flag.get() {
                join(|| std::hint::black_box(1), || std::hint::black_box(2));
            }
            other.join().unwrap();
        });
    });
}

/// Panics when it is dropped.
struct Grumbles;

impl Drop for Grumbles {
    fn drop(&mut self) {
        panic!("on purpose, when dropped");
    }
}

#[test]
fn a_closure_that_panics_when_it_is_dropped_leaves_nothing_behind() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for waits in [false, true] {
                let grumbles = Grumbles;
                let both = || {
                    join(
                        || {
                            if waits {
                                yield_now();
                            }
                            panic!("on purpose");
                        },
                        move || drop(grumbles),
                    )
                };
                catch_unwind(AssertUnwindSafe(both)).unwrap_err();
                yield_now();
            }
        });
    });
}

#[test]
fn a_stolen_half_is_inside_of_what_its_owner_is_inside() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let forever = std::time::Duration::from_secs(3_600);
            let soon = std::time::Duration::from_millis(5);
            let (a, b) = sisal::timeout(soon, || join(|| sisal::sleep(forever), || sisal::sleep(forever)));
            assert!(a.is_err() && b.is_err());
        });
    });
}

#[test]
fn a_request_for_the_end_reaches_what_others_run() {
    with_workers(|workers| {
        in_main_fiber(workers, || {
            for _ in 0..20 {
                let forever = std::time::Duration::from_secs(3_600);
                let (sender, receiver) = chan::bounded(2);
                let second = sender.clone();
                let fiber = spawn(move || {
                    join(
                        || {
                            sender.send(()).unwrap();
                            sisal::sleep(forever)
                        },
                        || {
                            second.send(()).unwrap();
                            sisal::sleep(forever)
                        },
                    )
                });
                receiver.recv().unwrap();
                receiver.recv().unwrap();
                fiber.cancel();
                let (a, b) = fiber.join().unwrap();
                assert!(a.is_err() && b.is_err());
            }
        });
    });
}

/// A kilobyte of stack for each level.
#[inline(never)]
fn deep(levels: u32) -> u32 {
    let frame = std::hint::black_box([levels; 250]);
    if levels == 0 { 0 } else { deep(levels - 1) + frame[7] / levels }
}

#[test]
fn a_half_that_others_run_has_a_stack_as_large_as_its_owners() {
    with_workers(|workers| {
        let runtime = background(workers);
        let large = runtime.handle().builder().stack_size(16 << 20);
        let forked = large.spawn(|| {
            join(
                || {
                    yield_now();
                    deep(2_000)
                },
                || deep(2_000),
            )
        });
        assert_eq!(forked.join().unwrap(), (2_000, 2_000));
        let grown = runtime.spawn(|| sisal::stack::grow(16 << 20, || join(yield_now, || deep(2_000)).1));
        assert_eq!(grown.join().unwrap(), 2_000);
        shut_down(runtime);
    });
}

#[test]
fn of_two_panics_whose_payloads_panic_in_turn_the_first_comes_out() {
    struct Spiteful(u32);
    impl Drop for Spiteful {
        fn drop(&mut self) {
            if self.0 != 0 {
                std::panic::resume_unwind(Box::new(()));
            }
        }
    }
    with_workers(|workers| {
        in_main_fiber(workers, || {
            let panicked = catch_unwind(|| {
                join(
                    || {
                        yield_now();
                        std::panic::resume_unwind(Box::new(Spiteful(0)))
                    },
                    || std::panic::resume_unwind(Box::new(Spiteful(1))),
                )
            });
            assert_eq!(panicked.unwrap_err().downcast::<Spiteful>().unwrap().0, 0);
        });
    });
}
