//! The kinds of work, and how each is clocked.
//!
//! A contestant brings only what is its own: how it spawns, yields, parks, sleeps, sends and locks. What
//! is counted and when the clock starts and stops is here, once, so that it cannot differ between
//! contestants. The Go program does the same by the same names.

mod burst;
mod channels;
mod clock;
mod files;
mod forks;
mod gate;
mod gz;
mod idle;
mod locks;
mod mixed;
mod parked;
mod served;
mod skynet;
mod sleepers;
mod slices;
mod spin;
mod starve;
mod turns;
mod wake;

pub use burst::{Burst, IdleBurst, Trickle};
pub use channels::{ARMS, Fan, Flow, RoundTrips};
pub use clock::{Repeated, clocked, clocked_async};
pub use files::{FileReads, Files};
pub use forks::{Fib, Node, Tree};
pub use gate::Gate;
pub use gz::Gz;
pub use idle::Idle;
pub use locks::Locks;
pub use mixed::{Mixed, Tasks};
pub use parked::Parked;
pub use served::{BUFFER, Echo, HELLO, Http, PARTS, answer, part, piece_done};
pub use skynet::{CHILDREN, Skynet};
pub use sleepers::{Roster, Sleepers};
pub use slices::{Sort, Sum};
pub use starve::{Starve, TICK, Ticks};
pub use turns::{Batches, Yields};
pub use wake::{Submissions, Ticket};

use std::time::Duration;

/// Tasks of a warm-up that is too small to leave a trace in the figures: enough to start every worker.
const WARM_UP_TASKS: usize = 100;
/// How long tasks that have announced their park get to reach it.
const SETTLE: Duration = Duration::from_millis(200);

/// A kind of work with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Spawn and join empty tasks.
    Spawn(Batches),
    /// Tasks that yield to one another.
    Yields(Yields),
    /// Memory of parked tasks.
    ParkedMemory(Parked),
    /// Time to create parked tasks.
    ParkedCreate(Parked),
    /// Tasks that each sleep once.
    Sleepers(Sleepers),
    /// One task at a time handed to an idle runtime.
    WakeIdle(Submissions),
    /// Parked tasks and nothing to do.
    IdleCpu(Idle),
    /// Two tasks that take turns over rendezvous channels.
    PingPong(RoundTrips),
    /// The same, each of them on a thread of its own.
    PingPongCross(RoundTrips),
    /// Tasks that send and receive on one channel.
    Channel(Flow),
    /// One task that receives from many channels.
    Select(Fan),
    /// One task that receives from one channel by a select of one arm.
    SelectOne(Flow),
    /// Tasks that want one lock.
    Mutex(Locks),
    /// A tree of tasks.
    Skynet(Skynet),
    /// Empty tasks in groups that end together.
    Nursery(Batches),
    /// An echo server, loaded by another process.
    Echo(Echo),
    /// The same, with CPU-bound jobs in its runtime.
    EchoUnderCpu(Echo),
    /// A server of a short text by HTTP.
    Http(Http),
    /// The same by hyper, on each contestant that it runs on.
    HttpHyper(Http),
    /// Tasks that each read a file of their own.
    FileReads(FileReads),
    /// A text compressed or expanded.
    Gz(Gz),
    /// A tree summed with a fork at every node.
    Tree(Tree),
    /// A recursion with a fork at every call.
    Fib(Fib),
    /// Numbers summed.
    Sum(Sum),
    /// Numbers sorted.
    Sort(Sort),
    /// A tick beside tasks that compute for long.
    Starve(Starve),
    /// Tasks of mixed cost.
    Mixed(Mixed),
    /// Nothing to do after a burst of work.
    IdleBurst(IdleBurst),
    /// A task now and then.
    Trickle(Trickle),
}

impl Work {
    /// Whether it is a matter of channels, which there are libraries for that are no runtimes.
    pub fn is_of_channels(&self) -> bool {
        matches!(self, Self::PingPong(_) | Self::PingPongCross(_) | Self::Channel(_) | Self::Select(_))
    }

    /// Whether the contestant is a server, which another process loads and measures.
    pub fn is_served(&self) -> bool {
        matches!(self, Self::Echo(_) | Self::EchoUnderCpu(_) | Self::Http(_) | Self::HttpHyper(_))
    }

    /// Whether it can be done by one thread, one thing after the other, for comparison.
    pub fn is_serial(&self) -> bool {
        matches!(self, Self::Tree(_) | Self::Fib(_) | Self::Sum(_) | Self::Sort(_))
    }

