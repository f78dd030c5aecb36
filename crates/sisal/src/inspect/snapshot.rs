//! What was seen of a runtime at one time: plain values, for programs that look.

use super::frame::Frame;
use crate::fiber::FiberId;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What was seen of a runtime: its workers, its fibers, what they wait for.
///
/// It is taken while everything goes on. Each fiber is seen as it was at one moment, but not all at the same: a fiber that ended or
/// came meanwhile may be missing, and one that was there throughout is not, once it has started.
///
/// It is [displayed](fmt::Display) as text for people, with fibers that wait alike put together, and [written as JSON](Self::to_json)
/// for machines.
///
/// ```
/// sisal::run(|| {
///     let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
///     let waiter = sisal::Builder::new().name("waiter").spawn(move || receiver.recv());
///     sisal::sleep(std::time::Duration::from_millis(1)).unwrap();
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     let seen = snapshot.fibers.iter().find(|fiber| fiber.name.as_deref() == Some("waiter")).unwrap();
///     assert_eq!(seen.state, sisal::inspect::FiberState::Parked);
///     assert_eq!(seen.wait.as_ref().unwrap().reason, "receiving from a channel");
///     println!("{snapshot}");
///     waiter.cancel();
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The name of the runtime.
    pub runtime: String,
    /// For how long it has been there.
    pub uptime: Duration,
    /// How long it took to look.
    pub taken: Duration,
    /// Its workers, those that were added included.
    pub workers: Vec<WorkerInfo>,
    /// How many fresh fibers wait in the queue that all workers take from.
    pub injected: usize,
    /// How many fibers there were, and are.
    pub counts: FiberCounts,
    /// All fibers that have started and have not ended.
    pub fibers: Vec<FiberInfo>,
    /// Those that have not started, by where they were spawned. Of thousands in one queue only the first are looked at, and those that have to
    /// start on one worker are not among these before they do.
    pub fresh: Vec<FreshInfo>,
    /// Plain threads that wait in a call of sisal. (Of the whole process: threads belong to no runtime.)
    pub threads: Vec<ThreadInfo>,
    /// What fibers and threads wait for, by their numbers.
    pub objects: Vec<ObjectInfo>,
    /// Fibers that wait for one another: each for the next, and the last for the first. What they wait for are locks, ends of fibers and
    /// nurseries, so nothing will ever end it.
    pub cycles: Vec<Vec<FiberId>>,
}

/// A worker, as it was seen.
///
/// ```
/// sisal::run(|| {
///     let me = sisal::fiber::current().unwrap().id();
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     let mine: &sisal::inspect::WorkerInfo = snapshot.workers.iter().find(|worker| worker.running == Some(me)).unwrap();
///     assert_eq!((mine.index, mine.added), (0, false));
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// Its number.
    pub index: usize,
    /// What it does.
    pub state: WorkerState,
    /// Whether it was added to help out.
    pub added: bool,
    /// The fiber that it runs.
    pub running: Option<FiberId>,
    /// How many fibers live on it: they have waited there, and go on there.
    pub homed: usize,
    /// How many fresh fibers wait in its own queues.
    pub queued: usize,
    /// How many of those that live on it wait for their turn, about.
    pub ready: usize,
}

/// What a worker does.
///
/// ```
/// use sisal::inspect::WorkerState;
/// sisal::run(|| {
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     // That is ours, which looks.
///     assert_ne!(snapshot.workers[0].state, WorkerState::Sleeping);
///     assert_eq!(WorkerState::Sleeping.to_string(), "sleeping");
/// });
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerState {
    /// It runs a fiber.
    Running,
    /// It looks for work.
    Searching,
    /// It sleeps until there is something to do.
    Sleeping,
    /// It runs a fiber that has said that it blocks: see [`block_in_place`](crate::block_in_place).
    Blocked,
    /// It has run one fiber for long, without a call into the runtime.
    Stuck,
}

/// How many fibers there were, and are.
///
/// ```
/// sisal::run(|| {
///     sisal::spawn(|| ()).join().unwrap();
///     let counts: sisal::inspect::FiberCounts = sisal::inspect::snapshot().unwrap().counts;
///     assert_eq!((counts.spawned, counts.finished, counts.parked), (1, 1, 0));
/// });
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiberCounts {
    /// Spawned so far. The main fiber is not counted.
    pub spawned: u64,
    /// Ended so far.
    pub finished: u64,
    /// Running now.
    pub running: usize,
    /// Waiting for their turn.
    pub ready: usize,
    /// Waiting for something else.
    pub parked: usize,
    /// Not started, those not counted that have to start on one worker.
    pub fresh: usize,
}

