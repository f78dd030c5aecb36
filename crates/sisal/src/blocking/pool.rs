//! The threads on which a runtime's blocking calls run.
//!
//! # Protocol
//! All under one lock: the line of jobs, the threads that are idle, and how many there are, with those that are being started.
//! - *To submit* a job: put it into the line and wake the thread that has been idle for the shortest time; so the others' time runs out if
//!   they are not needed. If none is idle and there may be one more, start it with this job. Else the job waits in the line.
//! - *A thread* takes jobs from the line until it is empty. Then it is idle, and sleeps; whoever takes it off the idle ones owes it
//!   one unpark. When it has slept for the keep-alive time and is still among the idle ones, it goes.
//!
//! No job is forgotten: one is put into the line only if a thread was woken for it, or if there are threads and none is idle; these look at
//! the line before they become idle or go. A thread that can't be started does neither: if it was the last, whoever tried
//! to start it gives what is in the line back to those who wait for it.
#![allow(unsafe_code, reason = "jobs lie in the frames of those who wait for them")]

use super::job::{GIVEN_BACK, Job, Taken};
use crate::fiber::waiter::Wait;
use crate::park::{self, Waiting};
use crate::prim::clock::Moment;
use crate::prim::object::Object;
use crate::prim::own_threads;
use crate::prim::parker::{Awake, ThreadParker};
use crate::prim::reason::{Place, Reason};
use crate::queue::chain::Chain;
use std::io;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a thread is kept that has nothing to do.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What a pool is doing.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Threads that run a call, or are about to.
    pub(crate) busy: usize,
    pub(crate) idle: usize,
    /// Calls that no thread has taken yet.
    pub(crate) queued: usize,
}

/// See the [module](self).
pub(super) struct Pool {
    runtime: usize,
    name: String,
    most: usize,
    keep_alive: Duration,
    state: Mutex<State>,
}

struct State {
    line: Chain<Job>,
    /// How many jobs are in the line.
    queued: usize,
    /// Those that went to sleep last are at the end.
    idle: Vec<Arc<ThreadParker>>,
    /// How many there are, or are being started. INVARIANT: at most `Pool::most`.
    threads: usize,
    /// How many there have been: a number for the next.
    started: usize,
    handles: Vec<JoinHandle<()>>,
    is_ending: bool,
}

impl State {
    /// The first job of the line.
    fn next(&mut self) -> Option<Taken> {
        // SAFETY: who stands in the line parks until its job is done or given back, and it is in nobody else's hands.
        let job = self.line.pop().map(|job| unsafe { Taken::new(job) });
        self.queued -= usize::from(job.is_some());
        job
    }
}