    /// Whether it is nothing but forks.
    pub fn is_of_forks(&self) -> bool {
        matches!(self, Self::Tree(_) | Self::Fib(_))
    }

    /// The work in words a program can read: its kind, then `key=value` for every size.
    pub fn arguments(&self) -> Vec<String> {
        let (kind, sizes, workers): (&str, Vec<(&str, usize)>, usize) = match *self {
            Self::Spawn(w) => ("spawn", vec![("tasks", w.tasks), ("batch", w.batch)], w.workers),
            Self::Yields(w) => ("yields", vec![("fibers", w.fibers), ("yields", w.yields)], w.workers),
            Self::ParkedMemory(w) => ("parked-memory", vec![("tasks", w.tasks)], w.workers),
            Self::ParkedCreate(w) => ("parked-create", vec![("tasks", w.tasks)], w.workers),
            Self::Sleepers(w) => ("sleepers", vec![("tasks", w.tasks)], w.workers),
            Self::WakeIdle(w) => ("wake-idle", vec![("count", w.count)], w.workers),
            Self::IdleCpu(w) => ("idle-cpu", vec![("parked", w.parked), millis(w.span)], w.workers),
            Self::PingPong(w) => ("ping-pong", vec![("trips", w.trips)], w.workers),
            Self::PingPongCross(w) => ("ping-pong-cross", vec![("trips", w.trips)], w.workers),
            Self::Channel(w) => ("channel", w.sizes(), w.workers),
            Self::Select(w) => ("select", vec![("each", w.each), ("capacity", w.capacity)], w.workers),
            Self::SelectOne(w) => ("select-one", w.sizes(), w.workers),
            Self::Mutex(w) => ("mutex", vec![("fibers", w.fibers), ("locks", w.locks)], w.workers),
            Self::Skynet(w) => ("skynet", vec![("leaves", w.leaves)], w.workers),
            Self::Nursery(w) => ("nursery", vec![("tasks", w.tasks), ("batch", w.batch)], w.workers),
            Self::Echo(w) => ("echo", w.sizes(), w.workers),
            Self::EchoUnderCpu(w) => ("echo-under-cpu", w.sizes(), w.workers),
            Self::Http(w) => ("http", vec![("connections", w.connections), millis(w.span)], w.workers),
            Self::HttpHyper(w) => ("http-hyper", vec![("connections", w.connections), millis(w.span)], w.workers),
            Self::FileReads(w) => {
                ("file-reads", vec![("files", w.files), ("bytes", w.bytes), ("repeats", w.repeats)], w.workers)
            }
            Self::Gz(w) => (if w.expands { "gz-expand" } else { "gz-compress" }, vec![("bytes", w.bytes)], w.workers),
            Self::Tree(w) => ("tree", vec![("depth", w.depth), ("repeats", w.repeats)], w.workers),
            Self::Fib(w) => ("fib", vec![("n", w.n)], w.workers),
            Self::Sum(w) => ("sum", vec![("items", w.items), ("repeats", w.repeats)], w.workers),
            Self::Sort(w) => ("sort", vec![("items", w.items)], w.workers),
            Self::Starve(w) => ("starve", w.sizes(), w.workers),
            Self::Mixed(w) => ("mixed", vec![("tasks", w.tasks), ("repeats", w.repeats)], w.workers),
            Self::IdleBurst(w) => ("idle-burst", vec![("tasks", w.tasks), millis(w.span)], w.workers),
            Self::Trickle(w) => ("trickle", vec![millis(w.span)], w.workers),
        };
        let pairs = sizes.into_iter().chain([("workers", workers)]);
        std::iter::once(kind.to_owned()).chain(pairs.map(|(key, value)| format!("{key}={value}"))).collect()
    }
}

/// A length of time as a size.
fn millis(span: Duration) -> (&'static str, usize) {
    ("millis", span.as_millis() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_told_by_kind_and_sizes() {
        let work = Work::Spawn(Batches { tasks: 30, batch: 10, workers: 2 });
        assert_eq!(work.arguments(), ["spawn", "tasks=30", "batch=10", "workers=2"]);
        let work = Work::IdleCpu(Idle { parked: 5, span: Duration::from_secs(3), workers: 2 });
        assert_eq!(work.arguments(), ["idle-cpu", "parked=5", "millis=3000", "workers=2"]);
    }
}
