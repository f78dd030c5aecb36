//! Calls that block: on a thread of their own, or right here.
//!
//! - [`pool`]: the threads of a runtime for such calls; [`job`]: one call, as they see it.
//!
//! # Why the call may borrow from its caller
//! [`blocking`] lends the call to another thread without asking for `'static`. That is sound since its frame can't be left while the
//! call is not done, in none of the ways there are:
//! - *By returning*: the wait ends only when a thread has made the call, or the job is given back for want of one; either is the last that is
//!   done with it elsewhere. It has no deadline and is not cancellable, so neither a timeout nor a nursery nor the end of the runtime ends it.
//! - *By unwinding*: nothing between the moment the job can be reached by others and the end of the wait panics. A panic of the call is
//!   caught on its thread and goes on here after the wait.
//! - *By the end of the runtime*: it waits for its fibers, and queued jobs are run like all others. If the time for that is up, fibers are
//!   left behind with their stacks, which stay as they are.
//! - *By the end of the thread that runs it*: that runs jobs to their end before it looks whether it is to go.

mod job;
mod pool;

use self::pool::{Load, Pool};
use crate::fiber::spans::Origin;
use crate::prim::reason::{Place, Reason};
use crate::sched::shared::Shared;
use crate::sched::worker;
use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Runs `f` on an OS thread and waits for it, so that it may block as long as it likes: the fiber parks, and its worker runs others.
/// Outside of fibers `f` is simply called.
///
/// `f` may borrow from its caller. It runs as on any plain thread: it is [in no fiber](crate::in_fiber), and calls of this crate block
/// the thread. A panic of `f` goes on in the caller. The wait is not cancelled by anything, since `f` can't be; it is waited for also
/// when the runtime stops.
///
/// The threads are kept for the next call, for ten seconds. There are at most
/// [`max_blocking_threads`](crate::RuntimeBuilder::max_blocking_threads) of them; when all are busy, callers wait in line. Calls that wait
/// for each other may therefore wait for ever, if there are more of them than threads. If the system refuses threads, fewer have to
/// do, and if there is none at all `f` is called in the fiber, and blocks the worker.
///
/// ```
/// sisal::run(|| {
///     let text = String::from("borrowed");
///     let length = sisal::blocking(|| {
///         std::thread::sleep(std::time::Duration::from_millis(1));
///         text.len()
///     });
///     assert_eq!(length, 8);
/// });
/// ```
#[track_caller]
pub fn blocking<T: Send, F: FnOnce() -> T + Send>(f: F) -> T {
    blocking_for(Reason::Blocking, Location::caller(), f)
}

/// As [`blocking`], for a call that is known by another name.
pub(crate) fn blocking_for<T: Send, F: FnOnce() -> T + Send>(reason: Reason, place: Place, f: F) -> T {
    worker::with_fiber(|running| match running {
        None => f(),
        Some((worker, _)) => {
            let (mut f, mut result) = (Some(f), None);
            let origin = Origin::here();
            let mut call = || result = f.take().map(|f| catch_unwind(AssertUnwindSafe(|| origin.call(f))));
            pool_of(worker.shared()).run(&mut call, reason, place);
            match result {
                Some(result) => result.unwrap_or_else(|payload| resume_unwind(payload)),
                None => unreachable!("INVARIANT: the call has been made"),
            }
        }
    })
}

fn pool_of(shared: &Shared) -> &Arc<Pool> {
    let pool = shared.blocking.get_or_init(|| {
        let config = &shared.config;
        Box::new(Arc::new(Pool::new(
            std::ptr::from_ref(shared).addr(),
            &config.name,
            config.max_blocking_threads,
            pool::KEEP_ALIVE,
        )))
    });
    let pool: &dyn Any = &**pool;
    pool.downcast_ref().unwrap_or_else(|| unreachable!("INVARIANT: nothing else is put there"))
}

/// What the threads of a runtime are doing.
pub(crate) fn load(shared: &Shared) -> Load {
    shared.blocking.get().map(|_| pool_of(shared).load()).unwrap_or_default()
}

/// Ends the threads of a runtime that has ended.
pub(crate) fn end(shared: &Shared) {
    if shared.blocking.get().is_some() {
        pool_of(shared).end();
    }
}

/// Runs `f`, which may block, right here on the worker, after others have been given what they can run in its place.
///
/// Fibers that wait to be started are handed to other workers, and if these are busy, the runtime may add one at once. But a fiber that has
/// been started here never runs elsewhere: until `f` returns or waits, all such fibers of this worker stand still. So this is for a short
/// block now and then, where [`blocking`]'s two switches cost too much, or where `f` can't be sent to another thread. Outside of fibers `f` is
/// simply called.
///
/// ```
/// use std::rc::Rc;
/// sisal::run(|| {
///     let local = Rc::new(6);
///     assert_eq!(sisal::block_in_place(|| *local * 7), 42);
/// });
/// ```
pub fn block_in_place<T>(f: impl FnOnce() -> T) -> T {
    struct Declared(u64);
    impl Drop for Declared {
        fn drop(&mut self) {
            worker::with_fiber(|running| running.map(|(worker, _)| worker.retract_blocked(self.0)));
        }
    }
    let _declared = worker::with_fiber(|running| running.map(|(worker, me)| Declared(worker.declare_blocked(me))));
    f()
}
