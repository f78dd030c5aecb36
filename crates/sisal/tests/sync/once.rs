//! What is made once: it is made by one, all others wait for it however long that takes, and a panic leaves what it should.

use crate::common::gate::Gate;
use crate::common::places::{everywhere, join_all, settle};
use crate::common::traits::implements;
use crate::common::watchdog::guarded;
use crate::common::{in_fiber_of_each, until};
use sisal::sync::{LazyLock, Once, OnceLock};
use sisal::{sleep, spawn, yield_now};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Whether it panics.
fn panics<T>(call: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

#[test]
fn a_once_is_called_once() {
    in_fiber_of_each(|| {
        let (once, calls) = (Once::new(), Cell::new(0));
        assert!(!once.is_completed());
        for _ in 0..3 {
            once.call_once(|| calls.set(calls.get() + 1));
            assert!(once.is_completed());
        }
        assert_eq!(calls.get(), 1);
    });
}

#[test]
fn all_callers_of_a_once_wait_for_the_one_that_runs() {
    everywhere(|place| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0), AtomicBool::new(false)));
        let actors = place.sharing(8, &shared, |(once, calls, is_made), _| {
            once.call_once(|| {
                calls.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1)).unwrap();
                yield_now();
                is_made.store(true, Ordering::Relaxed);
            });
            assert!(is_made.load(Ordering::Relaxed) && once.is_completed());
        });
        join_all(actors);
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_once_that_runs_is_not_completed() {
    everywhere(|place| {
        let gate = Gate::closed();
        let shared = Arc::new((Once::new(), AtomicBool::new(false), gate.way()));
        let actor = place.sharing(1, &shared, |(once, is_running, way), _| {
            once.call_once(|| {
                is_running.store(true, Ordering::Relaxed);
                way.pass().unwrap();
            });
        });
        until(|| shared.1.load(Ordering::Relaxed));
        assert!(!shared.0.is_completed());
        gate.open();
        join_all(actor);
        assert!(shared.0.is_completed());
    });
}

#[test]
fn a_panic_poisons_a_once_for_all_who_come_and_all_who_wait() {
    everywhere(|place| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
        let actors = place.sharing(5, &shared, |(once, calls), _| {
            once.call_once(|| {
                calls.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_micros(500)).unwrap();
                panic!("on purpose: in the initialiser");
            });
        });
        assert!(actors.into_iter().all(|actor| actor.end().is_err()));
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        assert!(!shared.0.is_completed());
        assert!(panics(|| shared.0.call_once(|| ())));
    });
}

#[test]
fn a_cell_is_set_once_and_gives_a_second_value_back() {
    in_fiber_of_each(|| {
        let mut cell = OnceLock::new();
        assert!(cell.get().is_none() && cell.get_mut().is_none());
        cell.set(1).unwrap();
        assert_eq!(cell.set(2), Err(2));
        assert_eq!(*cell.get_or_init(|| 3), 1);
        *cell.get_mut().unwrap() += 10;
        assert_eq!(cell.get(), Some(&11));
        assert_eq!(cell.take(), Some(11));
        assert!(cell.get().is_none() && cell.take().is_none());
        assert_eq!(*cell.get_or_init(|| 4), 4);
        assert_eq!(cell.into_inner(), Some(4));
        assert_eq!(OnceLock::<u8>::new().into_inner(), None);
    });
}

