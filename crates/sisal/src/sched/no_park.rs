//! A guard for debug builds: while it is alive, its fiber may not leave its thread to others.

use crate::fiber::current;
use crate::fiber::header::Header;
use crate::prim::id::FiberId;
use crate::prim::reason::Place;
use crate::prim::say::say;
use std::marker::PhantomData;
use std::panic::Location;

/// Until it is dropped, the fiber does not wait: see [`no_park`].
///
/// ```
/// let stay: sisal::NoPark = sisal::no_park();
/// drop(stay);
/// sisal::yield_now();
/// ```
#[derive(Debug)]
#[must_use = "it guards until it is dropped"]
pub struct NoPark {
    outer: Option<Place>,
    /// Whose it is: it may outlive its fiber, as what that returns, and means nothing then.
    fiber: Option<FiberId>,
    /// It belongs to its thread.
    _here: PhantomData<*const ()>,
}

/// Says that this fiber will not wait as long as the guard is alive. If it does, a debug build names the fiber, the wait and the guard, and
/// aborts; an optimized one does not look.
///
/// For what all fibers of a thread share, and no two may use at a time: the guard of a [`std::sync::Mutex`], which would block the worker when
/// the next fiber wants it; what is borrowed from a thread-local; a C library that keeps its state for each thread. Calls that need not wait
/// give way now and then all the same, so there should be none of sisal's inside that may. On a thread outside of a runtime it changes nothing.
///
/// ```
/// use std::sync::Mutex;
///
/// static LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());
///
/// sisal::run(|| {
///     let _stay = sisal::no_park();
///     let mut log = LOG.lock().unwrap();
///     log.push(7); // A `sisal::sleep` here would end a debug build, and say why.
/// });
/// ```
#[track_caller]
pub fn no_park() -> NoPark {
    let here = if cfg!(debug_assertions) { Some(Location::caller()) } else { None };
    let outer = current::with(|current| current.no_park.replace(here));
    NoPark { outer, fiber: running(), _here: PhantomData }
}

/// None in optimized builds, where nobody looks.
fn running() -> Option<FiberId> {
    current::fiber().filter(|_| cfg!(debug_assertions)).map(|fiber| fiber.id)
}

impl Drop for NoPark {
    fn drop(&mut self) {
        if self.fiber == running() {
            current::with(|current| current.no_park.set(self.outer));
        }
    }
}

/// The running fiber has ended, and said nothing for the next.
#[inline(always)]
pub(super) fn forget() {
    if cfg!(debug_assertions) {
        current::with(|current| current.no_park.set(None));
    }
}

/// Whether whoever runs may not wait, as far as somebody looks.
#[inline(always)]
pub(super) fn is_guarded() -> bool {
    cfg!(debug_assertions) && current::with(|current| current.no_park.get()).is_some()
}

/// `me` is about to leave its thread to others.
#[inline(always)]
pub(super) fn check(me: &Header) {
    if cfg!(debug_assertions)
        && let Some(guard) = current::with(|current| current.no_park.get())
    {
        abort(me, guard);
    }
}

#[cold]
fn abort(me: &Header, guard: Place) -> ! {
    let name = me.name.as_deref().map(|name| format!("'{name}' ")).unwrap_or_default();
    let wait = match me.wait.read() {
        Some(wait) if wait.reason.is_ready() => format!("give way at {}", wait.place),
        Some(wait) => format!("wait ({}) at {}", wait.reason.as_str(), wait.place),
        None => "leave".to_owned(),
    };
    let (id, spawned_at) = (me.id.get(), me.spawned_at);
    say(format_args!(
        "sisal: fiber {name}(#{id}), spawned at {spawned_at}, was about to {wait}, \
         but said by the no_park guard at {guard} that it would not.\n"
    ));
    std::process::abort();
}
