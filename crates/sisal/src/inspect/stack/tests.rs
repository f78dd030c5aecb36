//! Stacks of fibers that wait and of fibers that run, as their traces show them.
#![allow(unsafe_code, reason = "fibers that are known to wait are looked at")]

use super::*;
use crate::fiber::current;
use crate::fiber::header::FiberRef;
use crate::inspect::frame::Frame;
use crate::inspect::traces::stack_in_turn;
use crate::prim::reason::Reason;
use crate::sched::shared::Shared;
use crate::sched::worker;
use crate::sync::Mutex;
use crate::{Handle, Runtime, chan, stack};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

const PATIENCE: Duration = Duration::from_millis(200);

/// Ends the process if a test hangs.
struct Watchdog {
    _alive: mpsc::Sender<()>,
}

impl Watchdog {
    fn new() -> Watchdog {
        let (alive, barks) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if barks.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("a test of stack traces hangs");
                std::process::abort();
            }
        });
        Watchdog { _alive: alive }
    }
}

/// A runtime of one worker: whenever another fiber runs there, one that has started and not ended waits.
fn one_worker() -> Runtime {
    Runtime::builder().workers(1).max_workers(1).build().unwrap()
}

fn this_fiber() -> FiberRef {
    current::fiber().unwrap()
}

fn this_runtime() -> Arc<Shared> {
    worker::with_current(|worker| Arc::clone(worker.unwrap().shared()))
}

/// Spawns `f` there, and returns when it waits, with what is left to be done with it.
fn spawn_and_wait<T: Send + 'static>(
    runtime: &Runtime,
    f: impl FnOnce() -> T + Send + 'static,
) -> (FiberRef, crate::JoinHandle<T>) {
    let (found, fiber) = mpsc::channel();
    let handle = runtime.handle().spawn(move || {
        found.send(this_fiber()).unwrap();
        f()
    });
    let fiber = fiber.recv().unwrap();
    let waits = move || fiber.wait.read().is_some_and(|noted| noted.reason != Reason::Yield);
    runtime
        .handle()
        .spawn(move || {
            while !waits() {
                crate::yield_now()
            }
        })
        .join()
        .unwrap();
    (fiber, handle)
}

fn addresses_of(tracer: &mut Tracer, fiber: FiberRef) -> Addresses {
    // SAFETY: it waits for something that the test holds.
    unsafe { tracer.suspended(fiber.context.get(), fiber.stack.get()) }
}

/// The names of the functions, without paths and types. Without closures, and what calls them: they may be left by a jump to what they call last.
fn names(frames: &[Frame]) -> Vec<String> {
    let name = |frame: &Frame| {
        let mut depth = 0;
        let outside = |c: &char| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            depth == 0 && *c != '>'
        };
        let plain: String = frame.function.chars().filter(outside).collect();
        plain.rsplit("::").next().unwrap_or_default().to_owned()
    };
    frames.iter().map(name).filter(|name| !name.contains("closure") && name != "call_once").collect()
}

fn frames(fiber: FiberRef) -> Vec<Frame> {
    Symbols::new().resolve(&addresses_of(&mut Tracer::new(), fiber))
}

fn trace(fiber: FiberRef) -> Vec<String> {
    names(&frames(fiber))
}

/// The line of the call in the next function.
const CALL_IN_A: u32 = line!() + 4;

#[inline(never)]
fn a(wait: &dyn Fn() -> usize) -> usize {
    black_box(b(wait) + 1)
}

#[inline(never)]
fn b(wait: &dyn Fn() -> usize) -> usize {
    black_box(c(wait) + 1)
}

#[inline(never)]
fn c(wait: &dyn Fn() -> usize) -> usize {
    black_box(wait() + 1)
}

#[inline(never)]
fn deep(depth: usize, wait: &dyn Fn() -> usize) -> usize {
    let inner = if depth == 0 { wait() } else { deep(depth - 1, wait) };
    black_box(inner + 1)
}

