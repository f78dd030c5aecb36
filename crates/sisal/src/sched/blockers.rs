//! What is said of a fiber that blocks its worker.
//!
//! It goes to `tracing`, with the feature of that name and if somebody listens there, and else to standard error, if the runtime was asked to
//! say so. The stack of the fiber is there if a layer above knows how to look at one: it [installs](install_stack_hook) a function for that.
//!
//! The monitor looks at the stack, and a thread of its own finds the names and says it all: that may take seconds, for which the monitor must not
//! look away.

use super::remote::Remote;
use super::shared::Shared;
use super::threads;
use super::warning;
use crate::fiber::info::Fiber;
use crate::prim::id::FiberId;
use crate::prim::say::say;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// Looks at the stack of a fiber that has this turn of a worker, if it can be had and the turn has not ended. Called by the monitor's thread.
pub(crate) type StackHook = fn(&Remote, FiberId, u64) -> Option<Unnamed>;

/// A stack that was looked at. Tells its frames, one a line.
pub(crate) type Unnamed = Box<dyn FnOnce() -> String + Send>;

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
    fn say(self) {
        if warning::is_heard() {
            // A subscriber that panics is not to end the thread.
            let _ = catch_unwind(AssertUnwindSafe(|| warning::blocked(&self)));
        } else {
            say(format_args!("sisal: {self}\n"));
        }
    }
}

/// A blocker that is to be named, and its stack.
struct Report(Blocker, Option<Unnamed>);

impl Report {
    fn say(self) {
        let Report(mut blocker, stack) = self;
        blocker.stack = stack.map(|stack| stack());
        blocker.say();
    }
}

/// The way to the thread that says it. That is started for the first report, and ends with the monitor.
#[derive(Default)]
pub(super) struct Reports(Option<Sender<Report>>);

impl Reports {
    /// Has it said of one that blocks its worker at this moment, if anybody is to hear it.
    pub(super) fn add(&mut self, shared: &Shared, blocker: Blocker) {
        if !warning::is_heard() && !shared.config.naming.aloud {
            return;
        }
        let remote = &shared.remotes[blocker.worker];
        let stack = STACK_HOOK.get().and_then(|hook| hook(remote, blocker.fiber.id(), blocker.turn));
        let report = Report(blocker, stack);
        if self.0.is_none() {
            let (sender, receiver) = mpsc::channel::<Report>();
            let said = threads::start_reporter(shared, move || receiver.into_iter().for_each(Report::say));
            self.0 = said.ok().map(|()| sender);
        }
        // Without a thread it takes the monitor's time.
        match &self.0 {
            Some(sender) => sender.send(report).unwrap_or_else(|unsaid| unsaid.0.say()),
            None => report.say(),
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