impl Pool {
    /// The pool of `runtime`, a number that tells it from others.
    pub(super) fn new(runtime: usize, name: &str, most: usize, keep_alive: Duration) -> Pool {
        let state = State {
            line: Chain::new(),
            queued: 0,
            idle: Vec::new(),
            threads: 0,
            started: 0,
            handles: Vec::new(),
            is_ending: false,
        };
        Pool { runtime, name: format!("{name}-blocking"), most, keep_alive, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `call`, which does not unwind, called once by a thread, and waits for that. Called in a fiber.
    pub(super) fn run(self: &Arc<Pool>, call: &mut (dyn FnMut() + Send), reason: Reason, place: Place) {
        let wait = Wait::new(park::me());
        let job = Job::new(call, &wait);
        // SAFETY: this frame stays until the job is done or given back: see the module above.
        let is_ours = if unsafe { self.submit(&job) } {
            let object = Object::of(&job);
            park::park(&wait, &Waiting { reason, object, place, deadline: None, cancellable: false }) == GIVEN_BACK
        } else {
            true
        };
        if is_ours {
            // It may wait for what this worker has put aside.
            // SAFETY: nobody else has it.
            super::block_in_place(|| unsafe { job.call() });
        }
    }

    /// Has `job` done by a thread; false if there is none, and can't be.
    ///
    /// # Safety
    /// If it returns true, the caller stays in its frame, and parks, until the job is done or given back.
    #[must_use = "a job that was not taken has to be done by the caller"]
    unsafe fn submit(self: &Arc<Pool>, job: &Job) -> bool {
        let mut state = self.lock();
        if !state.idle.is_empty() || state.threads == self.most {
            // SAFETY: the caller's promise.
            unsafe { enqueue(state, job) };
            return true;
        }
        state.threads += 1;
        state.started += 1;
        let number = state.started;
        drop(state);
        // SAFETY: the caller's promise; if no thread starts, nobody has it.
        let taken = unsafe { Taken::new(NonNull::from(job)) };
        match self.start(number, taken) {
            Ok(handle) => {
                let handles = &mut self.lock().handles;
                handles.retain(|handle| !handle.is_finished());
                handles.push(handle);
                true
            }
            // SAFETY: the caller's promise.
            Err(_) => unsafe { self.do_with_fewer(job) },
        }
    }

    fn start(self: &Arc<Pool>, number: usize, first: Taken) -> io::Result<JoinHandle<()>> {
        let pool = Arc::clone(self);
        own_threads::spawn_for(self.runtime, &format!("{}-{number}", self.name), move || pool.work(first))
    }

    /// A thread could not be started for `job`; false if the caller has to do it.
    ///
    /// # Safety
    /// As of [`submit`](Self::submit).
    #[cold]
    unsafe fn do_with_fewer(&self, job: &Job) -> bool {
        let mut state = self.lock();
        state.threads -= 1;
        if state.threads > 0 {
            // SAFETY: the caller's promise.
            unsafe { enqueue(state, job) };
            return true;
        }
        // They came while we tried, and counted on our thread. Each makes its call where it waits: done here, one could wait for what
        // is done elsewhere on this worker. Once another thread is being started, they count on that.
        while state.threads == 0
            && let Some(job) = state.next()
        {
            drop(state);
            job.give_back();
            state = self.lock();
        }
        false
    }

    /// The life of a thread.
    fn work(&self, first: Taken) {
        first.perform();
        let parker = Arc::new(ThreadParker::new());
        let mut state = self.lock();
        loop {
            if let Some(job) = state.next() {
                drop(state);
                job.perform();
                state = self.lock();
            } else if state.is_ending {
                break;
            } else {
                state.idle.push(Arc::clone(&parker));
                drop(state);
                let time_is_up = self.sleep(&parker);
                state = self.lock();
                if time_is_up && let Some(place) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, &parker)) {
                    state.idle.remove(place);
                    break;
                } else if time_is_up {
                    // Somebody has taken us off the idle ones.
                    drop(state);
                    while parker.park(|| None) != Awake::Unparked {}
                    state = self.lock();
                }
            }
        }
        state.threads -= 1;
    }

    /// Sleeps until unparked; true if the time was up before.
    fn sleep(&self, parker: &ThreadParker) -> bool {
        let until = Moment::now().after(self.keep_alive);
        loop {
            match parker.park(|| Some(until.since(Moment::now()))) {
                Awake::Unparked => return false,
                Awake::TimeUp => return true,
                Awake::Poked | Awake::Ready => {}
            }
        }
    }

    pub(super) fn load(&self) -> Load {
        let state = self.lock();
        let idle = state.idle.len();
        Load { busy: state.threads - idle, idle, queued: state.queued }
    }

    /// Waits for the end of all threads, when no more jobs come.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        let (idle, handles) = (std::mem::take(&mut state.idle), std::mem::take(&mut state.handles));
        drop(state);
        idle.iter().for_each(|thread| thread.unpark());
        // Panics of jobs go to those who wait for them.
        own_threads::join(handles);
    }
}

