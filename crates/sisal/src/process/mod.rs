//! Child processes, as in [`std::process`], for fibers.
//!
//! ```
//! use sisal::process::Command;
//!
//! sisal::run(|| {
//!     let output = Command::new("echo").arg("hello").output()?;
//!     assert!(output.status.success());
//!     assert_eq!(output.stdout, b"hello\n");
//!     Ok::<(), std::io::Error>(())
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Whoever waits for a child, or for its pipes, parks its fiber, or blocks its thread outside of fibers. These waits can be
//! cancelled, and return an error then for which [`is_cancelled`](crate::is_cancelled) is true; the child goes on, unless it is to be
//! [killed](Command::kill_on_drop).
//!
//! - [`Command`] starts them; [`Child`] is one that was started; [`ChildStdin`], [`ChildStdout`] and [`ChildStderr`] are its pipes.
//!
//! A child that is dropped before it was waited for goes on, as in `std`. When it has ended it is not left behind: it is collected when the
//! next one is started or dropped.

mod child;
mod collect;
mod command;
mod orphans;
mod stdio;

pub use self::child::Child;
pub use self::command::Command;
pub use self::stdio::{ChildStderr, ChildStdin, ChildStdout};
pub use std::process::{CommandArgs, CommandEnvs, ExitCode, ExitStatus, Output, Stdio, Termination, abort, exit, id};
