//! A guided tour: what sisal does, with figures measured on this machine while you watch.
//!
//! ```text
//! cargo run --release --example tour
//! ```

mod outside;
mod print;
mod waiting;

use print::{grouped, line, milliseconds, nanoseconds, resident, seconds, section};
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::hint::black_box;
use std::panic;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let start = Instant::now();
    println!("sisal, a guided tour: plain blocking code on a few threads");
    // The calling thread becomes a worker; the closure is the main fiber.
    sisal::run(|| -> Outcome {
        a_million_fibers()?;
        parents_and_children()?;
        many_asleep()?;
        taking_turns()?;
        a_panic_with_a_name()?;
        the_first_of_several()?;
        what_is_not_send()?;
        values_of_ones_own()?;
        deep_recursion()?;
        waiting::hand_to_hand()?;
        waiting::a_pipeline()?;
        waiting::whatever_comes_first()?;
        waiting::children_that_borrow()?;
        waiting::in_time()?;
        waiting::together_or_not_at_all()?;
        outside::many_connections()?;
        outside::calls_that_block()?;
        outside::forks()
    })?;
    in_the_background()?;
    what_is_left_over()?;
    println!("\nThat was sisal, in {:.1} s.", start.elapsed().as_secs_f64());
    Ok(())
}

/// A fiber that never waits costs a queue entry and a function call, and no stack.
fn a_million_fibers() -> Outcome {
    const FIBERS: u64 = 1_000_000;
    section(1, "A million fibers, spawned and joined");
    let start = Instant::now();
    let handles: Vec<_> = (0..FIBERS).map(|i| sisal::spawn(move || i)).collect();
    let mut sum = 0;
    for handle in handles {
        sum += handle.join()?;
    }
    let took = start.elapsed();
    line("the sum of what they returned", grouped(sum));
    line("from the first spawn to the last join", seconds(took));
    line("for each fiber", nanoseconds(took, FIBERS));
    line("workers", current()?.workers());
    Ok(())
}

/// Fibers spawn fibers; whoever joins waits without holding up its worker.
fn parents_and_children() -> Outcome {
    const PARENTS: u64 = 1_000;
    const CHILDREN: u64 = 100;
    section(2, "1,000 parents with 100 children each");
    let start = Instant::now();
    let parent = |p| {
        move || -> Result<u64, sisal::JoinError> {
            let children: Vec<_> = (0..CHILDREN).map(|c| sisal::spawn(move || p + c)).collect();
            children.into_iter().map(sisal::JoinHandle::join).sum()
        }
    };
    let parents: Vec<_> = (0..PARENTS).map(|p| sisal::spawn(parent(p))).collect();
    let mut sum = 0;
    for family in sisal::join_all(parents) {
        sum += family??;
    }
    let took = start.elapsed();
    line("the sum over all families", grouped(sum));
    line("for each of 101,000 fibers", nanoseconds(took, PARENTS * (CHILDREN + 1)));
    Ok(())
}

/// A fiber that waits keeps the stack it waits on: a page of memory, and an address range.
fn many_asleep() -> Outcome {
    const FIBERS: usize = 100_000;
    static ASLEEP: AtomicUsize = AtomicUsize::new(0);
    section(3, "100,000 fibers asleep at once");
    let before = resident()?;
    let start = Instant::now();
    let alarm = start + Duration::from_millis(1_500);
    let sleepers: Vec<_> = (0..FIBERS)
        .map(|_| {
            sisal::spawn(move || -> Result<Duration, sisal::Cancelled> {
                ASLEEP.fetch_add(1, Ordering::Relaxed);
                sisal::sleep_until(alarm)?;
                Ok(alarm.elapsed())
            })
        })
        .collect();
    while ASLEEP.load(Ordering::Relaxed) < FIBERS {
        sisal::yield_now();
    }
    let took = start.elapsed();
    let memory = resident()?.saturating_sub(before) / FIBERS as u64;
    line("until the last one slept", seconds(took));
    line("memory for each sleeper", format!("{} bytes", grouped(memory)));

    let mut lateness = Vec::with_capacity(FIBERS);
    for sleeper in sisal::join_all(sleepers) {
        lateness.push(sleeper??);
    }
    lateness.sort();
    line("half of them were awake within", milliseconds(lateness[FIBERS / 2]));
    line("and the last within", milliseconds(lateness[FIBERS - 1]));
    Ok(())
}

/// A switch from one fiber to another saves a handful of registers and asks no kernel.
fn taking_turns() -> Outcome {
    const FIBERS: u64 = 100;
    const TURNS: u64 = 50_000;
    section(4, "100 fibers taking turns");
    let start = Instant::now();
    let turn = || (0..TURNS).for_each(|_| sisal::yield_now());
    let fibers: Vec<_> = (0..FIBERS).map(|_| sisal::spawn(turn)).collect();
    for fiber in fibers {
        fiber.join()?;
    }
    let took = start.elapsed();
    let rate = (FIBERS * TURNS) as f64 / took.as_secs_f64();
    line("yields per second, all workers", grouped(rate as u64));
    line("for each yield", nanoseconds(took, FIBERS * TURNS));
    Ok(())
}

/// A panic ends its fiber, not its worker, and the joiner learns whose it was.
fn a_panic_with_a_name() -> Outcome {
    section(5, "A panic, caught and named");
    let shepherd = sisal::Builder::new().name("shepherd");
    // The hook would print the message to standard error; here the joiner prints it.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = shepherd.spawn(|| panic!("the flock is gone")).join();
    panic::set_hook(hook);
    match result {
        Ok(()) => println!("    it came back, which can't be"),
        Err(error) => println!("    {error}"),
    }
    Ok(())
}

