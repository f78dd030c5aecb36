//! The same work from inside of a runtime, from a thread outside, and from several at once.

use crate::common::watchdog::Watchdog;
use crate::common::{WORKERS, background, in_main_fiber, shut_down};
use crate::work::{Numbers, fibonacci, on_threads, trees};

/// Does it with 1, 2, 4 and 8 workers: in the main fiber, from a thread that gives it to a runtime, and from eight such threads.
fn from_all_sides<F: Fn() + Sync>(work: F) {
    for workers in WORKERS {
        let _watchdog = Watchdog::over(&work, &format!("{workers} workers"));
        in_main_fiber(workers, &work);
        let runtime = background(workers);
        runtime.run(&work);
        on_threads(&|| runtime.run(&work));
        shut_down(runtime);
    }
}

#[test]
fn a_fork_at_every_call_gives_what_calls_give() {
    from_all_sides(fibonacci);
}

#[test]
fn trees_have_all_their_leaves() {
    from_all_sides(trees);
}

#[test]
fn ten_million_numbers_are_added() {
    let numbers = Numbers::new();
    from_all_sides(|| numbers.add());
}

#[test]
fn ten_million_numbers_are_sorted() {
    let numbers = Numbers::new();
    from_all_sides(|| numbers.sort());
}

#[test]
fn ten_million_numbers_are_sorted_without_room_for_them() {
    let numbers = Numbers::new();
    from_all_sides(|| numbers.sort_unstable());
}

#[test]
fn outside_of_a_runtime_it_is_done_one_after_the_other() {
    let numbers = Numbers::new();
    on_threads(&|| {
        fibonacci();
        trees();
        numbers.add();
        numbers.sort();
        numbers.sort_unstable();
    });
}