#[test]
fn a_parked_fiber_shows_the_call_it_waits_in_and_who_made_it() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();

    let (sender, receiver) = chan::bounded(1);
    let (fiber, handle) = spawn_and_wait(&runtime, move || a(&|| receiver.recv().unwrap()));
    assert_eq!(trace(fiber), ["recv", "c", "b", "a"]);
    sender.send(1).unwrap();
    assert_eq!(handle.join().unwrap(), 4);

    let mutex = Arc::new(Mutex::new(7));
    let held = mutex.lock();
    let wanted = Arc::clone(&mutex);
    let (fiber, handle) = spawn_and_wait(&runtime, move || b(&|| *wanted.lock()));
    assert_eq!(trace(fiber), ["lock", "c", "b"]);
    drop(held);
    assert_eq!(handle.join().unwrap(), 9);

    let nap = Duration::from_secs(3600);
    let (fiber, handle) = spawn_and_wait(&runtime, move || c(&|| usize::from(crate::sleep(nap).is_err())));
    assert_eq!(trace(fiber), ["sleep", "c"]);
    handle.cancel();
    assert_eq!(handle.join().unwrap(), 2);
}

#[test]
fn files_and_lines_are_those_of_the_calls() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let (sender, receiver) = chan::bounded(1);
    let (fiber, handle) = spawn_and_wait(&runtime, move || a(&|| receiver.recv().unwrap()));
    let frames = frames(fiber);
    let is_own = |frame: &&Frame| frame.function.ends_with("::a") || frame.function == "a";
    let own = frames.iter().find(is_own).unwrap_or_else(|| panic!("{frames:?}"));
    assert!(own.file.as_ref().unwrap().ends_with("inspect/stack/tests.rs"), "{own}");
    assert_eq!(own.line, Some(CALL_IN_A), "{own}");
    assert!(frames[0].file.as_ref().unwrap().ends_with("chan/receiver.rs"), "{}", frames[0]);
    sender.send(1).unwrap();
    handle.join().unwrap();
}

#[test]
fn frames_go_on_outside_of_bigger_stacks() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    // Stacks of different sizes lie above and below each other.
    for sizes in [[1 << 20, 64 << 10], [64 << 10, 1 << 20], [8 << 20, 8 << 20]] {
        let (sender, receiver) = chan::bounded(1);
        let wait = move || c(&|| stack::grow(sizes[1], || receiver.recv().unwrap()));
        let (fiber, handle) = spawn_and_wait(&runtime, move || a(&|| stack::grow(sizes[0], &wait)));
        assert_eq!(trace(fiber), ["recv", "grow", "c", "grow", "c", "b", "a"]);
        sender.send(1).unwrap();
        handle.join().unwrap();
    }
}

#[test]
fn the_main_fiber_shows_its_stack_up_to_run() {
    let _watchdog = Watchdog::new();
    let names = Runtime::builder()
        .workers(1)
        .max_workers(1)
        .run(|| {
            let main = this_fiber();
            let (result, found) = mpsc::channel();
            let child = crate::spawn(move || result.send(trace(main)).unwrap());
            let child = std::cell::Cell::new(Some(child));
            a(&|| usize::from(child.take().unwrap().join().is_ok()));
            found.recv().unwrap()
        })
        .unwrap();
    assert_eq!(names, ["join", "c", "b", "a"]);
}

#[test]
fn a_deep_stack_is_cut_at_the_outer_end() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let (sender, receiver) = chan::bounded(1);
    let (fiber, handle) = spawn_and_wait(&runtime, move || deep(500, &|| receiver.recv().unwrap()));
    let addresses = addresses_of(&mut Tracer::new(), fiber);
    assert_eq!(addresses.len(), addresses::MOST_FRAMES);
    assert!(addresses.is_cut());
    let names = trace(fiber);
    assert_eq!(names[0], "recv");
    assert!(names.len() > 40 && names[1..].iter().all(|name| name == "deep"), "{names:?}");
    sender.send(1).unwrap();
    handle.join().unwrap();
}

