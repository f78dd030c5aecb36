//! The same on every worker.

use super::enter::enter;
use crate::nursery::whole_nursery_at;
use crate::spawn::Handle;
use std::panic::Location;

/// Calls `f` once on each of the runtime's [base workers](Handle::base_workers), with the worker's number, and returns what it returns there,
/// in their order. For what belongs to a thread: warming up a cache, gathering counts.
///
/// On a thread outside of a runtime it is called in the [default runtime](crate::Runtime::install_default), or else once, on the thread. It
/// is called on all of them also if what is around is cancelled, or the runtime is stopping.
///
/// # Panics
/// If `f` does.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(3).build()?;
/// let numbers = runtime.run(|| sisal::par::broadcast(|worker| worker * 10));
/// assert_eq!(numbers, [0, 10, 20]);
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[track_caller]
pub fn broadcast<R: Send>(f: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    let place = Location::caller();
    enter(place, || {
        let Some(runtime) = Handle::current() else { return vec![f(0)] };
        let mut results: Vec<Option<R>> = (0..runtime.base_workers()).map(|_| None).collect();
        whole_nursery_at(place, |nursery| {
            for (worker, result) in results.iter_mut().enumerate() {
                let f = &f;
                nursery.builder().on(worker).spawn(move || *result = Some(f(worker)));
            }
        });
        results.into_iter().flatten().collect()
    })
}
