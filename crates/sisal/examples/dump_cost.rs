//! What a dump of many fibers costs: how long it takes, and for how long it keeps others from running.
//!
//! `cargo run --release --example dump_cost --features stack-traces`. Two fibers take note of the longest time between two of their turns, once
//! while they take turns without a pause, and once while they sleep for a millisecond at a time: undisturbed, beside a thread that
//! does nothing but compute (which a dump does too, and some of the delay is the kernel's, who shares the processors out), and beside dumps.

use sisal::Handle;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FIBERS: usize = 100_000;
const WORKERS: usize = 2;
const ROUNDS: usize = 7;

/// A fiber's wait, some calls deep.
#[inline(never)]
fn wait(depth: usize) {
    if depth == 0 {
        let _cancelled = sisal::sleep(Duration::from_secs(3600));
    } else {
        wait(depth - 1);
    }
    std::hint::black_box(());
}

/// The longest time between two turns of a fiber on each worker, beyond the pause it makes, while `f` runs.
fn longest_delay<R>(handle: &Handle, pause: Option<Duration>, f: impl FnOnce() -> R) -> (Duration, R) {
    let longest = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let watch = |_| {
        let (longest, over) = (longest.clone(), over.clone());
        move || {
            let mut last = Instant::now();
            while !over.load(Ordering::Relaxed) {
                match pause {
                    None => sisal::yield_now(),
                    Some(pause) => sisal::sleep(pause).unwrap(),
                }
                let now = Instant::now();
                let late = (now - last).saturating_sub(pause.unwrap_or_default());
                longest.fetch_max(u64::try_from(late.as_nanos()).unwrap(), Ordering::Relaxed);
                last = now;
            }
        }
    };
    let fibers: Vec<_> = (0..WORKERS).map(|worker| handle.spawn_on(worker, watch(worker))).collect();
    let result = f();
    over.store(true, Ordering::Relaxed);
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    (Duration::from_nanos(longest.load(Ordering::Relaxed)), result)
}

fn compute(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {}
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let runtime = sisal::Runtime::builder().workers(WORKERS).max_workers(WORKERS).build().unwrap();
    let handle = runtime.handle();
    for number in 0..FIBERS {
        drop(handle.spawn(move || wait(number % 8)));
    }
    while handle.metrics().parked.values().sum::<usize>() < FIBERS {
        std::thread::yield_now();
    }
    // Symbols are looked up once.
    let seen = handle.dump().fibers.iter().filter(|fiber| fiber.trace.is_some()).count();
    println!("{seen} fibers with their stacks");

    for (name, pause) in [("turns without a pause", None), ("turns every millisecond", Some(Duration::from_millis(1)))]
    {
        let [mut taken, mut undisturbed, mut beside_work, mut beside_dump] = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            let (delay, time) = longest_delay(handle, pause, || {
                let start = Instant::now();
                drop(handle.dump());
                start.elapsed()
            });
            taken.push(time);
            beside_dump.push(delay);
            undisturbed.push(longest_delay(handle, pause, || std::thread::sleep(time)).0);
            beside_work.push(longest_delay(handle, pause, || compute(time)).0);
        }
        let worst = |times: &[Duration]| times.iter().max().copied().unwrap_or_default();
        println!(
            "{name}: a dump takes {:.0?}; longest delay (median and worst of {ROUNDS}): {:.2?} and {:.2?} undisturbed, {:.2?} and {:.2?} \
             beside a thread that computes, {:.2?} and {:.2?} beside a dump",
            median(taken),
            median(undisturbed.clone()),
            worst(&undisturbed),
            median(beside_work.clone()),
            worst(&beside_work),
            median(beside_dump.clone()),
            worst(&beside_dump),
        );
    }
}
