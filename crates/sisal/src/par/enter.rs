//! From a thread into a runtime: the default one, if there is one.
//!
//! However little there is to do, closures run in a fiber then: they may spawn others, and wait for items that come after their own. Only what calls
//! no closure for an item, and comparisons of short sorts, stay on the thread.
#![allow(unsafe_code, reason = "what is run elsewhere borrows from the caller, who waits")]

use crate::fiber::in_fiber;
use crate::join::JoinError;
use crate::park::scope;
use crate::prim::reason::Place;
use crate::spawn::launch::{Options, launch};
use crate::spawn::{Handle, default_runtime};
use std::sync::Mutex;

/// Calls `f`: in a fiber right here, on a thread in a fiber of the default runtime. Where there is none, or it is stopping, on the thread.
pub(super) fn enter<R: Send>(place: Place, f: impl FnOnce() -> R + Send) -> R {
    if in_fiber() {
        return f();
    }
    let Some(runtime) = default_runtime() else { return f() };
    let (mut f, mut result) = (Some(f), None);
    run_in(runtime, place, &mut || result = f.take().map(|f| f()));
    result.unwrap_or_else(|| unreachable!("INVARIANT: called, and once"))
}

/// Calls `f` once, in a fiber of this runtime, or on the thread if that is stopping. Whatever its type: this is a good deal of code, and none of
/// it is run often.
#[cold]
fn run_in(runtime: &Handle, place: Place, f: &mut (dyn FnMut() + Send)) {
    // A fiber that is not run, since the runtime is stopping, leaves it here.
    let f = Mutex::new(Some(f));
    let take = || f.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    let ended = scope::lend(|lent| {
        let run = || scope::inside_of(lent, || take().map(|f| f()));
        // SAFETY: all of it is `Send`. What `f` borrows outlives the fiber, and so does what is lent, since we wait for its end below, whatever
        // happens.
        let handle = unsafe { launch(Some(runtime.shared()), Options::default(), place, run) };
        handle.ok().map(|handle| {
            handle.wait_uncancelled(place);
            handle.take_outcome()
        })
    });
    match ended {
        Some(Ok(Some(()))) => {}
        Some(Err(JoinError::Panicked(panic))) => panic.resume(),
        _ => take().unwrap_or_else(|| unreachable!("INVARIANT: it was not run"))(),
    }
}
