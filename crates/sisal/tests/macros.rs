//! `#[sisal::main]` and `#[sisal::test]` as users write them.

mod common;

use common::child;
use sisal::{JoinError, spawn};
use std::process::ExitCode;

#[sisal::test]
fn a_test_is_the_main_fiber_of_a_runtime() {
    assert_eq!(sisal::fiber::current().unwrap().name(), Some("main"));
    assert_eq!(spawn(|| 6 * 7).join().unwrap(), 42);
}

#[sisal::test(workers = 3, max_workers = 5, stack_size = 512 * 1024, max_fibers = 4, name = "attribute")]
fn a_test_has_the_options_it_is_given() {
    let handle = sisal::Handle::current().unwrap();
    assert_eq!(handle.base_workers(), 3);
    let on_one = sisal::spawn_on(1, || std::thread::current().name().map(str::to_owned));
    assert_eq!(on_one.join().unwrap().as_deref(), Some("attribute-1"));
}

#[sisal::test]
fn a_test_may_return_a_result() -> Result<(), JoinError> {
    spawn(|| ()).join()?;
    Ok(())
}

#[sisal::test]
#[should_panic(expected = "on purpose")]
fn a_panic_fails_a_test() {
    panic!("on purpose");
}

#[sisal::main]
fn plain_main() {
    println!("in fiber {}", sisal::fiber::current().unwrap());
}

#[test]
fn main_runs_in_a_fiber_and_says_where_it_is_from() {
    let ended = child::run(|| {
        plain_main();
    });
    let ended = ended.well();
    assert!(ended.stdout.contains("in fiber fiber 'main' (#0), spawned at"), "{ended:#?}");
    assert!(ended.stdout.contains("tests/macros.rs"), "{ended:#?}");
}

#[sisal::main(workers = 2)]
fn main_with_a_result() -> Result<(), JoinError> {
    spawn(|| panic!("on purpose")).join()
}

#[test]
fn main_hands_on_its_result() {
    common::watchdog::guarded(|| assert!(matches!(main_with_a_result(), Err(JoinError::Panicked(_)))));
}

#[sisal::main(workers = 1)]
fn main_with_a_code() -> ExitCode {
    ExitCode::from(spawn(|| 42).join().unwrap())
}

#[test]
fn main_hands_on_its_exit_code() {
    assert_eq!(main_with_a_code(), ExitCode::from(42));
}

#[test]
fn main_with_settings_that_make_no_sense_exits_with_two_and_says_why() {
    let ended = child::run_in(&[("SISAL_WORKERS", "abc")], || {
        plain_main();
        println!("this was not to be reached");
    });
    let ended = ended.with_code(2).saying("sisal: SISAL_WORKERS=abc: expected a whole number from 1 to 1024");
    assert!(!ended.stdout.contains("in fiber") && !ended.stdout.contains("not to be reached"), "{ended:#?}");
}

#[test]
fn options_of_main_win_over_the_environment() {
    let ended = child::run_in(&[("SISAL_WORKERS", "abc")], || assert!(main_with_a_result().is_err()));
    ended.well();
}

#[sisal::main]
fn failing_main() {
    panic!("on purpose: main");
}

#[test]
fn a_panic_of_main_goes_on() {
    common::watchdog::guarded(|| {
        let payload = std::panic::catch_unwind(failing_main).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose: main"));
    });
}
