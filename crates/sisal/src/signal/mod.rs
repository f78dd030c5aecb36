//! Signals, as messages of a channel.
//!
//! ```
//! use sisal::signal::{self, Signal};
//!
//! sisal::run(|| {
//!     let signals = signal::listen(&[Signal::HANGUP, Signal::USER1])?;
//!     # rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1)?;
//!     // Another process: kill -USR1 ..
//!     assert_eq!(signals.recv(), Ok(Signal::USER1));
//!     Ok::<(), std::io::Error>(())
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! For a program that is to come to an end on SIGINT and SIGTERM there is
//! [`cancel_on_signals`](crate::NurseryOptions::cancel_on_signals) as well; both may be used at once.
//!
//! - `kind`: what a signal is called; `registry`: who listens to what, and the thread that tells them; `handler`: what happens in signal
//!   context.

pub(crate) mod handler;
mod kind;
mod registry;

pub use self::kind::Signal;
pub(crate) use self::registry::{Listening, cancelling, is_cancelling};

use crate::chan::Receiver;
use std::io;

/// Listens to `signals` from now on, until the receiver and all its clones are dropped. Then what was done with them before is done again.
///
/// A signal that is listened to does nothing else: the process does not end on it. Handlers that were in place are called as well. Several may
/// listen to the same signal, and each hears it.
///
/// Like the kernel, the channel has each signal once at most: if one comes again before it was received, it is the same. So it never
/// overflows, however many come, and none gets lost behind others.
///
/// # Errors
/// Of the kind `InvalidInput` if there is a signal among them that can't be listened to, or none at all; and if the system has no thread or
/// descriptor left for it.
///
/// ```
/// use sisal::signal::{self, Signal};
/// let error = signal::listen(&[Signal::from_raw(9)]).unwrap_err();
/// assert!(error.to_string().contains("SIGKILL"));
/// ```
pub fn listen(signals: &[Signal]) -> io::Result<Receiver<Signal>> {
    registry::listen(signals)
}
