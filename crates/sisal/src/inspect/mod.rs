//! Looking at a runtime from outside: what it does, and what it has done.
//!
//! - `serve`: a page in the browser, and data for tools, over HTTP (feature `serve`); `asked`: what settings say of it.

pub(crate) mod asked;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "unserved.rs"]
mod serve;

#[cfg(feature = "serve")]
#[doc(hidden)]
pub use self::serve::{Selection, Source, Wait};
#[cfg(feature = "serve")]
pub use self::serve::{ServeOptions, Server, serve};
pub(crate) use self::serve::{Serving, start};
