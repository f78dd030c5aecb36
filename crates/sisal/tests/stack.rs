//! Stacks: sizes that were asked for are there, and deep code runs on a grown one.

mod common;

use common::watchdog::guarded;
use common::{fixed, in_fiber_of_each, until};
use sisal::{Builder, Handle, fiber_local, join_all, sleep, spawn, stack, yield_now};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Goes down until so many bytes of stack are used.
#[inline(never)]
fn use_stack(bytes: usize) -> usize {
    let top = black_box([0u8; 8]);
    use_below(top.as_ptr().addr(), bytes)
}

#[inline(never)]
fn use_below(top: usize, bytes: usize) -> usize {
    let frame = black_box([1u8; 256]);
    let used = top.saturating_sub(frame.as_ptr().addr());
    if used >= bytes { used } else { use_below(top, bytes) + usize::from(frame[0]) - 1 }
}

/// What the runtime itself and the frames of a debug build take of a stack.
const OVERHEAD: usize = 16 << 10;

#[test]
fn a_fiber_has_the_stack_that_was_asked_for() {
    in_fiber_of_each(|| {
        for size in [64 << 10, 192 << 10, 500 << 10, 1 << 20, 16 << 20] {
            let fiber = Builder::new().stack_size(size).spawn(move || {
                let first = use_stack(size - OVERHEAD);
                yield_now();
                first.min(use_stack(size - OVERHEAD))
            });
            assert!(fiber.join().unwrap() >= size - OVERHEAD);
        }
    });
}

#[test]
fn a_runtime_has_the_stack_size_that_was_asked_for() {
    guarded(|| {
        for size in [64 << 10, 1 << 20] {
            let used = fixed(2).stack_size(size).run(|| {
                let fibers = (0..20).map(|_| {
                    spawn(move || {
                        yield_now();
                        use_stack(size - OVERHEAD)
                    })
                });
                join_all(fibers).into_iter().map(Result::unwrap).min().unwrap()
            });
            assert!(used.unwrap() >= size - OVERHEAD);
        }
    });
}

#[test]
fn fibers_of_many_sizes_live_side_by_side() {
    in_fiber_of_each(|| {
        let fibers = (0..60).map(|number| {
            let size = (64 << 10) << (number % 6);
            Builder::new().stack_size(size).spawn(move || {
                for _ in 0..3 {
                    use_stack(size - OVERHEAD);
                    yield_now();
                    sleep(Duration::from_micros(10)).unwrap();
                }
                number
            })
        });
        let sum: u64 = join_all(fibers).into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, 1770);
    });
}

#[test]
fn deep_code_runs_on_a_grown_stack_in_a_fiber() {
    in_fiber_of_each(|| {
        let fibers = (0..8).map(|number| {
            spawn(move || {
                let used = stack::grow(8 << 20, || use_stack((8 << 20) - OVERHEAD));
                assert!(used >= (8 << 20) - OVERHEAD);
                number
            })
        });
        assert_eq!(join_all(fibers).into_iter().map(Result::unwrap).sum::<i32>(), 28);
        // In the main fiber, on the thread's own stack, too.
        assert!(stack::grow(32 << 20, || use_stack(24 << 20)) >= 24 << 20);
    });
}

#[test]
fn deep_code_runs_on_a_grown_stack_without_a_runtime() {
    guarded(|| {
        assert!(stack::grow(32 << 20, || use_stack(24 << 20)) >= 24 << 20);
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(|| stack::grow(16 << 20, || use_stack(12 << 20)))).collect();
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() >= 12 << 20));
    });
}

