//! Fibers that were spawned together start together, as far as that keeps nobody waiting for long.

mod common;

use common::{fixed, watched};
use sisal::chan::bounded;
use sisal::sync::Event;
use sisal::{spawn, yield_now};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The one that starts first wakes another and waits. On several workers the others would be taken away, so that they live elsewhere from then on.
///
/// If the system lets others run meanwhile, it may take too long for that.
#[test]
fn those_who_were_spawned_together_mostly_start_before_one_who_is_ready_by_then() {
    const ROUNDS: usize = 20;
    let runtime = watched(fixed(1).build().unwrap());
    let together = ["first", "second", "third", "one from before"];
    let starts_together = |_: &usize| runtime.run(order_of_starts) == together;
    let rounds = (0..ROUNDS).filter(starts_together).count();
    assert!(rounds > ROUNDS / 2, "{rounds} of {ROUNDS}");
}

fn order_of_starts() -> Vec<&'static str> {
    let order = Arc::new(Mutex::new(Vec::new()));
    let all_started = Arc::new(Event::new());
    let ((wake, woken), (here, is_here)) = (bounded(1), bounded(1));
    let earlier = {
        let order = Arc::clone(&order);
        spawn(move || {
            here.send(()).unwrap();
            woken.recv().unwrap();
            order.lock().unwrap().push("one from before");
        })
    };
    is_here.recv().unwrap();
    let together = ["third", "second", "first"].map(|name| {
        let (order, wake, all_started) = (Arc::clone(&order), wake.clone(), Arc::clone(&all_started));
        spawn(move || {
            order.lock().unwrap().push(name);
            if name == "first" {
                wake.send(()).unwrap();
            }
            all_started.wait().unwrap();
        })
    });
    earlier.join().unwrap();
    all_started.set();
    together.into_iter().for_each(|one| one.join().unwrap());
    Arc::into_inner(order).unwrap().into_inner().unwrap()
}

/// Spawns one that does the same, and waits.
fn grow(spawned: &Arc<AtomicUsize>, stop: &Arc<AtomicBool>, end: &Arc<Event>) {
    let (spawned, stop, end) = (Arc::clone(spawned), Arc::clone(stop), Arc::clone(end));
    spawned.fetch_add(1, Ordering::Relaxed);
    drop(spawn(move || {
        if !stop.load(Ordering::Relaxed) {
            grow(&spawned, &stop, &end);
            end.wait().unwrap();
        }
    }));
}

#[test]
fn fibers_that_each_spawn_the_next_and_wait_leave_others_their_turns() {
    const TURNS: usize = 1_000;
    let runtime = watched(fixed(1).build().unwrap());
    let spawned = runtime.run(|| {
        let (spawned, stop, end) = (Arc::default(), Arc::new(AtomicBool::new(false)), Arc::new(Event::new()));
        grow(&spawned, &stop, &end);
        (0..TURNS).for_each(|_| yield_now());
        stop.store(true, Ordering::Relaxed);
        end.set();
        spawned.load(Ordering::Relaxed)
    });
    assert!(spawned < 4 * TURNS, "{spawned} in {TURNS} turns of another");
}

/// More than a worker takes before it looks around.
const COMPUTED: Duration = Duration::from_millis(2);

fn compute() {
    let start = Instant::now();
    while start.elapsed() < COMPUTED {
        std::hint::spin_loop();
    }
}

/// How often in a row the same was counted, at most.
fn longest_row(counts: &[usize]) -> usize {
    counts.chunk_by(|one, next| one == next).map(<[usize]>::len).max().unwrap_or(0)
}

/// Those who were spawned together go first as long as that is short.
#[test]
fn fibers_that_compute_for_long_before_they_wait_leave_one_who_is_ready_its_turns() {
    const TOGETHER: usize = 31;
    const IN_A_ROW: usize = 3;
    let runtime = watched(fixed(1).build().unwrap());
    let turns_before = runtime.run(|| {
        let (turns, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let ready = {
            let (turns, is_over) = (Arc::clone(&turns), Arc::clone(&is_over));
            spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    turns.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            })
        };
        while turns.load(Ordering::Relaxed) == 0 {
            yield_now();
        }
        let end = Arc::new(Event::new());
        let turns_before = Arc::new(Mutex::new(Vec::new()));
        let together: Vec<_> = (0..TOGETHER)
            .map(|_| {
                let (turns, turns_before, end) = (Arc::clone(&turns), Arc::clone(&turns_before), Arc::clone(&end));
                spawn(move || {
                    let started = {
                        let mut turns_before = turns_before.lock().unwrap();
                        turns_before.push(turns.load(Ordering::Relaxed));
                        turns_before.len()
                    };
                    compute();
                    if started == TOGETHER {
                        end.set();
                    } else {
                        end.wait().unwrap();
                    }
                })
            })
            .collect();
        together.into_iter().for_each(|one| one.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
        ready.join().unwrap();
        Arc::into_inner(turns_before).unwrap().into_inner().unwrap()
    });
    assert_eq!(turns_before.len(), TOGETHER);
    let row = longest_row(&turns_before);
    assert!(row <= IN_A_ROW, "{row} in a row computed while another was ready: {turns_before:?}");
}
