//! Looking at a runtime from outside: what it does, and what it has done.
//!
//! - [`serve()`]: a page in the browser and data for tools, over HTTP (feature `serve`).

#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "unserved.rs"]
mod serve;
pub(crate) mod token;

#[cfg(feature = "serve")]
#[doc(hidden)]
pub use self::serve::source::{Selection, Source, Wait};
#[cfg(feature = "serve")]
pub use self::serve::{ServeOptions, Server, serve};

pub(crate) use self::serve::asked;
