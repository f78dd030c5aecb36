//! A stackful M:N fiber runtime: write plain blocking code, and run a million such fibers on a few threads.
//!
//! ```
//! let n: u64 = sisal::run(|| {
//!     let handles: Vec<_> = (0..100_000u64).map(|i| sisal::spawn(move || i)).collect();
//!     handles.into_iter().map(|handle| handle.join().unwrap()).sum()
//! });
//! assert_eq!(n, 4_999_950_000);
//! ```
//!
//! # What a fiber is
//! A function call, until it waits. [`spawn`] writes the closure into a block of memory, of which hundreds are had at once; a worker
//! then *calls* the closure on the stack it happens to stand on. A fiber that returns without having waited never had a stack of its own. One that waits keeps the stack it is on,
//! which costs the pages it has touched, mostly one, and the worker goes on elsewhere.
//!
//! From its first run a fiber stays on its worker, so thread-locals, `Rc`s and lock guards behave as they do in a thread.
//!
//! # Waiting
//! Calls that wait park the fiber, and the worker runs others. Outside of fibers the same calls block the thread: everything here
//! works in plain threads too, where that makes sense, and mixed.
//!
//! When the runtime stops, waits return [`Cancelled`]. So do waits in destructors while a fiber unwinds from a panic.
//!
//! # Where to look
//! - Starting: [`run`], [`main`], [`Runtime`], [`RuntimeBuilder`] for all settings.
//! - Fibers: [`spawn`], [`spawn_local`], [`spawn_on`], [`Builder`], [`Handle`]; [`fiber`], [`fiber_local!`], [`stack`].
//! - Results: [`JoinHandle`], [`SharedHandle`], [`join_all`], [`join_any`], [`race`].
//! - Futures: [`block_on`], [`try_block_on`], [`spawn_future`]; handles and channels can be awaited, and the [`chan`] ends have
//!   [`recv_async`](chan::Receiver::recv_async) and [`send_async`](chan::Sender::send_async). Features: `futures`, `tokio`, `hyper`.
//! - Between fibers: [`chan`] and [`select!`]; [`sync`], with locks as in `std`; [`stm`].
//! - Structure: [`nursery`], [`CancelToken`], [`shield`].
//! - Time: [`sleep`], [`sleep_until`], [`timeout`], [`deadline`], [`interval`], [`yield_now`].
//! - The outside: [`net`], [`io`], [`fs`], [`process`], [`signal`]; [`println!`](crate::println!) for whole lines; [`blocking`] for calls
//!   that block a thread.
//! - Work of the processor: [`par`].
//! - What is going on: [`inspect`].
//!
//! # What a library can't mend
//! - A `std` lock held across a wait can block a whole worker, when another fiber of that worker wants it. [`no_park`] finds such waits.
//! - [`std::thread::panicking`] tells of the thread: while a fiber waits in a destructor during its unwinding, its neighbours see
//!   `true`, and `std` mutexes they release meanwhile are poisoned.
//! - Scoped thread-locals, `errno` and re-entrant locks belong to the thread, and so to all its fibers.
//! - After `fork` without `exec` there are no workers in the child: calls that spawn or wait abort there with a message.
#![cfg_attr(modelled, allow(dead_code, unused_imports, unreachable_pub))]

/// The program in the README runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod chan;
mod prim;
mod queue;
#[doc(hidden)]
pub mod select;

pub mod fiber;
mod sched;

#[cfg(not(modelled))]
mod blocking;
#[cfg(not(modelled))]
mod builder;
#[cfg(not(modelled))]
pub mod fs;
#[cfg(not(modelled))]
pub mod inspect;
mod interop;
#[cfg(not(modelled))]
pub mod io;
#[cfg(not(modelled))]
mod join;
#[cfg(not(modelled))]
pub mod net;
mod nursery;
#[cfg(not(modelled))]
pub mod output;
#[cfg(not(modelled))]
pub mod par;
mod park;
#[cfg(not(modelled))]
pub mod process;
#[cfg(not(modelled))]
mod runtime;
#[cfg(all(test, shuttle))]
mod scenarios;
#[cfg(not(modelled))]
mod settings;
#[cfg(not(modelled))]
pub mod signal;
#[cfg(not(modelled))]
mod spawn;
pub mod stm;
pub mod sync;
#[cfg(not(modelled))]
mod time;

#[cfg(not(modelled))]
pub use crate::{
    blocking::{block_in_place, blocking},
    builder::RuntimeBuilder,
    fiber::in_fiber,
    interop::{block_on, spawn_future, spawn_future_local, try_block_on},
    io::is_cancelled,
    join::{JoinError, JoinHandle, Lost, Panic, RaceError, SharedHandle, join_all, join_any, race},
    nursery::{
        CancelToken, Child, ChildBuilder, ChildResult, Nursery, NurseryOptions, check_cancelled, nursery, shield,
    },
    prim::cancel::{Cancelled, Cause},
    runtime::{Runtime, ShutdownReport, run},
    sched::no_park::{NoPark, no_park},
    select::Select,
    settings::BuildError,
    spawn::{Builder, Handle, SpawnError, SpawnErrorKind, Stats, spawn, spawn_local, spawn_on, try_spawn},
    time::{Interval, deadline, interval, sleep, sleep_until, timeout, yield_now},
};
#[cfg(not(modelled))]
pub use sisal_macros::{main, select, test};

/// The worlds of other runtimes, each behind the feature of its name.
#[cfg(all(not(modelled), any(feature = "hyper", feature = "tokio")))]
pub mod compat {
    #[cfg(feature = "hyper")]
    pub use crate::interop::hyper;
    #[cfg(feature = "tokio")]
    pub use crate::interop::tokio;
}

/// Stacks.
#[cfg(not(modelled))]
pub mod stack {
    pub use crate::sched::grow::grow;
}