#[test]
fn equal_stacks_of_many_fibers_are_equal() {
    const FIBERS: usize = 900;
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let (sender, receiver) = chan::unbounded::<usize>();
    let spawn = |number: usize| {
        let receiver = receiver.clone();
        spawn_and_wait(&runtime, move || deep(number % 3, &|| receiver.recv().unwrap()))
    };
    let fibers: Vec<_> = (0..FIBERS).map(spawn).collect();
    let mut tracer = Tracer::new();
    let mut counts: HashMap<Addresses, usize> = HashMap::new();
    for (fiber, _) in &fibers {
        *counts.entry(addresses_of(&mut tracer, *fiber)).or_default() += 1;
    }
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [FIBERS / 3; 3]);
    let mut symbols = Symbols::new();
    let mut depths: Vec<usize> = counts
        .keys()
        .map(|stack| names(&symbols.resolve(stack)).iter().filter(|name| *name == "deep").count())
        .collect();
    depths.sort_unstable();
    assert_eq!(depths, [1, 2, 3]);
    (0..FIBERS).for_each(|_| sender.send(1).unwrap());
    fibers.into_iter().for_each(|(_, handle)| _ = handle.join().unwrap());
}

/// A fiber that is busy until it is told not to be.
struct Busy {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    id: FiberId,
    handle: crate::JoinHandle<usize>,
}

impl Busy {
    fn spawn(runtime: &Handle) -> Busy {
        let stop = Arc::new(AtomicBool::new(false));
        let (found, fiber) = mpsc::channel();
        let spinning = Arc::new(AtomicBool::new(false));
        let (is_over, is_spinning) = (Arc::clone(&stop), Arc::clone(&spinning));
        let handle = runtime.spawn(move || {
            found.send((this_runtime(), this_fiber().id)).unwrap();
            a(&|| spin(&is_spinning, &is_over))
        });
        let (shared, id) = fiber.recv().unwrap();
        while !spinning.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Busy { stop, shared, id, handle }
    }

    /// Looks at worker 0 until that succeeds.
    fn sample(&self, tracer: &mut Tracer) -> Sample {
        std::iter::repeat_with(|| tracer.running(&self.shared.remotes[0], PATIENCE)).flatten().next().unwrap()
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        assert_eq!(self.handle.join().unwrap(), 3);
    }
}

#[inline(never)]
fn spin(spinning: &AtomicBool, stop: &AtomicBool) -> usize {
    spinning.store(true, Ordering::Relaxed);
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
    black_box(0)
}

/// Without what `spin` calls.
fn from_spin(sample: &Sample, symbols: &mut Symbols) -> Vec<String> {
    let mut names = names(&symbols.resolve(&sample.addresses));
    let start = names.iter().position(|name| name == "spin").unwrap_or(0);
    names.split_off(start)
}

#[test]
fn a_running_fiber_shows_where_it_is_and_goes_on() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let busy = Busy::spawn(runtime.handle());
    let mut tracer = Tracer::new();
    let mut symbols = Symbols::new();
    for _ in 0..20 {
        let sample = busy.sample(&mut tracer);
        assert_eq!(sample.fiber, Some(busy.id));
        assert_eq!(from_spin(&sample, &mut symbols), ["spin", "c", "b", "a"]);
    }
    busy.end();
}

#[test]
fn a_stack_is_told_of_the_fiber_and_the_turn_that_were_asked_for_alone() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let busy = Busy::spawn(runtime.handle());
    let worker = &busy.shared.remotes[0];
    let turn = worker.shown.heartbeat.load(Ordering::Relaxed);
    let told = std::iter::repeat_with(|| stack_in_turn(worker, busy.id, turn)).flatten().next().unwrap()();
    assert!(told.contains("spin"), "{told}");
    for _ in 0..20 {
        assert!(stack_in_turn(worker, busy.id, turn - 1).is_none(), "of an earlier turn");
        assert!(stack_in_turn(worker, FiberId(busy.id.0 + 1), turn).is_none(), "of another fiber");
    }
    busy.end();
}

