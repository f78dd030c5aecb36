//! What is said of a fiber that blocks its worker.
//!
//! It goes to `tracing`, with the feature of that name and if somebody listens there, and else to standard error, if the runtime was asked to
//! say so. The stack of the fiber is there if a layer above knows how to look at one: it [installs](install_stack_hook) a function for that.

use super::remote::Remote;
use super::shared::Shared;
use super::warning;
use crate::fiber::info::Fiber;
use crate::prim::id::FiberId;
use crate::prim::say::say;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

/// Tells the stack of a fiber that has this turn of a worker, one line a frame, if it can be had and the turn has not ended. Called by the
/// monitor's thread.
pub(crate) type StackHook = fn(&Remote, FiberId, u64) -> Option<String>;

static STACK_HOOK: OnceLock<StackHook> = OnceLock::new();

/// Reports have stacks from now on. The first hook stays.
#[cfg_attr(not(feature = "stack-traces"), allow(dead_code, reason = "only stack traces have a hook"))]
pub(crate) fn install_stack_hook(hook: StackHook) {
    let _ = STACK_HOOK.set(hook);
}

/// When a fiber that blocks its worker is named, and where.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Naming {
    /// After it has held its worker for so long; never if that is nothing.
    pub(crate) after: Duration,
    /// Whether that was asked for: then it is looked out for whoever is delayed or not.
    pub(crate) asked_for: bool,
    /// Whether it is said on standard error, if nobody listens elsewhere.
    pub(crate) aloud: bool,
}

impl Naming {
    /// Whether workers are watched even if nobody waits for them.
    pub(crate) fn watches_all(&self) -> bool {
        self.asked_for && !self.after.is_zero()
    }

    /// Whether a fiber that has held its worker for so long is to be named.
    pub(super) fn is_due(&self, held: Duration) -> bool {
        !self.after.is_zero() && held >= self.after
    }
}

/// A fiber that blocks its worker.
pub(super) struct Blocker {
    pub(super) fiber: Fiber,
    pub(super) worker: usize,
    /// The turn that it does not end.
    turn: u64,
    pub(super) held: Duration,
    pub(super) stack: Option<String>,
}

impl Blocker {
    /// What runs on `worker` in this turn, which has lasted for so long, if it has not ended.
    pub(super) fn on(shared: &Shared, worker: usize, turn: u64, held: Duration) -> Option<Blocker> {
        let fiber = shared.remotes[worker].running_in(turn)?;
        Some(Blocker { fiber, worker, turn, held, stack: None })
    }

    /// Says so, where it is heard.
    pub(super) fn report(mut self, shared: &Shared) {
        if !warning::is_heard() && !shared.config.naming.aloud {
            return;
        }
        self.stack = STACK_HOOK.get().and_then(|hook| hook(&shared.remotes[self.worker], self.fiber.id(), self.turn));
        if warning::is_heard() {
            // A subscriber that panics is not to end the monitor.
            let _ = catch_unwind(AssertUnwindSafe(|| warning::blocked(&self)));
        } else {
            say(format_args!("sisal: {self}\n"));
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Blocker { fiber, worker, held, stack, .. } = self;
        write!(f, "{fiber}, has held worker {worker} for {} ms without yielding", held.as_millis())?;
        let frames = stack.iter().flat_map(|stack| stack.lines());
        frames.into_iter().try_for_each(|frame| write!(f, "\n    {frame}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn a_report_names_the_fiber_and_has_its_stack_below() {
        let place = Location::caller();
        let fiber = Fiber::unnamed(FiberId(7), place);
        let mut blocker = Blocker { fiber, worker: 3, turn: 1, held: Duration::from_millis(25), stack: None };
        let first = format!("fiber #7, spawned at {place}, has held worker 3 for 25 ms without yielding");
        assert_eq!(blocker.to_string(), first);
        blocker.stack = Some("app::spin\napp::main\n".to_owned());
        assert_eq!(blocker.to_string(), format!("{first}\n    app::spin\n    app::main"));
    }

    #[test]
    fn nothing_is_for_never() {
        let naming = |after| Naming { after, asked_for: true, aloud: true };
        assert!(!naming(Duration::ZERO).is_due(Duration::MAX) && !naming(Duration::ZERO).watches_all());
        let soon = naming(Duration::from_millis(20));
        assert!(soon.watches_all() && soon.is_due(soon.after) && !soon.is_due(Duration::from_millis(19)));
    }
}
