//! Where the actors of a test run: as fibers, as threads, or some so and some so.
//!
//! What waits is to wait in the same way everywhere. A test of it says once what its actors do, and [`everywhere`] runs it in
//! every mixture, with 1, 2 and 4 workers.

use super::child::test_of;
use super::watchdog::Watchdog;
use super::{background, shut_down, until};
use sisal::{Handle, JoinHandle, in_fiber, yield_now};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many workers the tests of meaning are run with; the storms have more.
const WORKERS: [usize; 3] = [1, 2, 4];

/// Who does the work of a test.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Cast {
    /// The body and all actors are fibers.
    Fibers,
    /// The body is a fiber; the actors are threads and fibers in turn.
    FiberWithBoth,
    /// The body is a thread; the actors are fibers and threads in turn.
    ThreadWithBoth,
    /// The body and all actors are threads, and there is no runtime.
    Threads,
}

/// Where a test runs, and starts its actors.
pub(crate) struct Place {
    cast: Cast,
    runtime: Option<Handle>,
    spawned: AtomicUsize,
}

/// What runs for a test: a fiber or a thread.
pub(crate) enum Actor<T> {
    Fiber(JoinHandle<T>),
    Thread(thread::JoinHandle<T>),
}

/// Runs `body` in every place, each time under a watchdog. Afterwards nothing may be left.
pub(crate) fn everywhere<F: Fn(&Place) + Send + Sync>(body: F) {
    let test = test_of::<F>();
    let body: &Body<'_> = &body;
    with_runtimes(&test, body);
    let _watchdog = Watchdog::over_test(&test, "threads");
    body(&Place::new(Cast::Threads, None));
}

/// Runs `body` in every place where there is a runtime: for what needs one, to have it do something.
pub(crate) fn everywhere_with_a_runtime<F: Fn(&Place) + Send + Sync>(body: F) {
    with_runtimes(&test_of::<F>(), &body);
}

/// What a test does in a place.
type Body<'a> = dyn Fn(&Place) + Send + Sync + 'a;

/// Runs `body` where its actors are fibers and threads in turn, with so many workers.
pub(crate) fn mixed<F: Fn(&Place) + Send + Sync>(workers: usize, body: F) {
    let test = test_of::<F>();
    with_runtime(&test, Cast::FiberWithBoth, workers, &body);
    with_runtime(&test, Cast::ThreadWithBoth, workers, &body);
}

fn with_runtimes(test: &str, body: &Body<'_>) {
    for cast in [Cast::Fibers, Cast::FiberWithBoth, Cast::ThreadWithBoth] {
        for workers in WORKERS {
            with_runtime(test, cast, workers, body);
        }
    }
}

fn with_runtime(test: &str, cast: Cast, workers: usize, body: &Body<'_>) {
    let _watchdog = Watchdog::over_test(test, &format!("{cast:?}, {workers} workers"));
    let runtime = background(workers);
    let place = Place::new(cast, Some(runtime.handle().clone()));
    match cast {
        Cast::ThreadWithBoth | Cast::Threads => body(&place),
        Cast::Fibers | Cast::FiberWithBoth => runtime.run(|| body(&place)),
    }
    shut_down(runtime);
}

impl Place {
    fn new(cast: Cast, runtime: Option<Handle>) -> Place {
        Place { cast, runtime, spawned: AtomicUsize::new(0) }
    }

    /// Calls `f` inside of the runtime, if there is one, wherever the body is.
    #[track_caller]
    pub(crate) fn inside<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match &self.runtime {
            Some(runtime) if !in_fiber() => runtime.spawn(f).join().unwrap(),
            _ => f(),
        }
    }

    /// Starts an actor.
    #[track_caller]
    pub(crate) fn spawn<F, T>(&self, f: F) -> Actor<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.start(f, |runtime, f| runtime.spawn(f))
    }

    /// The same; one that is a fiber runs on the worker of this number, as far as there are so many.
    #[track_caller]
    pub(crate) fn spawn_on<F, T>(&self, worker: usize, f: F) -> Actor<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.start(f, |runtime, f| runtime.spawn_on(worker % runtime.base_workers(), f))
    }

    fn start<F, T>(&self, f: F, spawn: impl FnOnce(&Handle, F) -> JoinHandle<T>) -> Actor<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let is_even = self.spawned.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let runtime = self.runtime.as_ref().filter(|_| match self.cast {
            Cast::Fibers => true,
            Cast::FiberWithBoth => !is_even,
            Cast::ThreadWithBoth => is_even,
            Cast::Threads => false,
        });
        match runtime {
            Some(runtime) => Actor::Fiber(spawn(runtime, f)),
            None => Actor::Thread(thread::spawn(f)),
        }
    }

    /// Starts so many actors, each with what `make` gives for its number.
    #[track_caller]
    pub(crate) fn crowd<F, T>(&self, count: usize, make: impl Fn(usize) -> F) -> Vec<Actor<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        (0..count).map(|number| self.spawn(make(number))).collect()
    }
}

impl<T> Actor<T> {
    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Actor::Fiber(fiber) => fiber.is_finished(),
            Actor::Thread(thread) => thread.is_finished(),
        }
    }

    /// Waits for its end. A fiber that waits for a thread does not block its worker, which others may need to end.
    #[track_caller]
    pub(crate) fn join(self) -> T {
        match self {
            Actor::Fiber(fiber) => fiber.join().unwrap(),
            Actor::Thread(thread) => {
                until(|| thread.is_finished());
                thread.join().unwrap()
            }
        }
    }
}

/// Waits for the ends of all, and returns what they returned, in their order.
#[track_caller]
pub(crate) fn join_all<T>(actors: impl IntoIterator<Item = Actor<T>>) -> Vec<T> {
    // All are started before the first is waited for.
    let actors: Vec<_> = actors.into_iter().collect();
    actors.into_iter().map(Actor::join).collect()
}

/// Lets the others go as far as they can. It proves nothing when they don't, and so stands only before a look at what must not
/// have happened.
pub(crate) fn settle() {
    (0..30).for_each(|_| yield_now());
}