#[test]
fn two_who_ask_at_once_are_both_answered() {
    let _watchdog = Watchdog::new();
    let runtimes = [one_worker(), one_worker()];
    let busy = runtimes.each_ref().map(|runtime| Busy::spawn(runtime.handle()));
    std::thread::scope(|scope| {
        for asker in 0..3 {
            let busy = &busy;
            scope.spawn(move || {
                let (mut tracer, mut symbols) = (Tracer::new(), Symbols::new());
                for round in 0..20 {
                    let asked = &busy[(asker + round) % 2];
                    let sample = asked.sample(&mut tracer);
                    assert_eq!(sample.fiber, Some(asked.id));
                    assert_eq!(from_spin(&sample, &mut symbols), ["spin", "c", "b", "a"]);
                }
            });
        }
    });
    busy.into_iter().for_each(Busy::end);
}

#[test]
fn a_fiber_that_asks_for_its_own_worker_sees_itself() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let names = runtime.run(|| {
        let (shared, found) = (this_runtime(), std::cell::RefCell::new(None));
        a(&|| {
            *found.borrow_mut() = Tracer::new().running(&shared.remotes[0], Duration::ZERO);
            0
        });
        let sample = found.take().unwrap();
        assert_eq!(sample.fiber, Some(this_fiber().id));
        names(&Symbols::new().resolve_all(&sample.addresses))
    });
    let start = names.iter().position(|name| name == "c").unwrap();
    assert_eq!(names[start..start + 3], ["c", "b", "a"]);
}

#[test]
fn a_thread_that_blocks_the_signal_is_given_up_and_not_harmed_later() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let step = Arc::new(AtomicUsize::new(0));
    let steps = Arc::clone(&step);
    let (found, shared) = mpsc::channel();
    let fiber = runtime.handle().spawn(move || {
        let wait_for = |at: usize| while steps.load(Ordering::Acquire) < at {};
        block_signal(true);
        found.send(this_runtime()).unwrap();
        wait_for(1);
        // Here comes the one that was sent: too late.
        block_signal(false);
        found.send(this_runtime()).unwrap();
        wait_for(2);
    });
    let blocked = shared.recv().unwrap();
    let mut tracer = Tracer::new();
    assert!(tracer.running(&blocked.remotes[0], Duration::from_millis(5)).is_none());
    step.store(1, Ordering::Release);
    shared.recv().unwrap();
    while tracer.running(&blocked.remotes[0], PATIENCE).is_none() {}
    step.store(2, Ordering::Release);
    fiber.join().unwrap();
}

fn block_signal(block: bool) {
    let how = if block { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: a set of signals that is made here, and changed by the functions for it.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGURG);
        libc::pthread_sigmask(how, &set, std::ptr::null_mut());
    }
}

#[test]
fn a_worker_that_has_gone_is_not_asked() {
    let _watchdog = Watchdog::new();
    let runtime = one_worker();
    let shared = runtime.run(this_runtime);
    drop(runtime);
    assert!(Tracer::new().running(&shared.remotes[0], PATIENCE).is_none());
}

#[test]
fn workers_can_be_asked_at_any_time_whatever_they_do() {
    let _watchdog = Watchdog::new();
    let runtime = Runtime::builder().workers(2).max_workers(2).build().unwrap();
    let shared = runtime.run(this_runtime);
    let stop = Arc::new(AtomicBool::new(false));
    let churn = |_| {
        let stop = Arc::clone(&stop);
        runtime.handle().spawn(move || {
            let mut turns = 0usize;
            while !stop.load(Ordering::Relaxed) {
                let allocated = crate::spawn(|| stack::grow(64 << 10, || vec![1u8; 100])).join().unwrap();
                // Panics unwind, under the lock of the loader.
                let unwound = crate::spawn(|| std::panic::resume_unwind(Box::new(1))).join();
                turns += allocated.len() + usize::from(unwound.map(|()| 0).is_err());
            }
            turns
        })
    };
    let churning: Vec<_> = (0..4).map(churn).collect();
    let mut tracer = Tracer::new();
    let mut samples = 0;
    while samples < 300 {
        samples += (0..2).filter(|&worker| tracer.running(&shared.remotes[worker], PATIENCE).is_some()).count();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(churning.into_iter().all(|fiber| fiber.join().unwrap() > 0));
}
