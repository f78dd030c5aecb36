//! What everything else is made of: the atomics facade, the clock, ids, reasons, errors of cancellation.
//! Knows no fiber.

pub(crate) mod atomic;
#[cfg_attr(modelled, path = "barrier_model.rs")]
pub(crate) mod barrier;
pub(crate) mod bell;
pub(crate) mod biased_lock;
pub(crate) mod cancel;
pub(crate) mod cell;
#[cfg(modelled)]
pub(crate) mod checker;
pub(crate) mod clock;
#[cfg(not(modelled))]
pub(crate) mod cpu_clock;
#[cfg(not(modelled))]
pub(crate) mod drop_quietly;
pub(crate) mod event_ring;
pub(crate) mod gate;
pub(crate) mod id;
pub(crate) mod lock;
pub(crate) mod object;
#[cfg(not(modelled))]
pub(crate) mod os_thread;
pub(crate) mod own_threads;
pub(crate) mod parker;
pub(crate) mod reason;
#[cfg(not(modelled))]
pub(crate) mod say;
pub(crate) mod task_parker;
#[cfg_attr(modelled, path = "thread_number_model.rs")]
pub(crate) mod thread_number;
pub(crate) mod thread_parker;
#[cfg(not(modelled))]
pub(crate) mod ticks;
pub(crate) mod wake_timer;

#[cfg_attr(modelled, path = "fork_model.rs")]
pub(crate) mod fork;
#[cfg_attr(modelled, path = "futex_model.rs")]
pub(crate) mod futex;

/// A function that can be called in constants, except in the models, whose atomics can't be made there.
#[cfg(not(modelled))]
macro_rules! const_fn {
    ($(#[$attribute:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$attribute])* $visibility const fn $($rest)* };
}
#[cfg(modelled)]
macro_rules! const_fn {
    ($(#[$attribute:meta])* $visibility:vis fn $($rest:tt)*) => { $(#[$attribute])* $visibility fn $($rest)* };
}
pub(crate) use const_fn;

/// As [`thread_local`], also for the threads of the models.
#[cfg(modelled)]
macro_rules! per_thread {
    ($(static $name:ident: $value:ty = const { $first:expr };)*) => {
        $crate::prim::checker::thread_local! { $(static $name: $value = $first;)* }
    };
}
#[cfg(modelled)]
pub(crate) use per_thread;
#[cfg(not(modelled))]
pub(crate) use std::thread_local as per_thread;
