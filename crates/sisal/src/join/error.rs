//! How a fiber can end without a result.

use crate::fiber::info::Fiber;
use crate::prim::cancel::Cancelled;
use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Why a join gave no result.
///
/// ```
/// use sisal::JoinError;
/// sisal::run(|| {
///     let error = sisal::spawn(|| panic!("no more tea")).join().unwrap_err();
///     assert!(error.to_string().ends_with("panicked: no more tea"));
///     assert!(matches!(error, JoinError::Panicked(_)));
/// });
/// ```
#[non_exhaustive]
pub enum JoinError {
    /// The fiber panicked.
    Panicked(Panic),
    /// The fiber was cancelled before it started, or, if it runs a [future](crate::spawn_future), before that was ready: by request, or
    /// because the runtime was stopping.
    Cancelled(Cancelled),
    /// The *wait* was cancelled; the fiber itself goes on, without its handle. Use [`JoinHandle::wait`](crate::JoinHandle::wait) to
    /// keep the handle.
    Interrupted(Cancelled),
}

impl JoinError {
    /// Whether the fiber panicked.
    ///
    /// ```
    /// sisal::run(|| assert!(sisal::spawn(|| panic!("no more tea")).join().unwrap_err().is_panic()));
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self, JoinError::Panicked(_))
    }

    /// Whether the fiber was cancelled before it had a result, or the wait for it.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let fiber = sisal::spawn_future(std::future::pending::<()>());
    ///     fiber.cancel();
    ///     assert!(fiber.join().unwrap_err().is_cancelled());
    /// });
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self, JoinError::Cancelled(_) | JoinError::Interrupted(_))
    }

    /// Goes on with the fiber's panic here, or panics with what else there was instead of a result: for whoever has no use for an error.
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// sisal::run(|| {
    ///     let fiber = sisal::spawn(|| -> u32 { panic!("no more tea") });
    ///     let payload = catch_unwind(AssertUnwindSafe(|| fiber.join().unwrap_or_else(|error| error.resume()))).unwrap_err();
    ///     assert_eq!(*payload.downcast::<&str>().unwrap(), "no more tea");
    /// });
    /// ```
    #[track_caller]
    pub fn resume(self) -> ! {
        match self {
            JoinError::Panicked(panic) => panic.resume(),
            error => panic!("sisal: {error}"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Panicked(panic) => panic.fmt(f),
            JoinError::Cancelled(cancelled) => write!(f, "the fiber gave no result: {cancelled}"),
            JoinError::Interrupted(cancelled) => write!(f, "the wait for the fiber was {cancelled}"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

/// The panic of a fiber: who panicked, and with what.
///
/// ```
/// sisal::run(|| {
///     let Err(sisal::JoinError::Panicked(panic)) = sisal::spawn(|| panic!("no more tea")).join() else { unreachable!() };
///     let panic: sisal::Panic = panic;
///     assert!(panic.to_string().ends_with("panicked: no more tea"));
/// });
/// ```
pub struct Panic {
    fiber: Fiber,
    message: Box<str>,
    /// A payload can't be shared between threads, and an error has to be. So nobody looks at it here but whoever takes it out.
    payload: Mutex<Box<dyn Any + Send>>,
}

impl Panic {
    pub(crate) fn new(fiber: Fiber, payload: Box<dyn Any + Send>) -> Panic {
        Panic { fiber, message: message_of(&*payload).into(), payload: Mutex::new(payload) }
    }

    /// The same panic once more, for another waiter. A payload can't be copied, so the message takes its place.
    pub(crate) fn copy(fiber: Fiber, payload: &(dyn Any + Send)) -> Panic {
        Panic::new(fiber, Box::new(message_of(payload).to_owned()))
    }

    /// The fiber that panicked.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::Builder::new().name("kettle").spawn(|| panic!("no more tea"));
    ///     let Err(sisal::JoinError::Panicked(panic)) = handle.join() else { unreachable!() };
    ///     assert_eq!(panic.fiber().name(), Some("kettle"));
    /// });
    /// ```
    pub fn fiber(&self) -> &Fiber {
        &self.fiber
    }

    /// The message, if the panic had one that is text.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let Err(sisal::JoinError::Panicked(panic)) = sisal::spawn(|| panic!("{} lumps", 2)).join() else { unreachable!() };
    ///     assert_eq!(panic.message(), "2 lumps");
    /// });
    /// ```
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was panicked with, as [`std::panic::catch_unwind`] gives it.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let handle = sisal::spawn(|| std::panic::panic_any(7u32));
    ///     let Err(sisal::JoinError::Panicked(panic)) = handle.join() else { unreachable!() };
    ///     assert_eq!(*panic.into_payload().downcast::<u32>().unwrap(), 7);
    /// });
    /// ```
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on with the panic here.
    ///
    /// ```
    /// sisal::run(|| {
    ///     let Err(sisal::JoinError::Panicked(panic)) = sisal::spawn(|| panic!("no more tea")).join() else { unreachable!() };
    ///     let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| panic.resume())).unwrap_err();
    ///     assert_eq!(*payload.downcast::<&str>().unwrap(), "no more tea");
    /// });
    /// ```
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.into_payload())
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "(a value that is not text)",
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, panicked: {}", self.fiber, self.message())
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panic({self})")
    }
}

/// Why a [`race`](crate::race) had no winner.
///
/// ```
/// use sisal::RaceError;
/// sisal::run(|| {
///     let runners = vec![sisal::spawn(|| Err::<(), _>("fell")), sisal::spawn(|| Err("fell"))];
///     let error = sisal::race(runners).unwrap_err();
///     assert_eq!(error.to_string(), "none of 2 fibers succeeded; fell; fell");
///     assert!(matches!(error, RaceError::AllLost(lost) if lost.len() == 2));
/// });
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum RaceError<E> {
    /// All lost; how each did, in the order they ended.
    AllLost(Vec<Lost<E>>),
    /// The wait was cancelled; the fibers go on, without their handles.
    Interrupted(Cancelled),
}

/// How a fiber lost a [`race`](crate::race).
///
/// ```
/// use sisal::{Lost, RaceError};
/// sisal::run(|| {
///     let runners = vec![sisal::spawn(|| Err::<(), _>("fell")), sisal::spawn(|| panic!("exploded"))];
///     let Err(RaceError::AllLost(lost)) = sisal::race(runners) else { unreachable!() };
///     assert!(lost.iter().any(|lost| matches!(lost, Lost::Failed("fell"))));
///     assert!(lost.iter().any(|lost| matches!(lost, Lost::NoResult(error) if error.to_string().ends_with("exploded"))));
/// });
/// ```
#[derive(Debug)]
pub enum Lost<E> {
    /// It returned an error.
    Failed(E),
    /// It returned nothing.
    NoResult(JoinError),
}

impl<E: fmt::Display> fmt::Display for RaceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RaceError::AllLost(lost) => {
                write!(f, "none of {} fibers succeeded", lost.len())?;
                lost.iter().try_for_each(|lost| match lost {
                    Lost::Failed(error) => write!(f, "; {error}"),
                    Lost::NoResult(error) => write!(f, "; {error}"),
                })
            }
            RaceError::Interrupted(cancelled) => write!(f, "the wait for the race was {cancelled}"),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for RaceError<E> {}