/// A fiber, as it was seen.
///
/// ```
/// sisal::run(|| {
///     let me = sisal::fiber::current().unwrap().id();
///     let waiter = sisal::spawn_local(|| sisal::sleep(std::time::Duration::from_secs(3600)));
///     sisal::yield_now();
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     let seen: &sisal::inspect::FiberInfo = snapshot.fiber(waiter.id()).unwrap();
///     assert_eq!((seen.spawned_by, seen.worker), (Some(me), 0));
///     assert!(seen.stack_used <= seen.stack_size);
///     waiter.cancel();
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FiberInfo {
    /// Its number.
    pub id: FiberId,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// What it does.
    pub state: FiberState,
    /// The worker it lives on.
    pub worker: usize,
    /// What it waits for, unless it runs.
    pub wait: Option<WaitInfo>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// The fiber that has spawned it; none if it was a thread.
    pub spawned_by: Option<FiberId>,
    /// How many bytes its stack may have. None for the main fiber of [`run`](crate::run), which has its thread's.
    pub stack_size: Option<usize>,
    /// How much of it has been used so far, in whole pages. None for a fiber that runs: it may be on its worker's stack still, and has one of
    /// its own when it has waited.
    pub stack_used: Option<usize>,
    /// The nursery it is a child of, by the number of the [object](ObjectInfo).
    pub nursery: Option<usize>,
    /// The calls it is in, innermost first, without those inside the runtime. With the feature `stack-traces` only; and none for a fiber that
    /// runs if its thread could not be stopped for a moment.
    pub trace: Option<Arc<[Frame]>>,
}

/// What a fiber does.
///
/// ```
/// use sisal::inspect::FiberState;
/// sisal::run(|| {
///     let me = sisal::fiber::current().unwrap().id();
///     assert_eq!(sisal::inspect::snapshot().unwrap().fiber(me).unwrap().state, FiberState::Running);
///     assert_eq!(FiberState::Parked.to_string(), "parked");
/// });
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FiberState {
    /// It runs.
    Running,
    /// It waits for its turn.
    Ready,
    /// It waits for something else.
    Parked,
}

impl fmt::Display for FiberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FiberState::Running => "running",
            FiberState::Ready => "ready",
            FiberState::Parked => "parked",
        })
    }
}

impl fmt::Display for WorkerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            WorkerState::Running => "running",
            WorkerState::Searching => "searching",
            WorkerState::Sleeping => "sleeping",
            WorkerState::Blocked => "blocked",
            WorkerState::Stuck => "stuck",
        })
    }
}

/// What a fiber or thread waits for.
///
/// ```
/// sisal::run(|| {
///     let waiter = sisal::spawn_local(|| sisal::sleep(std::time::Duration::from_secs(3600)));
///     sisal::yield_now();
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     let wait: &sisal::inspect::WaitInfo = snapshot.fiber(waiter.id()).unwrap().wait.as_ref().unwrap();
///     assert_eq!((&*wait.reason, wait.object), ("asleep", None));
///     waiter.cancel();
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WaitInfo {
    /// Why it waits, in words.
    pub reason: String,
    /// Where in the code.
    pub place: &'static Location<'static>,
    /// For how long, by the clock as its worker had last read it when the wait began.
    pub since: Duration,
    /// The number of the [object](ObjectInfo), if there is one.
    pub object: Option<usize>,
}

/// Fibers that have not started, of one place.
///
/// ```
/// let runtime = sisal::Runtime::builder().workers(1).max_workers(1).build()?;
/// runtime.run(|| {
///     let handles: Vec<_> = (0..3).map(|_| sisal::spawn(|| ())).collect();
///     // They have their turns when this fiber gives way.
///     for fresh in &sisal::inspect::snapshot().unwrap().fresh {
///         let fresh: &sisal::inspect::FreshInfo = fresh;
///         println!("{} spawned at {}", fresh.count, fresh.spawned_at);
///     }
///     handles.into_iter().for_each(|handle| handle.join().unwrap());
/// });
/// # Ok::<(), sisal::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FreshInfo {
    /// Where they were spawned.
    pub spawned_at: &'static Location<'static>,
    /// How many were seen.
    pub count: usize,
}

