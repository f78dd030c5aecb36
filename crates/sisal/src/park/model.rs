//! Waiting in the models: as a plain thread, by the same code. There are no fibers, so there is nobody to give way to.

use super::{Waiting, thread};
use crate::fiber::waiter::{ClaimToken, Wait, Woken};
use crate::fiber::who::Who;
use crate::prim::parker::ThreadParker;
use crate::prim::reason::Place;
use std::sync::Arc;

/// The calling thread. A parker for each wait: the models' atomics can't outlive one run of the model.
pub(crate) fn me() -> Who {
    Who::Thread(Arc::new(ThreadParker::new()))
}

pub(crate) fn park(wait: &Wait<Who>, waiting: &Waiting) -> Woken {
    let Who::Thread(parker) = wait.who();
    thread::park(wait, parker, waiting)
}

pub(crate) fn unpark(token: ClaimToken<Who>) {
    let Who::Thread(parker) = token.0;
    parker.unpark();
}

pub(crate) fn poke(who: &Who) {
    let Who::Thread(parker) = who;
    parker.poke();
}

pub(crate) fn pay_fuel(_place: Place) {}
