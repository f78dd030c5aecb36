//! What is shown: the fibers of a runtime and what they wait for, in plain words, and where to ask for them.
//!
//! Nothing here knows the protocol, and nothing of the protocol knows the runtime.

use std::borrow::Cow;
use std::time::Duration;

/// Whoever can say what the fibers are doing.
///
/// Asked from the thread that serves, once in an interval while somebody watches, and never otherwise.
///
/// ```
/// use sisal_console::source::{Fiber, Look, Source, State};
/// use std::time::Instant;
///
/// struct Counter(Instant);
///
/// impl Source for Counter {
///     fn look(&mut self) -> Look {
///         let mut fiber = Fiber::new(1, State::Running, "src/main.rs:7:9");
///         fiber.name = Some("counter".into());
///         Look { uptime: self.0.elapsed(), fibers: vec![fiber], ..Look::default() }
///     }
/// }
///
/// let console = sisal_console::Builder::new(Counter(Instant::now())).address("127.0.0.1:0").serve().unwrap();
/// assert!(console.address().ip().is_loopback());
/// ```
pub trait Source: Send + 'static {
    /// What can be seen at this moment.
    fn look(&mut self) -> Look;
}

/// What one look at a runtime shows.
///
/// ```
/// assert!(sisal_console::source::Look::default().fibers.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// How old the runtime is: the clock by which looks are compared. Never less than in the look before.
    pub uptime: Duration,
    /// The fibers that have started and not ended.
    pub fibers: Vec<Fiber>,
    /// What fibers wait for. One that is waited for and not listed is shown without particulars.
    pub objects: Vec<Object>,
}

/// What a fiber is doing.
///
/// ```
/// use sisal_console::source::State;
/// assert_eq!(State::Parked.to_string(), "parked");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It waits for its worker.
    Ready,
    /// It waits for something else.
    Parked,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Running => "running",
            State::Ready => "ready",
            State::Parked => "parked",
        })
    }
}

/// A fiber, as it was seen.
///
/// ```
/// use sisal_console::source::{Fiber, State};
/// let fiber = Fiber::new(17, State::Ready, "src/main.rs:7:9");
/// assert_eq!(fiber.object, None);
/// ```
#[derive(Clone, Debug)]
pub struct Fiber {
    /// No other fiber has it, also later.
    pub id: u64,
    /// The name it was given.
    pub name: Option<String>,
    /// What it is doing.
    pub state: State,
    /// How long it has been in this state, by the clock of [`Look::uptime`]: if it stays there, both grow alike.
    pub since: Option<Duration>,
    /// How long ago it was spawned.
    pub age: Option<Duration>,
    /// How many times it has been resumed, its start included.
    pub turns: Option<u64>,
    /// The worker it lives on.
    pub worker: Option<usize>,
    /// Why it does not run.
    pub reason: Option<Cow<'static, str>>,
    /// The number of what it waits for.
    pub object: Option<u64>,
    /// Where in the code it waits, as `file:line:column`.
    pub place: Option<String>,
    /// Where it was spawned, as `file:line:column`.
    pub spawned_at: String,
    /// The fiber that spawned it.
    pub spawned_by: Option<u64>,
    /// The bytes of its stack.
    pub stack_size: Option<u64>,
    /// How many of them it has used so far.
    pub stack_used: Option<u64>,
    /// It waits in a circle of fibers that wait for each other, and will never run again.
    pub is_deadlocked: bool,
}

impl Fiber {
    /// A fiber of which no more is known.
    ///
    /// ```
    /// use sisal_console::source::{Fiber, State};
    /// assert_eq!(Fiber::new(17, State::Ready, "src/main.rs:7:9").name, None);
    /// ```
    pub fn new(id: u64, state: State, spawned_at: impl Into<String>) -> Fiber {
        Fiber {
            id,
            name: None,
            state,
            since: None,
            age: None,
            turns: None,
            worker: None,
            reason: None,
            object: None,
            place: None,
            spawned_at: spawned_at.into(),
            spawned_by: None,
            stack_size: None,
            stack_used: None,
            is_deadlocked: false,
        }
    }
}

/// Something that fibers wait for.
///
/// ```
/// use sisal_console::source::Object;
/// let mut channel = Object::new(94, "channel");
/// channel.capacity = Some(8);
/// ```
#[derive(Clone, Debug)]
pub struct Object {
    /// No other object has it at this moment.
    pub id: u64,
    /// `channel`, `mutex`, and so on.
    pub kind: Cow<'static, str>,
    /// How much it holds at most.
    pub capacity: Option<u64>,
    /// How much it holds.
    pub length: Option<u64>,
    /// Whether it is closed.
    pub closed: Option<bool>,
    /// The fiber that has it.
    pub owner: Option<u64>,
}

impl Object {
    /// An object of which no more is known.
    ///
    /// ```
    /// assert_eq!(sisal_console::source::Object::new(94, "mutex").owner, None);
    /// ```
    pub fn new(id: u64, kind: impl Into<Cow<'static, str>>) -> Object {
        Object { id, kind: kind.into(), capacity: None, length: None, closed: None, owner: None }
    }
}
