//! Making fibers.
//!
//! - [`launch`]: what all ways to spawn have in common; [`builder`]: a fiber with a name, a stack size, a place; [`token`]: the right to
//!   spawn one, had in advance.
//! - [`handle`]: a runtime, for threads outside of it; [`default`]: the one of threads that name none; [`error`]: why a fiber can't be
//!   spawned.

pub(crate) mod builder;
pub(crate) mod default;
pub(crate) mod error;
pub(crate) mod handle;
pub(crate) mod launch;
pub(crate) mod token;

pub(crate) use self::default::{default_runtime, install_default};

pub use self::builder::{Builder, spawn, spawn_local, spawn_on, try_spawn};
pub use self::error::{SpawnError, SpawnErrorKind};
pub use self::handle::{Handle, Stats};
