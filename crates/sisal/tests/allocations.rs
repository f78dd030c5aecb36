//! What a spawn asks of the allocator. In a process of its own, which has an allocator that counts.
#![allow(unsafe_code, reason = "a global allocator is unsafe to write")]

mod common;

use common::watchdog::guarded;
use common::{fixed, until};
use sisal::{Handle, JoinHandle, spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, and a count for each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: all is left to the system's allocator; a cell that needs no destructor is there as long as its thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many fibers are alive at once.
const FIBERS: usize = 200;

/// Spawns fibers, which don't run before the caller gives way, and returns how often it went to the allocator for that.
fn spawn_all<F: FnOnce() -> usize + Send + 'static>(body: impl Fn(usize) -> F) -> usize {
    let mut handles: Vec<JoinHandle<usize>> = Vec::with_capacity(FIBERS);
    let before = CALLS.get();
    for number in 0..FIBERS {
        handles.push(spawn(body(number)));
    }
    let calls = CALLS.get() - before;
    for (number, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), number);
    }
    // The last ones to end have given back what they had.
    let runtime = Handle::current().unwrap();
    until(|| runtime.stats().finished == runtime.stats().spawned);
    calls
}

#[test]
fn a_spawn_is_one_allocation_and_none_where_a_fiber_has_ended() {
    guarded(|| {
        fixed(1)
            .run(|| {
                // The queues grow with fibers of another size, which leave nothing that the others could use.
                let large = |number: usize| {
                    let ballast = [number; 40];
                    move || std::hint::black_box(ballast)[0]
                };
                spawn_all(large);
                assert_eq!(spawn_all(|number| move || number), FIBERS, "one each");
                assert_eq!(spawn_all(|number| move || number), 0, "in the place of those that have ended");
            })
            .unwrap();
    });
}