#[test]
fn a_cell_is_filled_by_one_while_the_others_wait() {
    everywhere(|place| {
        let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
        let actors = place.sharing(8, &shared, |(cell, calls), number| {
            let value = cell.get_or_init(|| {
                calls.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1)).unwrap();
                number
            });
            (*value, std::ptr::from_ref(value) as usize)
        });
        let seen = join_all(actors);
        assert!(seen.iter().all(|value| *value == seen[0]), "{seen:?}");
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn of_many_that_set_a_cell_one_succeeds() {
    everywhere(|place| {
        for _ in 0..50 {
            let cell = Arc::new(OnceLock::new());
            let actors = place.sharing(4, &cell, |cell, number| cell.set(number).map_err(|back| back == number));
            let results = join_all(actors);
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
            assert!(results.iter().all(|result| *result != Err(false)));
            assert_eq!(results[*cell.get().unwrap()], Ok(()));
        }
    });
}

#[test]
fn a_panicking_initialiser_leaves_a_cell_empty_and_the_next_tries() {
    everywhere(|place| {
        let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
        let actors = place.sharing(6, &shared, |(cell, calls), _| {
            *cell.get_or_init(|| {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_micros(300)).unwrap();
                assert!(call >= 3, "on purpose: call {call}");
                call
            })
        });
        let ends: Vec<_> = actors.into_iter().map(|actor| actor.end().ok()).collect();
        assert_eq!(ends.iter().filter(|end| end.is_none()).count(), 3);
        assert!(ends.into_iter().flatten().all(|value| value == 3));
        assert_eq!(shared.0.get(), Some(&3));
    });
}

#[test]
fn a_cell_may_be_waited_for() {
    everywhere(|place| {
        let cell = Arc::new(OnceLock::new());
        let actors = place.sharing(6, &cell, |cell, _| *cell.wait());
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        cell.set(7).unwrap();
        assert_eq!(join_all(actors), [7; 6]);
        assert_eq!(*cell.wait(), 7);
    });
}

#[test]
fn those_who_wait_for_a_cell_sit_through_a_panicking_initialiser() {
    everywhere(|place| {
        let cell = Arc::new(OnceLock::new());
        let actors = place.sharing(3, &cell, |cell, _| *cell.wait());
        settle();
        assert!(panics(|| cell.get_or_init(|| panic!("on purpose"))));
        settle();
        assert!(actors.iter().all(|actor| !actor.is_finished()));
        assert_eq!(*cell.get_or_init(|| 9), 9);
        assert_eq!(join_all(actors), [9; 3]);
    });
}

