//! Files and directories, as in [`std::fs`], for fibers: no call here blocks a worker.
//!
//! ```
//! use sisal::fs;
//!
//! sisal::run(|| {
//!     let path = std::env::temp_dir().join(format!("sisal-fs-{}", std::process::id()));
//!     fs::write(&path, "hello")?;
//!     assert_eq!(fs::read_to_string(&path)?, "hello");
//!     fs::remove_file(&path)
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Names and meanings are those of `std`, so that changing the import is enough. Outside of fibers the calls are `std`'s, and block the
//! thread.
//!
//! The methods of [`Path`](std::path::Path) that look at files (`exists`, `is_file`, `metadata`, `read_dir`, `canonicalize`) are `std`'s: they block
//! the worker for as long as the disk takes. [`exists`], [`metadata`], [`read_dir`] and [`canonicalize`] here do not.
//!
//! # How
//! Most calls run on a thread, as with [`blocking`](crate::blocking()), and the fiber parks until they are done. But not those that need not
//! wait, nor those that the kernel can do by itself:
//! - Reads ask the kernel first for what it has in memory (`preadv2` with `RWF_NOWAIT`).
//! - What it does not have, it reads from the disk by itself if it can (`io_uring`), and a thread does it if it can't. So are
//!   writes of up to a megabyte done, but for those to files that are appended to.
//! - Files whose path is in the caches of the kernel are opened for reading at once (`openat2` with `RESOLVE_CACHED`), if their file system is a
//!   local one.
//!
//! A file whose descriptor others use as well, past this module, is read as quickly: while one of them reads at the file's position, which the kernel locks
//! for that time, a read or seek here holds its worker up. Reads and writes at an offset do not.
//!
//! # What ends a call
//! Like `blocking`, nothing but itself: neither a timeout nor a nursery cancels an operation on a file, but for [`File::lock`]. A disk answers
//! sooner or later;
//! for a FIFO or a terminal, where nobody may ever write, use [`sisal::io`](crate::io).
//!
//! # What is where
//! [`File`], [`OpenOptions`]; [`read_dir`], [`DirBuilder`]; and the functions for whole files, and for names.

mod cached;
mod dir;
mod file;
mod lock;
mod nowait;
mod offset;
mod open;
mod paths;
mod position;
mod stream;
mod whole;

pub use self::dir::{DirBuilder, DirEntry, ReadDir, create_dir, create_dir_all, read_dir, remove_dir, remove_dir_all};
pub use self::file::File;
pub use self::open::OpenOptions;
#[allow(deprecated, reason = "std has it")]
pub use self::paths::soft_link;
pub use self::paths::{
    canonicalize, chown, exists, fchown, hard_link, lchown, metadata, read_link, remove_file, rename, set_permissions,
    symlink, symlink_metadata,
};
pub use self::whole::{copy, read, read_to_string, write};
pub use std::fs::{FileTimes, FileType, Metadata, Permissions, TryLockError};

use crate::blocking::blocking_for;
use crate::prim::reason::Reason;
use std::panic::Location;

/// Runs `f` where it may wait for a disk.
#[track_caller]
fn on_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    blocking_for(Reason::File, Location::caller(), f)
}
