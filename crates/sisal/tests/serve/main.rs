//! The live view's server: what it answers, whom it refuses, what it survives, and that it leaves nothing behind.

mod client;
#[path = "../common/mod.rs"]
mod common;
mod fake;
mod garbage;
mod life;
mod refusals;
mod routes;
mod settings;
