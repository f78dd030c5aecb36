//! What a wait returns when something outside it ended it.

use std::fmt;

/// A wait was ended from outside: by an enclosing deadline, a request, or the end of the runtime.
///
/// This is never the result of a call's own timeout. A loop that tries again after it would spin for ever: the
/// right thing to do is to come to an end.
///
/// ```
/// use std::time::Duration;
/// let sleeper = sisal::run(|| sisal::spawn(|| sisal::sleep(Duration::from_secs(3600))));
/// // The main fiber has returned, so the runtime ended and with it the sleep.
/// match sleeper.join() {
///     Ok(slept) => assert_eq!(slept.unwrap_err().cause, sisal::Cause::Shutdown),
///     Err(never_started) => assert!(matches!(never_started, sisal::JoinError::Cancelled(_))),
/// }
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancelled {
    /// What ended the wait.
    pub cause: Cause,
}

/// What ended a wait that was [`Cancelled`].
///
/// ```
/// assert_eq!(sisal::Cause::Shutdown.to_string(), "the runtime is stopping");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The runtime is stopping.
    Shutdown,
    /// The wait would have parked while its fiber unwinds from a panic. (While another fiber of the same worker is suspended in its
    /// own unwinding the two can't be told apart; then the wait goes on as usual.)
    Unwinding,
    /// The time of an enclosing [`timeout`](crate::timeout), [`deadline`](crate::deadline) or nursery is up.
    Deadline,
    /// Somebody asked for it: [`JoinHandle::cancel`](crate::JoinHandle::cancel), [`CancelToken::cancel`](crate::CancelToken::cancel)
    /// or [`Nursery::cancel`](crate::Nursery::cancel).
    Request,
    /// Another fiber of the same nursery failed or panicked, or the nursery's own body did.
    Failure,
    /// The process got a signal that asks it to end, and the nursery is to end with it.
    Signal,
}

impl Cause {
    const ALL: [Cause; 6] =
        [Cause::Shutdown, Cause::Unwinding, Cause::Deadline, Cause::Request, Cause::Failure, Cause::Signal];

    /// A number from 0 on, for packing it into a word.
    pub(crate) fn to_number(self) -> u32 {
        self as u32
    }

    pub(crate) fn from_number(number: u32) -> Option<Cause> {
        Cause::ALL.get(number as usize).copied()
    }
}

/// How many causes there are.
pub(crate) const CAUSES: u32 = Cause::ALL.len() as u32;

impl Cancelled {
    pub(crate) fn by(cause: Cause) -> Cancelled {
        Cancelled { cause }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Shutdown => "the runtime is stopping",
            Cause::Unwinding => "the fiber is unwinding from a panic",
            Cause::Deadline => "the time is up",
            Cause::Request => "it was asked for",
            Cause::Failure => "another part of the nursery failed",
            Cause::Signal => "the process was asked to end",
        })
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cancelled: {}", self.cause)
    }
}

impl std::error::Error for Cancelled {}
