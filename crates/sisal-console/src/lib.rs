//! Shows the fibers of sisal in [tokio-console], which needs no change for it.
//!
//! ```no_run
//! sisal::run(|| {
//!     let _console = sisal_console::serve("127.0.0.1:6669").unwrap();
//!     // What the program does.
//! });
//! ```
//!
//! `cargo install --locked tokio-console` brings the program, and `tokio-console` without arguments looks at that address. It is served
//! until the guard is dropped, by a thread of its own, so that it also answers when all workers are stuck.
//! [`Builder`] serves runtimes of other threads, and honours `TOKIO_CONSOLE_BIND`.
//!
//! # What is shown
//! | in tokio-console | in sisal |
//! |---|---|
//! | task | fiber, with its number, name and the place it was spawned at; kind `fiber` |
//! | state: running, scheduled, idle, completed | running, ready, parked, ended |
//! | fields | `state`, `reason`, `place` and `object` of the wait, `worker`, `stack`, `spawned_by` |
//! | resource | what fibers wait for: channel, mutex, ..., while somebody waits for it |
//! | async operation | the wait of a fiber for such an object, and its place |
//! | warning that a task has lost its waker | the fiber waits in a circle of fibers that wait for each other |
//!
//! Fibers that have not started are not listed. If there are more than 10,000, the rest is counted as dropped events.
//!
//! # What is exact, and what is not
//! The runtime counts no turns and measures no times for each fiber: it is looked at once in a second, while somebody watches, and costs
//! nothing otherwise. What was seen is exact; what happened between two looks is estimated.
//!
//! - *State, fields, objects, waits*: as they were at the last look. When a wait began is known from a clock that the worker does not read for every wait.
//! - *Total*: from when a fiber was first seen, or from when the wait began that it was first seen in. A fiber that was there before somebody
//!   watched is older than that.
//! - *Busy, Sched, Idle*: between two looks a fiber is taken to stay in the state it was seen in, until it enters the one it is seen in next.
//!   That is right on average for fibers that run often, and may be wrong for each single one.
//! - *Polls*: how many turns could be told apart: waits that began anew, and looks at which it ran. There may have been many more.
//! - *Woken*: as many times as there were such turns after the first. There are no self-wakes; *wakers* say nothing but the warning above.
//! - *Ended*: at the look at which it was not to be seen any more. Fibers that begin and end between two looks are never seen.
//! - *Histograms* of poll times and scheduled times are empty: nobody measures single turns.
//!
//! The fields of a task are fixed in the protocol. A fiber that waits for something else is announced as a new task of the same number, which
//! takes the old one's row. While the details of a fiber are open its fields stay as they were when they were opened; states and times go on.
//!
//! # Who can look
//! Whoever can connect: the protocol knows no password. So only loopback addresses are served, unless
//! [asked otherwise](Builder::beyond_loopback). A pause is one for all clients, and ends with the last of them.
//!
//! # Deadlocks
//! The thread of the console might wake a fiber for all the runtime knows. While there is one, a deadlock without a circle is reported as
//! possible, not as certain.
//!
//! [tokio-console]: https://docs.rs/tokio-console

mod builder;
mod console;
mod course;
mod feed;
mod fibers;
mod hub;
mod letter;
mod objects;
mod runtime;
mod service;
pub mod source;
mod told;
mod waits;
mod words;

pub use builder::{Builder, serve};
pub use console::Console;
