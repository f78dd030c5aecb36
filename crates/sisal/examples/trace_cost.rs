//! What a running trace costs: switches, messages and spawns with and without one, by turns, and the median of each.
//!
//! `cargo run --release --example trace_cost`. For whoever changes the numbers in `sched/record.rs`: one worker, and fibers without names.

use sisal::inspect::FlightRecorder;
use sisal::{Handle, chan};
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const OPERATIONS: u32 = 1_000_000;

fn yields() {
    let fibers: Vec<_> =
        (0..10).map(|_| sisal::spawn(|| (0..OPERATIONS / 10).for_each(|_| sisal::yield_now()))).collect();
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
}

fn messages() {
    let (to_other, from_us) = chan::bounded::<u32>(1);
    let (to_us, from_other) = chan::bounded::<u32>(1);
    let other = sisal::spawn_local(move || from_us.iter().for_each(|message| to_us.send(message).unwrap()));
    for message in 0..OPERATIONS / 2 {
        to_other.send(message).unwrap();
        assert_eq!(from_other.recv(), Ok(message));
    }
    drop(to_other);
    other.join().unwrap();
}

fn spawns() {
    for _ in 0..OPERATIONS / 100 {
        let fibers: Vec<_> = (0..100).map(|_| sisal::spawn(|| ())).collect();
        fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
    }
}

/// Turns with something to do, about half a microsecond each.
fn work() {
    fn compute() -> u64 {
        (0..200u64).fold(1, |sum, n| std::hint::black_box(sum.wrapping_mul(6_364_136_223_846_793_005) + n))
    }
    fn turns() {
        for _ in 0..OPERATIONS / 4 {
            std::hint::black_box(compute());
            sisal::yield_now();
        }
    }
    let fibers: Vec<_> = (0..4).map(|_| sisal::spawn(turns)).collect();
    fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
}

fn time(f: fn()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e9 / f64::from(OPERATIONS)
}

fn main() {
    let cases: [(&str, fn()); 4] = [("yields", yields), ("messages", messages), ("spawns", spawns), ("work", work)];
    sisal::Runtime::builder()
        .workers(1)
        .run(|| {
            let handle = Handle::current().unwrap();
            for (name, case) in cases {
                let [mut off, mut on, mut whole] = [const { Vec::new() }; 3];
                for _ in 0..ROUNDS {
                    off.push(time(case));
                    let recorder = FlightRecorder::start(&handle);
                    on.push(time(case));
                    drop(recorder);
                    off.push(time(case));
                    let recorder = FlightRecorder::start_unabridged(&handle);
                    whole.push(time(case));
                    drop(recorder);
                }
                let (off, on, whole) = (median(off), median(on), median(whole));
                let more = |with: f64| (with / off - 1.0) * 100.0;
                println!(
                    "{name}: {off:.1} ns, {on:.1} with a trace ({:+.1} %), {whole:.1} with all events ({:+.1} %)",
                    more(on),
                    more(whole)
                );
            }
        })
        .unwrap();
}
