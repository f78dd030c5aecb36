//! Everything from plain threads: what blocks a fiber elsewhere blocks the thread here, and what needs no runtime needs none.

mod common;

use common::gate::Gate;
use common::watchdog::guarded;
use common::{background, child, fixed, rounds, with_workers};
use sisal::{
    Builder, Handle, JoinError, SpawnErrorKind, join_all, sleep, sleep_until, spawn, spawn_local, spawn_on, try_spawn,
    yield_now,
};
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn without_a_runtime_waits_block_the_thread() {
    let start = Instant::now();
    sleep(Duration::from_millis(5)).unwrap();
    sleep_until(Instant::now() + Duration::from_millis(5)).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(10));
    sleep(Duration::ZERO).unwrap();
    sleep_until(start).unwrap();
    yield_now();
}

#[test]
fn without_a_runtime_there_is_no_fiber() {
    assert!(!sisal::in_fiber());
    assert!(sisal::fiber::current().is_none());
    assert!(Handle::current().is_none());
}

#[test]
fn without_a_runtime_try_spawn_gives_the_closure_back() {
    let refused = try_spawn(|| 7).unwrap_err();
    assert_eq!(refused.kind(), SpawnErrorKind::NoRuntime);
    assert!(refused.to_string().contains("no sisal runtime here"), "{refused}");
    assert_eq!(refused.into_inner()(), 7);
    assert_eq!(Builder::new().name("x").try_spawn(|| ()).unwrap_err().kind(), SpawnErrorKind::NoRuntime);
}

#[test]
fn without_a_runtime_spawning_panics_and_says_what_to_do() {
    let calls: [fn(); 5] = [
        || drop(spawn(|| ())),
        || drop(spawn_local(|| ())),
        || drop(spawn_on(0, || ())),
        || drop(Builder::new().spawn(|| ())),
        || drop(Builder::new().spawn_local(|| ())),
    ];
    for call in calls {
        let payload = catch_unwind(call).unwrap_err();
        let message = payload.downcast_ref::<String>().unwrap();
        assert!(message.contains("sisal::run") && message.contains("Handle"), "{message}");
    }
}

#[test]
fn a_program_that_never_starts_a_runtime_has_no_threads_of_one() {
    let ended = child::run(|| {
        sleep(Duration::from_micros(1)).unwrap();
        yield_now();
        sisal::fiber_local! { static LOCAL: u8 = 1; }
        assert_eq!(LOCAL.with(|local| *local), 1);
        assert_eq!(sisal::stack::grow(1 << 20, || 7), 7);
        assert_eq!(common::linux::threads_named("sisal"), 0);
    });
    ended.well();
}

#[test]
fn threads_spawn_and_join_in_every_way() {
    with_workers(|workers| {
        let runtime = background(workers);
        let handle = runtime.handle();
        assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
        assert_eq!(handle.spawn(|| 2).join().unwrap(), 2);
        assert_eq!(handle.try_spawn(|| 3).unwrap().join().unwrap(), 3);
        assert_eq!(handle.spawn_on(workers - 1, || 4).join().unwrap(), 4);
        let built = handle.builder().name("built").stack_size(1 << 20).spread().spawn(|| 5);
        assert_eq!(built.join().unwrap(), 5);
        assert_eq!(handle.builder().spawn_on(0, || 6).join().unwrap(), 6);
        let panicked = handle.spawn(|| panic!("on purpose")).join();
        assert!(matches!(panicked, Err(JoinError::Panicked(_))));
        common::shut_down(runtime);
    });
}

#[test]
fn a_local_fiber_cannot_be_spawned_from_a_thread() {
    guarded(|| {
        let runtime = background(1);
        let builder = runtime.handle().builder();
        assert!(catch_unwind(move || builder.spawn_local(|| 7).join()).is_err());
        assert_eq!(runtime.run(|| 7), 7);
        common::shut_down(runtime);
    });
}