#[test]
fn the_value_of_a_cell_is_dropped_once() {
    in_fiber_of_each(|| {
        let alive = Arc::new(());
        let cell = OnceLock::new();
        drop(OnceLock::<Arc<()>>::new());
        cell.set(Arc::clone(&alive)).unwrap();
        drop(cell.set(Arc::clone(&alive)));
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(cell);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn a_lazy_value_is_made_at_its_first_use() {
    in_fiber_of_each(|| {
        let calls = Cell::new(0);
        let lazy = LazyLock::new(|| {
            calls.set(calls.get() + 1);
            String::from("made")
        });
        assert_eq!(calls.get(), 0);
        assert_eq!(lazy.len(), 4);
        assert_eq!(LazyLock::force(&lazy), "made");
        assert_eq!(calls.get(), 1);
    });
}

#[test]
fn a_lazy_static_is_made_once_by_fibers_and_threads_together() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<Vec<usize>> = LazyLock::new(|| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(1)).unwrap();
        (0..10).collect()
    });
    everywhere(|place| {
        let actors = place.sharing(8, &Arc::new(()), |(), number| LAZY[number]);
        assert_eq!(join_all(actors), (0..8).collect::<Vec<_>>());
    });
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lazy_value_made_by_waiting_for_a_fiber_keeps_its_users_waiting() {
    in_fiber_of_each(|| {
        let gate = Gate::closed();
        let way = gate.way();
        let lazy = Arc::new(LazyLock::new(move || {
            way.pass().unwrap();
            7
        }));
        let users: Vec<_> = (0..4)
            .map(|_| {
                let lazy = Arc::clone(&lazy);
                spawn(move || **lazy)
            })
            .collect();
        settle();
        assert!(users.iter().all(|user| !user.is_finished()));
        gate.open();
        assert!(users.into_iter().all(|user| user.join().unwrap() == 7));
    });
}

#[test]
fn a_panic_poisons_a_lazy_value() {
    everywhere(|place| {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let lazy: Arc<LazyLock<u32, _>> = Arc::new(LazyLock::new(move || -> u32 {
            count.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_micros(300)).unwrap();
            panic!("on purpose")
        }));
        let actors = place.sharing(4, &lazy, |lazy, _| **lazy);
        assert!(actors.into_iter().all(|actor| actor.end().is_err()));
        assert!(panics(|| **lazy));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn they_may_be_statics_and_need_no_runtime() {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| 3);
    guarded(|| {
        ONCE.call_once(|| CELL.set(2).unwrap());
        let other = std::thread::spawn(|| CELL.wait() + *LAZY);
        assert_eq!(other.join().unwrap(), 5);
    });
}

#[test]
fn they_are_shared_only_where_their_values_may_be() {
    assert!(implements!(OnceLock<u8>: Send + Sync));
    assert!(!implements!(OnceLock<Cell<u8>>: Sync));
    assert!(!implements!(OnceLock<std::rc::Rc<u8>>: Send));
    assert!(!implements!(LazyLock<Cell<u8>>: Sync));
    assert!(!implements!(LazyLock<u8, Box<dyn Fn() -> u8>>: Sync), "another thread might call the closure");
}

#[test]
fn a_once_that_was_poisoned_is_done_by_force_and_seen_by_all_who_wait() {
    everywhere(|place| {
        let shared = Arc::new((Once::new(), AtomicBool::new(false)));
        assert!(panics(|| shared.0.call_once(|| panic!("on purpose: in the initialiser"))));
        assert!(panics(|| shared.0.wait()) && panics(|| shared.0.call_once(|| ())));
        assert!(panics(|| shared.0.call_once_force(|_| panic!("on purpose: again"))));
        let waiters = place.sharing(4, &shared, |(once, is_made), _| {
            once.wait_force();
            is_made.load(Ordering::Relaxed)
        });
        settle();
        shared.0.call_once_force(|state| {
            assert!(state.is_poisoned());
            shared.1.store(true, Ordering::Relaxed);
        });
        assert!(join_all(waiters).into_iter().all(|seen| seen));
        shared.0.call_once_force(|_| unreachable!("it is done"));
        shared.0.call_once(|| unreachable!("it is done"));
        shared.0.wait();
    });
}

#[test]
fn who_waits_for_a_once_does_not_do_it() {
    everywhere(|place| {
        let shared = Arc::new((Once::new(), AtomicBool::new(false)));
        let waiters = place.sharing(4, &shared, |(once, is_made), number| {
            if number % 2 == 0 {
                once.wait()
            } else {
                once.wait_force()
            }
            is_made.load(Ordering::Relaxed)
        });
        settle();
        assert!(!shared.0.is_completed());
        shared.0.call_once_force(|state| {
            assert!(!state.is_poisoned());
            shared.1.store(true, Ordering::Relaxed);
        });
        assert!(join_all(waiters).into_iter().all(|seen| seen));
    });
}

#[test]
fn a_lazy_value_is_reached_without_being_made_and_changed_by_its_owner() {
    in_fiber_of_each(|| {
        let calls = Cell::new(0);
        let mut lazy = LazyLock::new(|| {
            calls.set(calls.get() + 1);
            vec![1]
        });
        assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none() && calls.get() == 0);
        lazy.push(2);
        LazyLock::force_mut(&mut lazy).push(3);
        LazyLock::get_mut(&mut lazy).unwrap().push(4);
        assert_eq!((LazyLock::get(&lazy), calls.get()), (Some(&vec![1, 2, 3, 4]), 1));
        let mut poisoned: LazyLock<u32> = LazyLock::new(|| panic!("on purpose: in the initialiser"));
        assert!(panics(|| *poisoned += 1));
        assert!(panics(|| *LazyLock::force_mut(&mut poisoned)) && LazyLock::get(&poisoned).is_none());
    });
}
