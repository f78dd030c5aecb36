//! Shows the fibers of sisal in [tokio-console].
//!
//! [tokio-console]: https://docs.rs/tokio-console

mod builder;
mod console;
mod course;
mod feed;
mod fibers;
mod hub;
mod letter;
mod service;
pub mod source;
mod told;
mod waits;
mod words;

pub use builder::Builder;
pub use console::Console;
