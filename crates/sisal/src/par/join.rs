//! One fork: two closures, of which the second is put aside for others while the first runs.
#![allow(unsafe_code, reason = "the second closure and its result lie in this frame, where others may reach them")]

use super::enter::enter;
use crate::fiber::header::FiberRef;
use crate::fiber::job::Job;
use crate::fiber::waiter::{Wait, Waiter};
use crate::park::scope::{self, Entry};
use crate::park::{self, Waiting};
use crate::prim::clock::Moment;
use crate::prim::drop_quietly::drop_quietly;
use crate::prim::object::Object;
use crate::prim::reason::{Place, Reason};
use crate::sched::worker::{self, Worker};
use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::thread;

/// Calls both closures, the second on another worker meanwhile if there is one with nothing to do, and returns both results.
///
/// A fork that nobody takes costs a few nanoseconds, so it can stand at every node of a tree. Both closures may wait: the worker goes on
/// with other fibers. Whoever waits for a stolen half runs nothing else on its stack, so locks of [`sync`](crate::sync) may be held across a fork. (Those of
/// `std` may not, if others on the worker want them: fibers that fork for long give way now and then.)
///
/// The half that another takes is a fiber of its own: it has a stack no smaller than that of the fork, or of the usual size if the fork stands on
/// a thread's own, as in the main fiber of [`run`](fn@crate::run); and its [fiber-locals](crate::fiber_local!) are its own, too.
///
/// On a thread outside of a runtime the two run in the [default runtime](crate::Runtime::install_default), or else one after the other.
///
/// # Panics
/// If one of them panics, that comes out when both have ended; if both do, the first one's. If the first panics before anybody has taken the
/// second, that is dropped.
///
/// ```
/// fn fib(n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = sisal::par::join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// assert_eq!(sisal::run(|| fib(20)), 6_765);
/// ```
#[track_caller]
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(Location::caller(), a, b)
}

/// As [`join`], for a caller that has a place of its own.
#[inline(always)]
pub(super) fn join_at<A, B, RA, RB>(place: Place, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: it is used here alone, by this fiber.
    match unsafe { worker::here() } {
        Some((me, worker)) => fork(worker, me, place, a, b),
        None => outside(place, a, b),
    }
}

/// On a thread that is no worker: in the default runtime if there is one.
#[cold]
fn outside<A, B, RA, RB>(place: Place, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    enter(place, || {
        let (mut a, mut b) = (Some(a), Some(b));
        let (mut first, mut second) = (None, None);
        let forked = catch_unwind(AssertUnwindSafe(|| {
            fork_here(place, &mut || first = a.take().map(|a| a()), &mut || second = b.take().map(|b| b()));
        }));
        if let Err(payload) = forked {
            // What a fork of other types would have dropped before it went on with the panic.
            drop_quietly((b, second));
            resume_unwind(payload);
        }
        first.zip(second).unwrap_or_else(|| unreachable!("INVARIANT: both were called, and once"))
    })
}

/// For closures of any type: one copy of this code is enough.
fn fork_here(place: Place, a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    // SAFETY: it is used here alone, by this fiber.
    match unsafe { worker::here() } {
        Some((me, worker)) => _ = fork(worker, me, place, a, b),
        None => {
            a();
            b();
        }
    }
}

/// Inlined into whoever forks, always: left to itself, the compiler passes closures through memory as often as not, which takes twice as
/// long.
#[inline(always)]
fn fork<A, B, RA, RB>(worker: &Worker, me: FiberRef, place: Place, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    if me.jobs.get().is_none() {
        worker.begin_to_fork(place);
    }
    let own = ManuallyDrop::new(b);
    // SAFETY: of the two, one is used: this one once others have seen it, or the first half has panicked; else our own, which the
    // compiler need not read back from memory that others could reach.
    let half = Half::new(me, place, unsafe { ptr::read(&*own) });
    // SAFETY: it stays in this frame; taken back below, and waited for if somebody else runs it.
    unsafe { me.put_aside(half.as_job()) };
    worker.look_around(me, half.as_job(), place);
    // The two ways apart from here on: what is not asked later costs nothing where forks are many.
    let first = match catch_unwind(AssertUnwindSafe(a)) {
        Ok(first) => first,
        Err(payload) => half.end_with(payload, me, place),
    };
    if half.job.exposed().is_some() {
        return (first, half.settle(me, place));
    }
    me.take_back(half.as_job());
    let b = ManuallyDrop::into_inner(own);
    (first, b())
}

/// The second half of a fork. Shared with whoever takes it: its owner, too, has no exclusive reference once it is put aside.
#[repr(C)]
struct Half<B, RB> {
    job: Job,
    f: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<thread::Result<RB>>>,
}

