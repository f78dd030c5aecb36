//! The stacks of the fibers of a snapshot.
#![allow(unsafe_code, reason = "stacks are read while their fibers are held")]

use super::frame::Frame;
use super::snapshot::FiberInfo;
use super::stack::{Addresses, Symbols, Tracer};
use super::survey::Depth;
use crate::prim::id::FiberId;
use crate::prim::own_threads;
use crate::sched::blockers::{Unnamed, install_stack_hook};
use crate::sched::presence::Sighted;
use crate::sched::remote::Remote;
use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::Duration;

/// How long to wait for a thread that is to be stopped.
const PATIENCE: Duration = Duration::from_millis(5);

/// Collects return addresses while fibers are held, and makes frames of them afterwards.
pub(super) struct Traces(Option<Collected>);

struct Collected {
    tracer: Tracer,
    /// The only fiber whose stack is wanted, if there is one.
    only: Option<u64>,
    /// Each stack once, with its number: most fibers stand where others do.
    stacks: HashMap<Addresses, usize>,
    /// The stack of each fiber.
    found: HashMap<FiberId, usize>,
}

impl Collected {
    fn wants(&self, fiber: FiberId) -> bool {
        self.only.is_none_or(|only| fiber.get() == only)
    }

    fn add(&mut self, fiber: FiberId, stack: Addresses) {
        let next = self.stacks.len();
        let number = *self.stacks.entry(stack).or_insert(next);
        self.found.insert(fiber, number);
    }
}

impl Traces {
    /// Those that are wanted are collected.
    pub(super) fn new(depth: Depth) -> Traces {
        let only = match depth {
            Depth::Waits | Depth::Fibers => return Traces(None),
            Depth::StackOf(id) => Some(id),
            Depth::Stacks => None,
        };
        Traces(Some(Collected { tracer: Tracer::new(), only, stacks: HashMap::new(), found: HashMap::new() }))
    }

    /// Makes room for those of some more fibers.
    pub(super) fn reserve(&mut self, fibers: usize) {
        if let Some(collected) = self.0.as_mut().filter(|collected| collected.only.is_none()) {
            collected.found.reserve(fibers);
        }
    }

    /// Looks at a fiber that is held, unless it runs.
    pub(super) fn add(&mut self, sighted: &Sighted<'_>) {
        let fiber = sighted.fiber;
        let wanted = |collected: &&mut Collected| !sighted.runs && collected.wants(fiber.id);
        let Some(collected) = self.0.as_mut().filter(wanted) else { return };
        // SAFETY: it was left there, and its worker can't resume it before it has been seen.
        let addresses = unsafe { collected.tracer.suspended(fiber.context.get(), fiber.stack.get()) };
        collected.add(fiber.id, addresses);
    }

    /// Looks at the fiber that runs on a worker, if it still is the one that was seen there. No worker is held meanwhile.
    pub(super) fn add_running(&mut self, worker: &Remote, running: Option<FiberId>) {
        let (Some(collected), Some(running)) = (&mut self.0, running) else { return };
        if collected.wants(running)
            && let Some(sample) = collected.tracer.running(worker, PATIENCE)
            && sample.fiber == Some(running)
        {
            collected.add(running, sample.addresses);
        }
    }

    /// Fills in the traces. Slow the first time for each address.
    pub(super) fn resolve(self, fibers: &mut [FiberInfo]) {
        let Some(collected) = self.0 else { return };
        let mut traces: Vec<Option<Arc<[Frame]>>> = vec![None; collected.stacks.len()];
        Symbols::with(|symbols| {
            for (addresses, number) in &collected.stacks {
                let mut frames = symbols.resolve(addresses);
                if addresses.is_cut() {
                    frames.push(Frame {
                        function: "... and further calls".to_owned(),
                        file: None,
                        line: None,
                        address: 0,
                    });
                }
                traces[*number] = Some(frames.into());
            }
        });
        for fiber in fibers {
            fiber.trace = collected.found.get(&fiber.id).and_then(|number| traces[*number].clone());
        }
    }
}

/// Lets what is said of a fiber that blocks its worker have its stack.
pub(super) fn install_hook(is_wanted: bool) {
    install_stack_hook(stack_in_turn);
    if is_wanted {
        learn_symbols();
    }
}

/// The first symbol takes a tenth of a second and more, since all of the program's are read then. Whoever is to be told of a fiber at once
/// should not have to wait for that: so it is done beforehand, once, on a thread that ends with it. (If there is no thread to be had, it is
/// done when it is needed.)
fn learn_symbols() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let _ = own_threads::spawn("sisal-symbols", || {
            let here = Tracer::new().here();
            Symbols::with(|symbols| symbols.resolve(&here));
        });
    });
}

/// The stack of a fiber that has this turn of a worker. Of nobody else, and not of what the fiber does in a later turn.
pub(super) fn stack_in_turn(worker: &Remote, fiber: FiberId, turn: u64) -> Option<Unnamed> {
    let sample = Tracer::new().running(worker, PATIENCE)?;
    if (sample.fiber, sample.turn) != (Some(fiber), turn) {
        return None;
    }
    Some(Box::new(move || {
        let frames = Symbols::with(|symbols| symbols.resolve(&sample.addresses));
        frames.iter().map(|frame| format!("{frame}\n")).collect()
    }))
}
