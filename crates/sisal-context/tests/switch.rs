//! The switch: values pass, registers and frames are kept, panics and backtraces stay on their stack.
#![allow(unsafe_code, reason = "stacks are switched here")]

use sisal_context::stack::{Depot, SizeClass, Stack};
use sisal_context::switch::{self, Registers, Suspended};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static MAIN: Cell<Suspended> = const { Cell::new(Suspended::NONE) };
    static OTHER: Cell<Suspended> = const { Cell::new(Suspended::NONE) };
}

/// A stack for one test.
struct Borrowed(Depot, Stack);

impl Borrowed {
    fn new(class: SizeClass) -> Borrowed {
        let depot = Depot::new(None);
        let mut one = Vec::new();
        assert_eq!(depot.take(class, 1, &mut one), 1);
        Borrowed(depot, one[0])
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: every test leaves its stack for good before it ends.
        unsafe { self.0.give(&[self.1]) };
    }
}

fn to_other(word: usize) -> usize {
    // SAFETY: `OTHER` was prepared or left on this thread, and is resumed once each time.
    unsafe { switch::switch(MAIN.with(Cell::as_ptr), OTHER.get(), word) }
}

fn to_main(word: usize) -> usize {
    // SAFETY: `MAIN` was left by `to_other` on this thread.
    unsafe { switch::switch(OTHER.with(Cell::as_ptr), MAIN.get(), word) }
}

fn prepare(stack: Stack, entry: switch::Entry) {
    // SAFETY: the stack is free.
    OTHER.set(unsafe { switch::prepare(stack.top(), entry) });
}

extern "C" fn add_one(mut word: usize) -> ! {
    loop {
        word = to_main(word + 1);
    }
}

#[test]
fn words_pass_both_ways_as_often_as_one_likes() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    prepare(stack.1, add_one);
    let mut word = 0;
    for _ in 0..100_000 {
        word = to_other(word);
    }
    assert_eq!(word, 100_000);
}

/// Fills as many registers as there are, on both sides, around every switch.
#[inline(never)]
fn mix(seed: u64, mut hop: impl FnMut()) -> (u64, f64) {
    let mut numbers: [u64; 12] = std::array::from_fn(|i| black_box(seed + i as u64));
    let mut floats: [f64; 8] = std::array::from_fn(|i| black_box(seed as f64 + i as f64 / 8.0));
    for _ in 0..100 {
        hop();
        for i in 0..numbers.len() {
            numbers[i] = numbers[i].wrapping_mul(31).wrapping_add(numbers[(i + 5) % 12]);
        }
        for i in 0..floats.len() {
            floats[i] = floats[i] * 0.5 + floats[(i + 3) % 8] * 0.25;
        }
    }
    (numbers.into_iter().fold(0, u64::wrapping_add), floats.into_iter().sum())
}

extern "C" fn mix_others(_: usize) -> ! {
    loop {
        black_box(mix(99, || {
            to_main(0);
        }));
    }
}

#[test]
fn registers_of_one_side_are_not_seen_by_the_other() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    prepare(stack.1, mix_others);
    let alone = mix(7, || ());
    let switching = mix(7, || {
        to_other(0);
    });
    assert_eq!(alone, switching);
}

extern "C" fn panic_and_tell(_: usize) -> ! {
    let caught = std::panic::catch_unwind(|| {
        let _guard = std::sync::Mutex::new(1);
        std::panic::resume_unwind(Box::new(7usize));
    });
    let payload = caught.unwrap_err().downcast::<usize>().unwrap();
    loop {
        to_main(*payload);
    }
}

#[test]
fn a_panic_can_be_caught_on_another_stack() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    prepare(stack.1, panic_and_tell);
    assert_eq!(to_other(0), 7);
    assert!(!std::thread::panicking());
}

extern "C" fn backtrace(_: usize) -> ! {
    let text = Box::new(Backtrace::force_capture().to_string());
    loop {
        to_main(Box::into_raw(text.clone()).expose_provenance());
    }
}

#[test]
fn a_backtrace_ends_at_the_root_of_its_stack() {
    let stack = Borrowed::new(SizeClass::for_usable(1 << 20).unwrap());
    prepare(stack.1, backtrace);
    let text = std::ptr::with_exposed_provenance_mut::<String>(to_other(0));
    // SAFETY: made by `Box::into_raw` on the other side.
    let text = unsafe { Box::from_raw(text) };
    assert!(text.contains("backtrace"), "{text}");
    assert!(!text.contains("a_backtrace_ends_at_the_root_of_its_stack"), "it went on to the other stack: {text}");
}

