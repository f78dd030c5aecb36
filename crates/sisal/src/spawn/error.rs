//! Why a fiber can't be spawned.

use sisal_context::stack::SizeError;
use std::fmt;
use std::io;

/// A fiber was not spawned: why, and its closure back.
///
/// ```
/// let refused = sisal::try_spawn(|| 7).unwrap_err();
/// assert_eq!(refused.kind(), sisal::SpawnErrorKind::NoRuntime);
/// let closure = refused.into_inner();
/// assert_eq!(closure(), 7);
/// ```
pub struct SpawnError<F> {
    kind: SpawnErrorKind,
    closure: F,
}

/// Why a fiber was not spawned.
///
/// ```
/// use sisal::SpawnErrorKind;
/// let refused = sisal::try_spawn(|| 7).unwrap_err();
/// assert_eq!(refused.kind(), SpawnErrorKind::NoRuntime);
/// assert_eq!(SpawnErrorKind::NoSuchWorker { asked: 9, workers: 2 }.to_string(), "there is no worker 9: the workers are 0 to 1");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// The caller is not in a fiber, and named no runtime.
    NoRuntime,
    /// There are as many unfinished fibers as `max_fibers` allows.
    LimitReached {
        /// The limit.
        max_fibers: usize,
    },
    /// The stack size asked for is impossible.
    StackSize {
        /// What was asked for, in bytes.
        asked: usize,
    },
    /// There is no such worker to start on.
    NoSuchWorker {
        /// The worker asked for.
        asked: usize,
        /// How many there are.
        workers: usize,
    },
}

impl<F> SpawnError<F> {
    pub(crate) fn new(kind: SpawnErrorKind, closure: F) -> SpawnError<F> {
        SpawnError { kind, closure }
    }

    /// Why it was not spawned.
    ///
    /// ```
    /// use sisal::{Builder, SpawnErrorKind};
    /// sisal::run(|| {
    ///     let refused = Builder::new().stack_size(usize::MAX).try_spawn(|| ()).unwrap_err();
    ///     assert!(matches!(refused.kind(), SpawnErrorKind::StackSize { .. }));
    /// });
    /// ```
    pub fn kind(&self) -> SpawnErrorKind {
        self.kind
    }

    /// The closure.
    ///
    /// ```
    /// let words = vec!["plain", "blocking", "code"];
    /// let refused = sisal::try_spawn(move || words.len()).unwrap_err();
    /// let closure = refused.into_inner();
    /// assert_eq!(closure(), 3);
    /// ```
    pub fn into_inner(self) -> F {
        self.closure
    }
}

impl fmt::Display for SpawnErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnErrorKind::NoRuntime => f.write_str(
                "there is no sisal runtime here: spawn from inside sisal::run or #[sisal::main], or through a Handle",
            ),
            SpawnErrorKind::LimitReached { max_fibers } => {
                write!(f, "there are {max_fibers} unfinished fibers, as many as max_fibers allows")
            }
            SpawnErrorKind::StackSize { asked } => match sisal_context::stack::SizeClass::for_usable(*asked) {
                Err(error) => SizeError::fmt(&error, f),
                Ok(_) => write!(f, "no stack of {asked} bytes can be had"),
            },
            SpawnErrorKind::NoSuchWorker { asked, workers: 0 } => {
                write!(f, "there is no worker {asked}: there is none")
            }
            SpawnErrorKind::NoSuchWorker { asked, workers } => {
                write!(f, "there is no worker {asked}: the workers are 0 to {}", workers - 1)
            }
        }
    }
}

impl<F> fmt::Display for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<F> fmt::Debug for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnError").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<F> std::error::Error for SpawnError<F> {}

impl std::error::Error for SpawnErrorKind {}

/// As [`std::thread::Builder::spawn`] says why there is no thread. Drops the closure.
impl<F> From<SpawnError<F>> for io::Error {
    fn from(refused: SpawnError<F>) -> io::Error {
        io::Error::other(refused.kind)
    }
}