impl<B: FnOnce() -> RB, RB> Half<B, RB> {
    #[inline]
    fn new(owner: FiberRef, place: Place, f: B) -> Half<B, RB> {
        Half {
            job: Job::new(owner, place, Self::run_stolen),
            f: UnsafeCell::new(ManuallyDrop::new(f)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The job, by a pointer that reaches all of this.
    #[inline]
    fn as_job(&self) -> NonNull<Job> {
        NonNull::from(self).cast()
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// By whoever has taken the job, once.
    #[inline]
    unsafe fn take(&self) -> B {
        // SAFETY: the caller's promise.
        unsafe { ManuallyDrop::take(&mut *self.f.get()) }
    }

    /// Runs it in a fiber of its own, inside of what its owner was inside.
    ///
    /// # Safety
    /// As for [`take`](Self::take); `job` is that of such a half.
    unsafe fn run_stolen(job: NonNull<Job>) {
        // SAFETY: the job is the first field. The owner does not leave its frame before it is told of the end.
        let half = unsafe { job.cast::<Self>().as_ref() };
        // SAFETY: the caller's promise.
        let f = unsafe { half.take() };
        let (mut f, mut result) = (Some(f), None);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the owner stays in its frame.
            unsafe { inside_of_owner(&half.job, &mut || result = f.take().map(|f| f())) };
        }));
        let result = ended.map(|()| result.unwrap_or_else(|| unreachable!("INVARIANT: called, and once")));
        // SAFETY: the owner reads it when it has been told.
        unsafe { (*half.result.get()).write(result) };
    }

    /// Others have seen the half, which was put aside: runs it, or waits for whoever does.
    #[cold]
    #[inline(never)]
    fn settle(&self, me: FiberRef, place: Place) -> RB {
        if !reclaim(&self.job, place) {
            return self.wait(me, place).unwrap_or_else(|payload| resume_unwind(payload));
        }
        me.take_back(self.as_job());
        // SAFETY: taken just now.
        let b = unsafe { self.take() };
        b()
    }

    /// Another has taken the half, which was put aside: waits for its result.
    fn wait(&self, me: FiberRef, place: Place) -> thread::Result<RB> {
        wait_for(&self.job, place);
        me.take_back(self.as_job());
        // SAFETY: the thief is done, and nobody here holds what is let go of.
        unsafe { self.job.conceal() };
        // SAFETY: the thief has written it, and touches it no more.
        unsafe { (*self.result.get()).assume_init_read() }
    }

    /// The first half has panicked: when the second, which was put aside, has ended, or else was dropped, that goes on.
    #[cold]
    #[inline(never)]
    fn end_with(&self, payload: Box<dyn Any + Send>, me: FiberRef, place: Place) -> ! {
        if !reclaim(&self.job, place) {
            drop_quietly(self.wait(me, place));
        } else {
            me.take_back(self.as_job());
            // SAFETY: nobody else has seen it, or it was taken just now.
            drop_quietly(unsafe { self.take() });
        }
        resume_unwind(payload)
    }
}

/// Calls `f` inside of what the owner of a job that was taken is inside.
///
/// # Safety
/// The owner does not leave its frame meanwhile.
unsafe fn inside_of_owner(job: &Job, f: &mut dyn FnMut()) {
    let node = job.node().unwrap_or_else(|| unreachable!("INVARIANT: else nobody could have taken it"));
    match job.scope {
        None => scope::within(Entry::Child(node), Moment::NEVER, |_| f()),
        // SAFETY: the scope is around the frame of the owner, which stays.
        Some(scope) => match &unsafe { scope.as_ref() }.node {
            Some(node) => scope::within(Entry::Child(node), Moment::NEVER, |_| f()),
            None => scope::shielded(f),
        },
    }
}

/// Takes a job of one's own, unless others have seen it and one of them has.
fn reclaim(job: &Job, place: Place) -> bool {
    let Some(exposed) = job.exposed() else { return true };
    let (since, is_ours) = (exposed.since, exposed.cell.take());
    worker::with_current(|worker| {
        worker.into_iter().for_each(|worker| worker.note_offer(place, since, !is_ours));
    });
    if is_ours {
        // SAFETY: ours, and nobody here holds what is let go of.
        unsafe { job.conceal() };
    }
    is_ours
}

/// Waits for whoever has taken a job of one's own.
fn wait_for(job: &Job, place: Place) {
    let exposed = job.exposed().unwrap_or_else(|| unreachable!("INVARIANT: asked before"));
    let cell = &exposed.cell;
    let wait = Wait::new(park::me());
    let waiter = Waiter::solo(&wait);
    // SAFETY: both stay in this frame until the wait, which nothing else ends, is over.
    if unsafe { cell.enlist(&waiter) } {
        let object = Object::of(cell);
        let waiting = Waiting { reason: Reason::Job, object, place, deadline: None, cancellable: false };
        park::park(&wait, &waiting);
    }
}