extern "C" fn sum_to(number: *mut u8) {
    fn sum(n: u64) -> u64 {
        let frame = black_box([n; 16]);
        if n == 0 { 0 } else { frame[3] + sum(n - 1) }
    }
    // SAFETY: the test passes a number that outlives the call.
    let number = unsafe { &mut *number.cast::<u64>() };
    *number = sum(*number);
}

#[test]
fn a_call_on_another_stack_comes_back_with_its_result() {
    let stack = Borrowed::new(SizeClass::for_usable(64 << 20).unwrap());
    let mut number = 50_000u64;
    // SAFETY: the stack is free, and large enough for 50,000 frames of a few hundred bytes.
    unsafe { switch::call_on(stack.1.top(), sum_to, (&raw mut number).cast()) };
    assert_eq!(number, 50_000 * 50_001 / 2);
}

#[test]
fn the_registers_of_a_context_are_those_after_its_pops() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    extern "C" fn leave(top: usize) -> ! {
        let here = Registers::here();
        to_main(here.sp);
        unreachable!("left for good: {top}")
    }
    prepare(stack.1, leave);
    let sp = to_other(0);
    // SAFETY: left by `leave`, and never resumed.
    let registers = unsafe { OTHER.get().registers() };
    assert!(registers.sp <= sp, "of a function that `leave` calls, or its own");
    assert!(registers.sp > OTHER.get().address() as usize);
    assert!(stack.1.usable().contains(&registers.sp));
    assert_ne!(registers.pc, 0);
}

#[test]
fn what_is_called_on_a_stack_returns_to_the_known_address() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    extern "C" fn look(found: *mut u8) {
        let here = Registers::here();
        let above = (here.sp..here.sp + 4096).step_by(8);
        // SAFETY: the frame of this function is on the stack, which ends at a page.
        let word = |at: usize| unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        let top = (here.sp + 1).next_multiple_of(4096);
        let on_stack = above.take_while(|&at| at < top).any(|at| word(at) == switch::call_on_return());
        // A function that calls none keeps it in its register, where there is one for it.
        let is_there = on_stack || here.lr == switch::call_on_return();
        // SAFETY: what was passed.
        unsafe { found.cast::<bool>().write(is_there) };
    }
    let mut found = false;
    // SAFETY: the stack is free, and `look` takes a pointer to a bool.
    unsafe { switch::call_on(stack.1.top(), look, (&raw mut found).cast()) };
    assert!(found);
}

/// What a call that returns by a jump was made with, and a switch on the way.
unsafe extern "C-unwind" fn sum_over_there(a: *const (), b: *mut (), c: *const ()) -> usize {
    assert_ne!(a.addr(), 0, "the first word");
    to_other(a.addr() + b.addr() + c.addr())
}

/// Its last call is the one.
#[inline(never)]
fn sum_by_jump(a: usize, b: usize, c: usize) -> usize {
    let [a, c] = [a, c].map(std::ptr::without_provenance);
    // SAFETY: any words will do.
    unsafe { switch::return_by_jump(a, std::ptr::without_provenance_mut(b), c, sum_over_there) }
}

extern "C" fn double(mut word: usize) -> ! {
    loop {
        word = to_main(2 * word);
    }
}

#[test]
fn a_call_that_returns_by_a_jump_passes_its_words_and_its_result() {
    let stack = Borrowed::new(SizeClass::DEFAULT);
    prepare(stack.1, double);
    for number in 1..1_000 {
        assert_eq!(sum_by_jump(number, 20, 300), 2 * (number + 320));
        assert_eq!(sum_by_jump(1, number, 2), 2 * (number + 3));
    }
}

#[test]
fn a_panic_and_a_backtrace_pass_through_a_call_that_returns_by_a_jump() {
    unsafe extern "C-unwind" fn look(_: *const (), _: *mut (), _: *const ()) -> usize {
        let trace = Backtrace::force_capture().to_string();
        assert!(trace.contains("a_panic_and_a_backtrace_pass_through"), "{trace}");
        std::panic::panic_any("through");
    }
    let null = std::ptr::null();
    // SAFETY: any words will do.
    let caught = std::panic::catch_unwind(|| unsafe { switch::return_by_jump(null, null.cast_mut(), null, look) });
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"through"));
}
