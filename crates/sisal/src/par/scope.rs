//! Any number of closures that borrow from the caller, who waits for all of them.

use super::enter::enter;
use crate::nursery::{Nursery, whole_nursery_at};
use std::convert::Infallible;
use std::panic::Location;

/// Where closures are spawned that end before [`scope`] does. Children have it as well, and spawn into the same.
///
/// ```
/// use sisal::par::Scope;
/// sisal::run(|| {
///     let mut halves = [0, 0];
///     let [left, right] = &mut halves;
///     sisal::par::scope(|scope: Scope<'_, '_>| {
///         scope.spawn(|scope| { *left = 1; scope.spawn(|_| *right = 2) });
///     });
///     assert_eq!(halves, [1, 2]);
/// });
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Scope<'scope, 'env> {
    /// None outside of a runtime.
    nursery: Option<&'scope Nursery<'scope, 'env, Infallible>>,
}

/// Calls `f` with a scope, and returns when `f` and all that was spawned into it have ended. So it may borrow from the caller.
///
/// For work whose parts are not known beforehand; two closures are [joined](fn@super::join), which costs less. Children are fibers of
/// their own: they may wait. If something around the scope is cancelled, their waits end, but all of them run: what is computed is whole.
/// For children that may fail, and to cancel them, see [`nursery`](crate::nursery()).
///
/// On a thread outside of a runtime it runs in the [default runtime](crate::Runtime::install_default); where there is none, a child is just
/// called when it is spawned.
///
/// # Panics
/// If `f` or a child does. That cancels the waits of the others, and those that have not started never run.
///
/// ```
/// use sisal::par::{self, Scope};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// struct Tree(Vec<Tree>);
///
/// fn count<'s>(scope: Scope<'s, '_>, tree: &'s Tree, nodes: &'s AtomicU32) {
///     nodes.fetch_add(1, Ordering::Relaxed);
///     for branch in &tree.0 {
///         scope.spawn(|scope| count(scope, branch, nodes));
///     }
/// }
///
/// sisal::run(|| {
///     let tree = Tree(vec![Tree(vec![]), Tree(vec![Tree(vec![])])]);
///     let nodes = AtomicU32::new(0);
///     par::scope(|scope| count(scope, &tree, &nodes));
///     assert_eq!(nodes.into_inner(), 4);
/// });
/// ```
#[track_caller]
pub fn scope<'env, R: Send, F>(f: F) -> R
where
    F: for<'scope> FnOnce(Scope<'scope, 'env>) -> R + Send,
{
    let place = Location::caller();
    enter(place, || {
        if !crate::fiber::in_fiber() {
            return f(Scope { nursery: None });
        }
        whole_nursery_at(place, |nursery| f(Scope { nursery: Some(nursery) }))
    })
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a child, which gets the scope to spawn more. It may borrow what lives longer than the scope.
    ///
    /// ```
    /// let mut numbers = [1, 2, 3];
    /// sisal::par::scope(|scope| {
    ///     for number in &mut numbers {
    ///         scope.spawn(|_| *number += 1);
    ///     }
    /// });
    /// assert_eq!(numbers, [2, 3, 4]);
    /// ```
    ///
    /// A child can't borrow what the closure of the scope owns, since that ends before it:
    ///
    /// ```compile_fail,E0373
    /// sisal::par::scope(|scope| {
    ///     let number = 7;
    ///     scope.spawn(|_| assert_eq!(number, 7));
    /// });
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, f: F)
    where
        F: FnOnce(Scope<'scope, 'env>) + Send + 'scope,
    {
        match self.nursery {
            Some(nursery) => drop(nursery.spawn(move || f(self))),
            None => f(self),
        }
    }
}
