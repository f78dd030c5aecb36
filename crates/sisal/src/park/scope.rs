//! Entering and leaving the scopes that end waits from outside: see [`ambient`](crate::fiber::ambient).
#![allow(unsafe_code, reason = "scopes lie in the frames of whoever is inside them")]

pub(crate) use super::innermost::check;

use super::innermost::{Armed, current, heed_request, set_current, timer_of};
#[cfg(not(modelled))]
use super::thread;
use super::{me, poke};
use crate::fiber::ambient::Scope;
use crate::fiber::cancel_node::CancelNode;
#[cfg(not(modelled))]
use crate::fiber::who::Who;
use crate::prim::clock::Moment;
use std::ptr::NonNull;

/// How a scope begins.
#[derive(Copy, Clone)]
pub(crate) enum Entry<'a> {
    /// Below the caller's own scopes, and ended by this node as well, if there is one.
    Below(Option<&'a CancelNode>),
    /// As the first of a new fiber, below this node. It is not followed before the fiber waits.
    Child(&'a CancelNode),
}

/// Calls `f` in a scope of its own, which ends at `expiry`; `f` gets the scope's node.
pub(crate) fn within<R>(entry: Entry<'_>, expiry: Moment, f: impl FnOnce(&CancelNode) -> R) -> R {
    let scope = new_scope(entry, expiry);
    let _inside = Inside::enter(&scope);
    let node = scope.node.as_ref().unwrap_or_else(|| unreachable!("INVARIANT: made with a node"));
    if let Entry::Below(_) = entry {
        // SAFETY: the scope stays in this frame until `_inside` has left it.
        unsafe { scope.follow(&poke) };
        heed_request();
    }
    let timer = timer_of(&scope);
    let _armed = Armed::new(&timer, &scope, expiry);
    f(node)
}

/// A scope that is not entered yet. Once for all that is called in one.
fn new_scope(entry: Entry<'_>, expiry: Moment) -> Scope {
    let who = me();
    let outer = current(&who);
    let parents = match entry {
        Entry::Child(nursery) => [Some(NonNull::from(nursery)), None],
        Entry::Below(token) => {
            // SAFETY: the scope around us is not left before we are.
            let around = outer.and_then(|outer| unsafe { outer.as_ref() }.node.as_ref());
            [around.map(NonNull::from), token.map(NonNull::from)]
        }
    };
    if let Some(outer) = outer {
        // SAFETY: as above. What it follows has to reach us.
        unsafe { outer.as_ref().follow(&poke) };
    }
    Scope::new(who, outer, parents, expiry)
}

/// Calls `f` in a fiber that takes over the calling thread, which runs none so far, when that is called: inside of what the thread is inside now.
#[cfg(not(modelled))]
pub(crate) fn as_on_this_thread<R>(f: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let (around, expiry) = (thread::scope(), thread::expiry_within_shields());
    // SAFETY: the scope is not left before the thread is given back.
    move || match around.map(|around| unsafe { &*around.as_ptr() }) {
        None => f(),
        Some(Scope { node: Some(node), .. }) => within(Entry::Child(node), expiry, |_| f()),
        Some(_) => shielded(f),
    }
}

/// Calls `f`, which has another fiber do something and waits for that, whatever happens. It gets what brings that fiber [inside](inside_of) of
/// what the caller is inside; none if that is nothing.
#[cfg(not(modelled))]
pub(crate) fn lend<R>(f: impl FnOnce(Option<&CancelNode>) -> R) -> R {
    match me() {
        // The end of a fiber can be asked for, whatever it is inside.
        Who::Thread(_) if thread::scope().is_none() => f(None),
        _ => within(Entry::Below(None), Moment::NEVER, |node| f(Some(node))),
    }
}

/// Calls `f` inside of what was [lent](lend) to the calling fiber.
#[cfg(not(modelled))]
pub(crate) fn inside_of<R>(lent: Option<&CancelNode>, f: impl FnOnce() -> R) -> R {
    match lent {
        // A timer of its own: a thread that waits for it looks at none.
        Some(node) => within(Entry::Child(node), node.limit(), |_| f()),
        None => f(),
    }
}

/// Calls `f` in a scope that nothing from outside ends.
pub(crate) fn shielded<R>(f: impl FnOnce() -> R) -> R {
    let scope = Scope::shield(current(&me()));
    let _inside = Inside::enter(&scope);
    f()
}

/// Takes its scope off when it goes.
struct Inside<'a>(&'a Scope);

impl<'a> Inside<'a> {
    fn enter(scope: &'a Scope) -> Inside<'a> {
        set_current(Some(NonNull::from(scope)));
        Inside(scope)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        set_current(self.0.outer);
        self.0.leave();
    }
}
