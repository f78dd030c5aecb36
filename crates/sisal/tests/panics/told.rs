//! Who is told of a panic, and what: joiners, waiters, the standard error, the statistics.

use crate::common::watchdog::guarded;
use crate::common::{LONG, background, child, fixed, in_fiber_of_each, shut_down, until};
use crate::panic_of;
use sisal::{Builder, join_all, sleep, spawn, yield_now};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

#[test]
fn the_joiner_gets_the_payload() {
    in_fiber_of_each(|| {
        let panic = panic_of(spawn(|| panic!("on purpose: {}", std::hint::black_box(7))).join());
        assert_eq!(panic.message(), "on purpose: 7");
        assert_eq!(panic.into_payload().downcast_ref::<String>().unwrap(), "on purpose: 7");
        let panic = panic_of(spawn(|| panic!("on purpose")).join());
        assert_eq!(panic.into_payload().downcast_ref::<&str>(), Some(&"on purpose"));
        let panic = panic_of(spawn(|| resume_unwind(Box::new(vec![1, 2, 3]))).join());
        assert_eq!(panic.message(), "(a value that is not text)");
        assert_eq!(panic.into_payload().downcast_ref::<Vec<i32>>().unwrap(), &[1, 2, 3]);
    });
}

#[test]
fn a_panic_with_a_payload_of_any_kind_is_kept() {
    let ended = child::run(|| {
        #[derive(Debug, PartialEq)]
        struct Odd(u8);
        let payload = fixed(2).run(|| panic_of::<()>(spawn(|| panic_any(Odd(9))).join()).into_payload());
        assert_eq!(payload.unwrap().downcast_ref(), Some(&Odd(9)));
    });
    ended.well();
}

#[test]
fn the_error_names_the_fiber_and_where_it_was_spawned() {
    in_fiber_of_each(|| {
        let handle = Builder::new().name("courier").spawn(|| panic!("on purpose: lost"));
        let (id, line) = (handle.id(), line!() - 1);
        let error = handle.join().unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("fiber 'courier' ({id}), spawned at ")), "{text}");
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
        assert!(text.ends_with(", panicked: on purpose: lost"), "{text}");
        let panic = panic_of::<()>(Err(error));
        assert_eq!((panic.fiber().name(), panic.fiber().id()), (Some("courier"), id));
        assert_eq!(panic.fiber().spawned_at().line(), line);
    });
}

#[test]
fn a_panic_resumed_by_the_joiner_goes_on_there() {
    in_fiber_of_each(|| {
        let outer = spawn(|| panic_of(spawn(|| panic!("on purpose: deep")).join()).resume());
        let panic = panic_of::<()>(outer.join());
        assert_eq!(panic.message(), "on purpose: deep");
    });
}

#[test]
fn threads_outside_get_the_panic_too() {
    guarded(|| {
        let runtime = background(2);
        assert_eq!(panic_of(runtime.spawn(|| panic!("on purpose")).join()).message(), "on purpose");
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.run(|| panic!("on purpose: through run"))));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose: through run"));
        assert_eq!(runtime.run(|| 1), 1, "the runtime goes on");
        shut_down(runtime);
    });
}

#[test]
fn a_panic_of_the_main_fiber_goes_on_after_the_runtime_has_ended() {
    guarded(|| {
        let ended = Arc::new(AtomicBool::new(false));
        let caught = catch_unwind(|| {
            let ended = Arc::clone(&ended);
            fixed(2).run(move || {
                drop(spawn(move || {
                    assert!(sleep(LONG).is_err());
                    ended.store(true, Ordering::Relaxed);
                }));
                yield_now();
                panic!("on purpose: main")
            })
        });
        let payload: Box<dyn Any + Send> = caught.map(|result: Result<(), _>| result.unwrap()).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose: main"));
        assert_eq!(Arc::strong_count(&ended), 1, "the other fiber has ended, started or not");
        assert!(!sisal::in_fiber());
    });
}

#[test]
fn every_waiter_of_a_shared_handle_gets_the_message() {
    in_fiber_of_each(|| {
        let shared = spawn(|| -> u32 {
            yield_now();
            panic!("on purpose: for all")
        });
        let shared = shared.shared();
        let waiters = (0..10).map(|_| {
            let shared = shared.clone();
            spawn(move || panic_of(shared.join()).message().to_owned())
        });
        assert!(join_all(waiters).into_iter().all(|message| message.unwrap() == "on purpose: for all"));
        assert_eq!(panic_of(shared.join()).message(), "on purpose: for all");
    });
}

#[test]
fn only_panics_that_nobody_can_see_are_counted_as_detached() {
    guarded(|| {
        let runtime = background(2);
        let (detach, is_detached) = mpsc::channel::<()>();
        let doomed = runtime.spawn(move || {
            is_detached.recv().unwrap();
            panic!("on purpose");
        });
        drop(doomed);
        detach.send(()).unwrap();
        panic_of(runtime.spawn(|| panic!("on purpose")).join());
        let handle = runtime.handle();
        until(|| handle.stats().finished == 2);
        let stats = handle.stats();
        assert_eq!((stats.panicked, stats.detached_panics), (2, 1), "{stats}");
        shut_down(runtime);
    });
}

#[test]
fn a_panic_counts_as_detached_when_its_handle_is_dropped_unjoined_later() {
    guarded(|| {
        let runtime = background(2);
        let handle = runtime.handle().clone();
        let panicked = || {
            let panicker = runtime.spawn(|| panic!("on purpose"));
            panicker.wait().unwrap();
            panicker
        };
        let counted = || handle.stats().detached_panics;
        let (dropped, awaited, shared, seen, late) = (panicked(), panicked(), panicked(), panicked(), panicked());
        drop(dropped);
        assert_eq!(counted(), 1);
        panic_of(sisal::block_on(awaited));
        assert_eq!(counted(), 1);
        drop(shared.shared());
        assert_eq!(counted(), 2, "nobody has asked");
        let seen = seen.shared();
        panic_of(seen.join());
        drop(seen);
        assert_eq!(counted(), 2, "somebody has");
        shut_down(runtime);
        drop(late);
        assert_eq!(counted(), 3, "the runtime has ended meanwhile");
    });
}

#[test]
fn the_message_on_standard_error_names_the_fiber() {
    let ended = child::run(|| {
        let result = fixed(1).run(|| Builder::new().name("courier").spawn(|| panic!("lost the letter")).join());
        assert!(result.unwrap().is_err());
    });
    let ended = ended.well().saying("fiber 'courier' (#").saying("tests/panics/told.rs").saying("lost the letter");
    // Once, not once by sisal and once more by std.
    assert_eq!(ended.stderr.matches("lost the letter").count(), 1, "{ended:#?}");
}