#[test]
fn threads_and_fibers_wait_for_each_other() {
    with_workers(|workers| {
        let runtime = background(workers);
        thread::scope(|scope| {
            for number in 0..4 {
                let handle = runtime.handle().clone();
                scope.spawn(move || {
                    for round in 0..rounds(500) {
                        let fiber = handle.spawn(move || {
                            if round % 3 == 0 {
                                yield_now();
                            }
                            (number, round)
                        });
                        assert_eq!(fiber.join().unwrap(), (number, round));
                    }
                });
            }
        });
        common::shut_down(runtime);
    });
}

#[test]
fn a_thread_that_waits_is_woken_by_a_gate_that_opens_later() {
    with_workers(|workers| {
        let runtime = background(workers);
        for _ in 0..rounds(50) {
            let gate = Gate::closed();
            let way = gate.way();
            let fiber = runtime.spawn(move || way.pass());
            let opener = thread::spawn(move || gate.open());
            fiber.join().unwrap().unwrap();
            opener.join().unwrap();
        }
        common::shut_down(runtime);
    });
}

#[test]
fn a_result_is_joined_after_its_runtime_has_ended() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (value, gone) = (runtime.spawn(|| vec![1, 2, 3]), runtime.spawn(|| 7).shared());
        value.wait().unwrap();
        gone.join().unwrap();
        common::shut_down(runtime);
        assert_eq!(value.join().unwrap(), [1, 2, 3]);
        assert_eq!((gone.clone().join().unwrap(), gone.join().unwrap()), (7, 7));
        // And out of `run`.
        let handle = fixed(workers).run(|| {
            let handle = spawn(|| "kept".to_owned());
            handle.wait().unwrap();
            handle
        });
        assert_eq!(handle.unwrap().join().unwrap(), "kept");
    });
}

#[test]
fn a_thread_wakes_an_idle_runtime_every_time() {
    with_workers(|workers| {
        let runtime = background(workers);
        let (ping, pings) = mpsc::channel();
        for number in 0..rounds(2_000) {
            let ping = ping.clone();
            drop(runtime.spawn(move || ping.send(number).unwrap()));
            assert_eq!(pings.recv().unwrap(), number);
        }
        common::shut_down(runtime);
    });
}

#[test]
fn a_thread_wakes_the_very_worker_a_fiber_is_for() {
    with_workers(|workers| {
        let runtime = background(workers);
        for number in 0..rounds(2_000) {
            let on = runtime.handle().spawn_on(number % workers, move || number);
            assert_eq!(on.join().unwrap(), number);
        }
        common::shut_down(runtime);
    });
}

#[test]
fn a_waiting_thread_that_ends_in_a_thread_local_destructor_still_waits() {
    struct Last(Handle);
    impl Drop for Last {
        fn drop(&mut self) {
            assert_eq!(self.0.spawn(|| 7).join().unwrap(), 7);
            yield_now();
            sleep(Duration::from_micros(1)).unwrap();
        }
    }
    thread_local! { static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) }; }
    guarded(|| {
        let runtime = background(1);
        let handle = runtime.handle().clone();
        thread::spawn(move || LAST.set(Some(Last(handle)))).join().unwrap();
        common::shut_down(runtime);
    });
}

#[test]
fn many_threads_join_many_fibers() {
    with_workers(|workers| {
        let runtime = background(workers);
        let gate = Gate::closed();
        let handles: Vec<_> = (0..8)
            .map(|number| {
                let way = gate.way();
                runtime.spawn(move || {
                    way.pass().unwrap();
                    number
                })
            })
            .collect();
        let threads: Vec<_> = handles.into_iter().map(|handle| thread::spawn(move || handle.join().unwrap())).collect();
        gate.open();
        assert_eq!(threads.into_iter().map(|thread| thread.join().unwrap()).sum::<i32>(), 28);
        let all = join_all((0..100).map(|number| runtime.spawn(move || number)));
        assert_eq!(all.into_iter().map(Result::unwrap).sum::<i32>(), 4950);
        common::shut_down(runtime);
    });
}
