//! Waiting in the models: as a plain thread, by the same code. There are no fibers, so there is nobody to give way to.

use super::{Waiting, thread};
use crate::fiber::waiter::{ClaimToken, Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::object::{Object, Owner};
use crate::prim::per_thread;
use crate::prim::reason::{Place, Reason};
use crate::prim::thread_number::{self, ThreadNumber};
use std::cell::Cell;

per_thread! {
    // How many waits of the thread were ended by what they were for.
    static WAITS: Cell<usize> = const { Cell::new(0) };
}

/// The calling thread.
pub(crate) fn me() -> Who {
    Who::Thread(thread::parker())
}

/// The calling thread, as an owner of things.
pub(crate) fn myself() -> Owner {
    Owner::Thread(thread_number::current())
}

pub(crate) fn park(wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    let woken = match wait.who() {
        Who::Thread(parker) => thread::park(wait, parker, waiting),
        Who::Task(_) => unreachable!("INVARIANT: a task does not park, it is polled"),
    };
    if let Woken::Object(_) = woken {
        let _ = WAITS.try_with(|waits| waits.set(waits.get() + 1));
    }
    woken
}

/// Calls `f`, and tells whether the calling thread had to wait in it, and was woken by what it waited for. So models that are about waiting
/// can require that somebody does.
#[cfg(all(test, loom))]
pub(crate) fn and_whether_it_waited<R>(f: impl FnOnce() -> R) -> (R, bool) {
    let waits = || WAITS.with(Cell::get);
    let before = waits();
    let result = f();
    (result, waits() > before)
}

pub(crate) fn unpark(token: ClaimToken<Who>) {
    match token.0 {
        Who::Thread(parker) => parker.unpark(),
        Who::Task(parker) => parker.unpark(),
    }
}

pub(crate) fn poke(who: &Who) {
    match who {
        Who::Thread(parker) => parker.poke(),
        Who::Task(_) => unreachable!("INVARIANT: a task enters no scope"),
    }
}

/// There is none.
#[derive(Copy, Clone)]
pub(crate) enum Here<'w> {
    #[allow(dead_code, reason = "there is none")]
    Nowhere(std::convert::Infallible, std::marker::PhantomData<&'w ()>),
}

impl Here<'_> {
    pub(crate) fn who(self) -> Who {
        match self {}
    }

    pub(crate) fn thread(self) -> ThreadNumber {
        match self {}
    }

    pub(crate) fn unpark(self, _token: ClaimToken<Who>) {
        match self {}
    }

    pub(crate) fn pay_fuel(self, _place: Place) {
        match self {}
    }

    pub(crate) fn spend_fuel(self) -> bool {
        match self {}
    }

    pub(crate) fn may_stand(self) -> bool {
        match self {}
    }

    pub(crate) fn stand(self, _is_over: impl Fn() -> bool) {
        match self {}
    }

    pub(crate) fn unpark_near(self, _token: ClaimToken<Who>) {
        match self {}
    }

    pub(crate) fn park(self, _wait: &Wait<Who>, _reason: Reason, _object: Object, _place: Place) {
        match self {}
    }

    pub(crate) fn park_apart(self, _wait: &Wait<Who>, _reason: Reason, _object: Object, _place: Place) {
        match self {}
    }
}

pub(crate) fn with_here<R>(f: impl FnOnce(Option<Here>) -> R) -> R {
    f(None)
}

pub(crate) fn pay_fuel(_place: Place) {}

pub(crate) fn spend_fuel() -> bool {
    false
}

pub(crate) fn give_way_now(_place: Place) {}

pub(crate) fn burn_fuel(_cost: u32) -> bool {
    false
}
