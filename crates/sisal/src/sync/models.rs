//! What the models of this module have in common. Models know threads only, and no time: who gives up in a model does so at once.

use crate::fiber::waiter::{Wait, Woken};
use crate::fiber::who::Who;
use crate::park::{self, Waiting};
use crate::prim::object::Object;
use crate::prim::reason::Reason;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::Location;
use std::sync::Mutex;

/// Checks a model with at most so many preemptions.
pub(super) fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// The outcomes that the runs of a model have had.
pub(super) struct Outcomes<T: 'static>(&'static Mutex<HashSet<T>>);

impl<T> Copy for Outcomes<T> {}

impl<T> Clone for Outcomes<T> {
    fn clone(&self) -> Outcomes<T> {
        *self
    }
}

impl<T: Eq + Hash + Debug> Outcomes<T> {
    pub(super) fn new() -> Outcomes<T> {
        Outcomes(Box::leak(Box::default()))
    }

    pub(super) fn note(self, outcome: T) {
        self.0.lock().unwrap().insert(outcome);
    }

    /// Exactly these were reached.
    pub(super) fn assert(self, expected: impl IntoIterator<Item = T>) {
        assert_eq!(*self.0.lock().unwrap(), expected.into_iter().collect());
    }
}

/// Gives up, if nothing has ended the wait yet; else waits for the unpark. True if it gave up.
pub(super) fn give_up_or_park(wait: &Wait<Who>) -> bool {
    if wait.claim_own(Woken::Deadline) {
        return true;
    }
    let waiting = Waiting {
        reason: Reason::None,
        object: Object::NONE,
        place: Location::caller(),
        deadline: None,
        cancellable: false,
    };
    assert_eq!(park::park(wait, &waiting), Woken::Object(0));
    false
}