/// A plain thread that waits in a call of sisal.
///
/// ```
/// sisal::run(|| {
///     let (sender, receiver) = sisal::chan::bounded(1);
///     let thread = std::thread::Builder::new().name("plain".into()).spawn(move || receiver.recv()).unwrap();
///     let is_ours = |thread: &sisal::inspect::ThreadInfo| thread.name.as_deref() == Some("plain");
///     while !sisal::inspect::snapshot().unwrap().threads.iter().any(is_ours) {
///         sisal::yield_now();
///     }
///     sender.send(7).unwrap();
///     assert_eq!(thread.join().unwrap(), Ok(7));
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What it waits for.
    pub wait: WaitInfo,
}

/// Something that fibers or threads wait for. Fields that make no sense for it are none.
///
/// ```
/// sisal::run(|| {
///     let (_sender, receiver) = sisal::chan::bounded::<u32>(4);
///     let waiter = sisal::spawn_local(move || receiver.recv());
///     sisal::yield_now();
///     let snapshot = sisal::inspect::snapshot().unwrap();
///     let channel: &sisal::inspect::ObjectInfo = &snapshot.objects[0];
///     assert_eq!((channel.kind, channel.capacity, channel.length), ("channel", Some(4), Some(0)));
///     assert_eq!(channel.receivers, [waiter.id()]);
///     waiter.cancel();
/// });
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectInfo {
    /// What tells it from others, as long as it is there.
    pub id: usize,
    /// What it is: `channel`, `mutex`, `fiber`, ...
    pub kind: &'static str,
    /// For how many things there is room in it; none for one without a limit.
    pub capacity: Option<usize>,
    /// How many are in it.
    pub length: Option<usize>,
    /// Whether it is closed.
    pub closed: Option<bool>,
    /// The fiber that has it, and will give it back.
    pub owner: Option<FiberId>,
    /// Who has it instead, in words: a plain thread, or a fiber of another runtime.
    pub outsider: Option<&'static str>,
    /// The fiber that it is.
    pub fiber: Option<FiberId>,
    /// Fibers that wait to send.
    pub senders: Vec<FiberId>,
    /// Fibers that wait to receive.
    pub receivers: Vec<FiberId>,
    /// Fibers that wait for it in another way.
    pub waiting: Vec<FiberId>,
    /// How many plain threads wait for it.
    pub threads: usize,
}

impl Snapshot {
    /// The fiber with this number.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let me = sisal::fiber::current().unwrap().id();
    ///     let ended = sisal::spawn(|| ());
    ///     ended.wait().unwrap();
    ///     let snapshot = sisal::inspect::snapshot().unwrap();
    ///     assert!(snapshot.fiber(me).is_some() && snapshot.fiber(ended.id()).is_none());
    /// });
    /// ```
    pub fn fiber(&self, id: FiberId) -> Option<&FiberInfo> {
        self.fibers.iter().find(|fiber| fiber.id == id)
    }

    /// The object with this number.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let (_sender, receiver) = sisal::chan::bounded::<u32>(1);
    ///     let waiter = sisal::spawn_local(move || receiver.recv());
    ///     sisal::yield_now();
    ///     let snapshot = sisal::inspect::snapshot().unwrap();
    ///     let wait = snapshot.fiber(waiter.id()).unwrap().wait.as_ref().unwrap();
    ///     assert_eq!(snapshot.object(wait.object.unwrap()).unwrap().kind, "channel");
    ///     waiter.cancel();
    /// });
    /// ```
    pub fn object(&self, id: usize) -> Option<&ObjectInfo> {
        self.objects.binary_search_by_key(&id, |object| object.id).ok().map(|place| &self.objects[place])
    }
}

/// The fibers of a snapshot by their numbers, for whoever asks for many.
pub(super) struct ById<'a>(HashMap<FiberId, &'a FiberInfo>);

impl<'a> ById<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> ById<'a> {
        ById(snapshot.fibers.iter().map(|fiber| (fiber.id, fiber)).collect())
    }

    /// Those of a cycle.
    pub(super) fn each(&self, ids: &[FiberId]) -> impl Iterator<Item = &'a FiberInfo> {
        ids.iter().filter_map(|id| self.0.get(id).copied())
    }
}

impl FiberInfo {
    /// Its number and name.
    pub(super) fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{} '{name}'", self.id),
            None => self.id.to_string(),
        }
    }
}
