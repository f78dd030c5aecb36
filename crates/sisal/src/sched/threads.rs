//! The threads of a runtime: how workers and the monitor start, run and go.

use super::events::Kind;
use super::monitor::Monitor;
use super::remote::Life;
use super::shared::{Phase, Shared};
use super::worker::{self, Worker};
use crate::fiber::body;
use crate::fiber::header::Birth;
use crate::fiber::panic_hook;
use crate::fiber::spans;
use crate::prim::atomic::{Ordering, fence};
use crate::prim::clock::Moment;
use crate::prim::fork;
use crate::prim::id::FiberId;
use crate::prim::own_threads;
use crate::prim::reason::Place;
use crate::prim::say::say;
use sisal_context::fault::{self, AltStack};
use sisal_context::stack::{Stack, ThreadStack};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, PoisonError};
use std::thread;

/// What a process needs once, before its first runtime.
fn prepare_process() {
    fault::install(super::overflow::on_fault);
    fork::watch_with(worker::forget_current);
    panic_hook::install();
}

/// Starts the base workers from `first` on, and the monitor. On an error nothing is left running.
pub(crate) fn start(shared: &Arc<Shared>, first: usize) -> io::Result<()> {
    prepare_process();
    let result = (first..shared.config.workers)
        .try_for_each(|index| start_worker(shared, index, Life::Base))
        .and_then(|()| start_monitor(shared));
    if result.is_err() {
        shared.request_stop();
        shared.end_if_quiescent();
        join_all(shared);
    }
    result
}

fn start_worker(shared: &Arc<Shared>, index: usize, life: Life) -> io::Result<()> {
    // An added one is to get others on, who may hold all that there are to be.
    let beyond = || (life == Life::Added).then(|| shared.depot.take_beyond_limit(shared.config.class)).flatten();
    let stack = first_stack(shared).or_else(|error| beyond().ok_or(error))?;
    let worker = Arc::clone(shared);
    shared.remotes[index].set_life(life);
    let started = spawn(shared, &format!("{}-{index}", shared.config.name), move || {
        let Ok(_alternate) = AltStack::ensure() else {
            say(format_args!(
                "sisal: no memory for a signal stack: an overflow on worker {index} would not be reported\n"
            ));
            return run_worker(&worker, index, stack);
        };
        run_worker(&worker, index, stack);
    });
    if started.is_err() {
        shared.remotes[index].set_life(Life::Absent);
        give_back(shared, stack);
    }
    started
}

/// The life of a worker's thread.
fn run_worker(shared: &Arc<Shared>, index: usize, stack: Stack) {
    let worker = Worker::new(Arc::clone(shared), index, Some(stack));
    worker.install(|| {
        worker.heed_tracers_now();
        loop {
            worker.note(Kind::Begin);
            worker.run_until_done();
            // Now: as soon as it is absent, there may be another of its number.
            worker.note(Kind::Gone);
            // A worker that may go because it retires stays if it is needed again meanwhile.
            if shared.phase() == Phase::Ended || shared.remotes[index].change_life(Life::Retiring, Life::Absent) {
                break;
            }
        }
    });
    // ORDERING: pairs with the fences of those who fall asleep: one of us sees that all others are asleep or gone.
    fence(Ordering::SeqCst);
    shared.ask_about_stillness();
    worker.stacks.give_all(shared);
    shared.remotes[index].shown.thread.clear();
    shared.remotes[index].shown.activity.descriptors.store(0, Ordering::Relaxed);
    if shared.phase() == Phase::Ended {
        shared.remotes[index].set_life(Life::Absent);
    }
}

/// Takes a stack for a worker's first loop.
pub(crate) fn first_stack(shared: &Shared) -> io::Result<Stack> {
    let mut one = Vec::with_capacity(1);
    shared.depot.take(shared.config.class, 1, &mut one);
    one.pop().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}

/// A stack for a worker that could not start.
#[allow(unsafe_code, reason = "a stack given back must be out of use")]
pub(crate) fn give_back(shared: &Shared, stack: Stack) {
    // SAFETY: from `first_stack`, and nothing has run on it.
    unsafe { shared.depot.give(&[stack]) };
}

/// Starts one more worker; false if that can't be done now.
pub(super) fn start_added(shared: &Arc<Shared>, index: usize) -> bool {
    start_worker(shared, index, Life::Added).is_ok()
}

fn start_monitor(shared: &Arc<Shared>) -> io::Result<()> {
    let monitor = Monitor::new(Arc::clone(shared));
    spawn(shared, &format!("{}-monitor", shared.config.name), move || monitor.run())
}

/// Starts the thread that says who blocks a worker.
pub(super) fn start_reporter(shared: &Shared, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    spawn(shared, &format!("{}-reports", shared.config.name), body)
}

fn spawn(shared: &Shared, name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = own_threads::spawn_for(ptr::from_ref(shared).addr(), name, body)?;
    let mut threads = shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
    threads.retain(|thread| !thread.is_finished());
    threads.push(thread);
    Ok(())
}

/// Waits for all threads of a runtime that has ended.
pub(crate) fn join_all(shared: &Shared) {
    loop {
        let threads = std::mem::take(&mut *shared.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            break;
        }
        // Until the monitor has gone it may start another. A worker does not panic: panics of fibers end with them.
        own_threads::join(threads);
    }
}

/// Runs `f` as the main fiber, on the calling thread's own stack, with that thread as worker 0; then stops the runtime and
/// goes on as a worker until it has ended, or its time is up and nothing is homed here.
pub(crate) fn run_main<T>(
    shared: &Arc<Shared>,
    stack: Stack,
    place: Place,
    f: impl FnOnce() -> T,
) -> thread::Result<T> {
    let _alternate = AltStack::ensure();
    shared.remotes[0].set_life(Life::Base);
    let worker = Worker::new(Arc::clone(shared), 0, Some(stack));
    worker.thread_stack.set(ThreadStack::of_this_thread());
    let main = body::allocate_running(Birth {
        id: FiberId::MAIN,
        runtime: Arc::as_ptr(shared).cast(),
        class: shared.config.class,
        pinned: true,
        spawned_at: place,
        name: Some("main".into()),
        spawned_by: None,
    });
    shared.main.store(1, Ordering::Relaxed);
    let _enrolment = own_threads::enroll(Arc::as_ptr(shared).addr());
    let result = worker.install(|| {
        worker.heed_tracers_now();
        worker.note(Kind::Begin);
        let result = worker.run_as(main, || catch_unwind(AssertUnwindSafe(f)));
        fork::refuse_in_child();
        // ORDERING: Release pairs with the Acquire in `unfinished`: all that main spawned is counted.
        shared.main.store(0, Ordering::Release);
        shared.request_stop();
        worker.leave_at.set(Moment::now().after(shared.config.shutdown_timeout));
        // Those of the calling thread are nobody else's.
        let spans = spans::leave();
        worker.run_until_done();
        worker.note(Kind::Gone);
        spans.enter_again();
        result
    });
    worker.stacks.give_all(shared);
    shared.remotes[0].shown.thread.clear();
    shared.remotes[0].shown.activity.descriptors.store(0, Ordering::Relaxed);
    shared.remotes[0].set_life(Life::Absent);
    result
}