#[test]
fn a_fiber_on_a_grown_stack_is_the_same_fiber_on_the_same_thread_and_may_wait() {
    fiber_local! { static OWN: Cell<u32> = Cell::new(0); }
    in_fiber_of_each(|| {
        let fibers = (0..20).map(|number| {
            spawn(move || {
                OWN.with(|own| own.set(number));
                let (id, home) = (sisal::fiber::current().unwrap().id(), thread::current().id());
                stack::grow(1 << 20, || {
                    for _ in 0..5 {
                        yield_now();
                        sleep(Duration::from_micros(10)).unwrap();
                        assert_eq!(spawn(|| 7).join().unwrap(), 7);
                        assert_eq!(sisal::fiber::current().unwrap().id(), id);
                        assert_eq!(thread::current().id(), home);
                        assert_eq!(OWN.with(Cell::get), number);
                    }
                });
                yield_now();
                assert_eq!(thread::current().id(), home);
            })
        });
        join_all(fibers).into_iter().for_each(Result::unwrap);
    });
}

#[test]
fn grown_stacks_nest() {
    fn nest(depth: usize) -> usize {
        if depth == 0 {
            return use_stack(128 << 10);
        }
        stack::grow(256 << 10, || {
            yield_or_not();
            use_stack(64 << 10);
            nest(depth - 1)
        })
    }
    fn yield_or_not() {
        if sisal::in_fiber() {
            yield_now();
        }
    }
    in_fiber_of_each(|| {
        assert!(join_all((0..5).map(|_| spawn(|| nest(20)))).into_iter().all(|used| used.unwrap() >= 128 << 10));
    });
    assert!(nest(20) >= 128 << 10);
}

#[test]
fn a_grown_stack_may_borrow_and_return() {
    in_fiber_of_each(|| {
        let mut words = vec!["b", "a"];
        let kept = Rc::new(5);
        let result = stack::grow(1 << 20, || {
            words.sort_unstable();
            Rc::clone(&kept)
        });
        assert_eq!((words, *result), (vec!["a", "b"], 5));
    });
}

#[test]
fn a_panic_passes_through_a_grown_stack() {
    fn panic_deep() -> String {
        let caught = catch_unwind(|| stack::grow(1 << 20, || panic!("on purpose: {}", black_box("deep"))));
        *caught.unwrap_err().downcast::<String>().unwrap()
    }
    in_fiber_of_each(|| {
        assert_eq!(panic_deep(), "on purpose: deep");
        assert_eq!(spawn(panic_deep).join().unwrap(), "on purpose: deep");
        assert!(use_stack(1 << 10) > 0, "back on the old stack");
        yield_now();
    });
    assert_eq!(panic_deep(), "on purpose: deep");
}

#[test]
fn impossible_sizes_are_refused_with_a_clear_message() {
    for size in [0, 4095, (1 << 30) + 1, usize::MAX] {
        let message = catch_unwind(|| stack::grow(size, || ())).unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains(&format!("stack::grow({size})")) && message.contains("out of range"), "{message}");
    }
    assert_eq!(stack::grow(4096, || 7), 7);
}

#[test]
fn grown_stacks_are_given_back() {
    in_fiber_of_each(|| {
        let handle = Handle::current().unwrap();
        let grow = || stack::grow(1 << 20, yield_now);
        join_all((0..10).map(|_| spawn(grow))).into_iter().for_each(Result::unwrap);
        let before = handle.stats().stacks_in_use;
        for _ in 0..100 {
            join_all((0..10).map(|_| spawn(grow))).into_iter().for_each(Result::unwrap);
        }
        let caught = catch_unwind(AssertUnwindSafe(|| stack::grow(1 << 20, || panic!("on purpose"))));
        assert!(caught.is_err());
        let slack = 32 * handle.workers();
        until(|| handle.stats().stacks_in_use <= before + slack);
    });
}

#[test]
fn growing_in_a_shortage_of_stacks_waits_for_one() {
    common::with_workers(|workers| {
        let runtime = common::watched(fixed(workers).max_stacks(workers + 4).build().unwrap());
        let done = Arc::new(AtomicUsize::new(0));
        let fibers: Vec<_> = (0..100)
            .map(|_| {
                let done = Arc::clone(&done);
                runtime.spawn(move || {
                    stack::grow(1 << 20, || use_stack(512 << 10));
                    done.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        join_all(fibers).into_iter().for_each(Result::unwrap);
        assert_eq!(done.load(Ordering::Relaxed), 100);
        common::shut_down(runtime);
    });
}
