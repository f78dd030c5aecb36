//! What the two attributes do to a function, seen from a user's side.

use sisal::in_fiber;

#[sisal::test]
fn a_test_runs_in_a_fiber() {
    assert!(in_fiber());
}

#[sisal::test(workers = 1 + 1, max_workers = 4, stack_size = 64 * 1024, max_fibers = 10, name = "attr")]
fn options_reach_the_runtime() {
    assert_eq!(sisal::Handle::current().unwrap().workers(), 2);
    assert!(sisal::spawn(in_fiber).join().unwrap());
}

#[sisal::test]
#[should_panic(expected = "on purpose")]
fn should_panic_stays_in_force() {
    panic!("on purpose");
}

#[sisal::test(workers = 0)]
#[should_panic(expected = "sisal: workers(0)")]
fn settings_that_make_no_sense_fail_the_test() {}

#[sisal::test]
#[ignore = "it is there to be ignored"]
fn ignore_stays_in_force() {
    panic!("an ignored test ran");
}

#[sisal::test]
fn a_test_may_return_a_result() -> Result<(), sisal::JoinError> {
    let seven = sisal::spawn(|| 7).join()?;
    assert_eq!(seven, 7);
    Ok(())
}

#[sisal::main(workers = 1)]
fn seven() -> u32 {
    sisal::spawn(|| 7).join().unwrap()
}

#[test]
fn main_hands_on_what_its_body_returns() {
    assert_eq!(seven(), 7);
}

/// Visibility, attributes and `impl Trait` pass through untouched.
#[sisal::main(workers = 1)]
#[must_use]
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    #![allow(clippy::needless_return)]
    return "plain blocking code".split(' ');
}

#[test]
fn a_return_type_may_be_impl_trait() {
    assert_eq!(words().count(), 3);
}

/// `macro_rules!` wraps what it substitutes in invisible brackets.
macro_rules! through_a_macro {
    ($vis:vis $name:ident $workers:expr, $output:ty, $body:block) => {
        #[sisal::main(workers = $workers * 2)]
        $vis fn $name() -> $output $body
    };
}

through_a_macro!(pub(crate) workers_seen 1 + 1, usize, {
    sisal::Handle::current().unwrap().workers()
});

#[test]
fn a_function_made_by_a_macro_is_understood() {
    assert_eq!(workers_seen(), 4);
}