/// `race` waits for the first success, `join_any` for the first end.
fn the_first_of_several() -> Outcome {
    section(6, "The first of several");
    let ask = |server: &'static str, milliseconds, found| {
        sisal::spawn(move || {
            let _ = sisal::sleep(Duration::from_millis(milliseconds));
            if found { Ok(server) } else { Err(server) }
        })
    };
    let start = Instant::now();
    let servers = vec![ask("north", 5, false), ask("east", 40, true), ask("south", 20, true)];
    match sisal::race(servers) {
        Ok(server) => line("first to succeed", server),
        Err(_) => line("first to succeed", "nobody"),
    }
    line("it took", milliseconds(start.elapsed()));

    let mut servers = vec![ask("north", 15, true), ask("east", 5, false)];
    let (index, _) = sisal::join_any(&mut servers).ok_or("nobody to wait for")?;
    line("first to end", format!("number {index}, with {} still at work", servers.len()));
    Ok(())
}

/// A started fiber never changes its thread, so what isn't `Send` may live in one, and
/// `spawn_local` takes closures that hold such things.
fn what_is_not_send() -> Outcome {
    section(7, "Rc and RefCell between fibers of one thread");
    let log = Rc::new(RefCell::new(Vec::new()));
    let writers: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|name| {
            let log = Rc::clone(&log);
            sisal::spawn_local(move || {
                for round in 1..=2 {
                    log.borrow_mut().push(format!("{name}{round}"));
                    sisal::yield_now();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join()?;
    }
    line("three writers, one Rc<RefCell<Vec>>", log.borrow().join(" "));
    Ok(())
}

sisal::fiber_local! {
    static DEPTH: Cell<u32> = Cell::new(0);
}

/// `fiber_local!` is `thread_local!` for fibers.
fn values_of_ones_own() -> Outcome {
    section(8, "A variable each fiber has for itself");
    let count = |times| {
        sisal::spawn(move || {
            for _ in 0..times {
                DEPTH.with(|depth| depth.set(depth.get() + 1));
                sisal::yield_now();
            }
            DEPTH.with(Cell::get)
        })
    };
    let (three, five) = (count(3), count(5));
    let (three, five) = (three.join()?, five.join()?);
    line("two that counted, and this one", format!("{three}, {five}, {}", DEPTH.with(Cell::get)));
    Ok(())
}

/// Stacks are small because most fibers are; what needs more asks for it.
fn deep_recursion() -> Outcome {
    const LEVELS: u32 = 200_000;
    section(9, "Recursion far deeper than a fiber's stack");
    /// A frame that can't be optimised away.
    fn down(depth: u32) -> u32 {
        let frame = black_box([depth; 16]);
        if depth == 0 { 0 } else { 1 + down(depth - 1).min(frame[0]) }
    }
    let start = Instant::now();
    let reached = sisal::stack::grow(256 << 20, || down(LEVELS));
    line("calls deep, on a stack of 256 MiB", grouped(reached.into()));
    line("it took", milliseconds(start.elapsed()));
    Ok(())
}

/// A runtime in the background leaves the calling thread free, for a GUI's main loop.
fn in_the_background() -> Outcome {
    static FRAMES: AtomicU64 = AtomicU64::new(0);
    section(19, "A runtime in the background");
    let runtime = sisal::Runtime::builder().workers(2).name("tour").build()?;
    let job = runtime.spawn(|| -> Result<&str, sisal::Cancelled> {
        sisal::sleep(Duration::from_millis(100))?;
        Ok("done")
    });
    while !job.is_finished() {
        FRAMES.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(10));
    }
    let frames = FRAMES.load(Ordering::Relaxed);
    line("the job", job.join()??);
    line("frames this thread drew meanwhile", frames);
    let other = runtime.handle().clone();
    let sum = thread::spawn(move || other.spawn(|| (1..=100u32).sum::<u32>()).join());
    line("spawned from another thread", sum.join().expect("it doesn't panic")?);
    let report = runtime.shutdown(Duration::from_secs(1));
    println!("    shutdown says:\n    {report}");
    Ok(())
}

/// When the main fiber returns, what hasn't started doesn't start, what sleeps is woken, and the
/// rest is waited for. What will not end is named.
fn what_is_left_over() -> Outcome {
    static STARTED: AtomicBool = AtomicBool::new(false);
    static STOP: AtomicBool = AtomicBool::new(false);
    section(20, "What is left over at the end");
    let (fresh, asleep) = sisal::Runtime::builder().workers(1).run(|| {
        let asleep = sisal::spawn(|| sisal::sleep(Duration::from_secs(3_600)));
        sisal::yield_now();
        (sisal::spawn(|| ()), asleep)
    })?;
    match asleep.join()? {
        Ok(()) => line("a sleep of an hour", "ran its course"),
        Err(cancelled) => line("a sleep of an hour", cancelled),
    }
    match fresh.join() {
        Ok(()) => line("one that hadn't started", "ran"),
        Err(error) => line("one that hadn't started", error),
    }

    let runtime = sisal::Runtime::builder().workers(1).build()?;
    let stubborn = runtime.handle().builder().name("stubborn");
    drop(stubborn.spawn(|| {
        STARTED.store(true, Ordering::Relaxed);
        while !STOP.load(Ordering::Relaxed) {
            sisal::yield_now();
        }
    }));
    while !STARTED.load(Ordering::Relaxed) {
        sisal::yield_now();
    }
    let report = runtime.shutdown(Duration::from_millis(100));
    println!("    one that will not end, as the report of a shutdown names it:\n    {report}");
    STOP.store(true, Ordering::Relaxed);
    Ok(())
}

fn current() -> Result<sisal::Handle, &'static str> {
    sisal::Handle::current().ok_or("there is no runtime here")
}