/// Puts `job` into the line, and wakes a thread for it if one is idle.
///
/// # Safety
/// As of [`Pool::submit`].
unsafe fn enqueue(mut state: MutexGuard<'_, State>, job: &Job) {
    // SAFETY: the caller's promise; it is popped before it is done.
    unsafe { state.line.push(job) };
    state.queued += 1;
    let idle = state.idle.pop();
    drop(state);
    if let Some(thread) = idle {
        thread.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fiber::waiter::Wait;
    use std::thread;

    /// Runs `call` in the pool for this thread, which waits as a fiber would.
    fn run(pool: &Arc<Pool>, mut call: impl FnMut() + Send) {
        pool.run(&mut call, Reason::Blocking, std::panic::Location::caller());
    }

    #[test]
    fn an_idle_thread_is_used_again_and_goes_when_its_time_is_up() {
        let pool = Arc::new(Pool::new(0, "unit", 4, Duration::from_millis(20)));
        let mut names = Vec::new();
        run(&pool, || names.push(thread::current().name().map(str::to_owned)));
        assert_eq!(names, [Some("unit-blocking-1".to_owned())]);
        while pool.lock().threads > 0 {
            thread::yield_now();
        }
        assert!(pool.lock().idle.is_empty());
        run(&pool, || names.push(thread::current().name().map(str::to_owned)));
        assert_eq!(names[1].as_deref(), Some("unit-blocking-2"), "a new one is started when it is needed");
        pool.end();
    }

    #[test]
    fn a_thread_that_is_called_just_when_its_time_is_up_is_not_lost() {
        let pool = Arc::new(Pool::new(0, "unit", 1, Duration::from_micros(50)));
        let mut count = 0;
        for _ in 0..2_000 {
            run(&pool, || count += 1);
        }
        assert_eq!(count, 2_000);
        pool.end();
        assert_eq!(pool.lock().threads, 0);
    }

    #[test]
    fn the_end_does_not_wait_for_the_time_of_idle_threads() {
        let pool = Arc::new(Pool::new(0, "unit", 4, Duration::MAX));
        run(&pool, || ());
        pool.end();
        assert_eq!(pool.lock().threads, 0);
    }

    #[test]
    fn a_thread_that_was_refused_leaves_its_job_to_others_or_to_the_caller() {
        let pool = Arc::new(Pool::new(0, "unit", 4, KEEP_ALIVE));
        let mut calls = 0;
        let mut call = || calls += 1;
        let wait = Wait::new(park::me());
        let job = Job::new(&mut call, &wait);
        pool.lock().threads = 1;
        // SAFETY: the job is not taken.
        assert!(!unsafe { pool.do_with_fewer(&job) }, "no thread is left");
        run(&pool, || ());
        pool.lock().threads += 1;
        // SAFETY: we stay until it is done.
        assert!(unsafe { pool.do_with_fewer(&job) }, "another does it");
        let (reason, place) = (Reason::Blocking, std::panic::Location::caller());
        park::park(&wait, &Waiting { reason, object: Object::NONE, place, deadline: None, cancellable: false });
        pool.end();
        assert_eq!(calls, 1);
    }

    /// Two count on a thread that can't be started: each makes its call itself, also the one that stands in line.
    #[test]
    fn a_job_in_line_goes_back_to_its_owner_if_no_thread_can_be_had() {
        let pool = Arc::new(Pool::new(0, "unit", 1, KEEP_ALIVE));
        // One is being started.
        pool.lock().threads = 1;
        thread::scope(|scope| {
            let in_line = scope.spawn(|| {
                let mut called_by = None;
                run(&pool, || called_by = Some(thread::current().id()));
                assert_eq!(called_by, Some(thread::current().id()));
            });
            while pool.load().queued == 0 {
                thread::yield_now();
            }
            let wait = Wait::new(park::me());
            let mut call = || unreachable!("its owner would make it");
            // SAFETY: it is not taken.
            assert!(!unsafe { pool.do_with_fewer(&Job::new(&mut call, &wait)) });
            in_line.join().unwrap();
        });
        assert_eq!(pool.load(), Load::default());
    }
}
