//! The console as a client sees it: one made of the stub that tokio-console is made of, and tokio-console itself.

#[path = "../../../sisal/tests/common/mod.rs"]
mod common;

mod client;
mod fake;
mod lives;
mod pauses;
mod program;
mod real;
mod serving;
mod waits;
