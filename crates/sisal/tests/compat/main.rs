//! Other runtimes' traits and futures, in fibers. Needs the features `futures`, `hyper` and `tokio`.

#[path = "../common/mod.rs"]
mod common;

mod hyper_rt;
mod streams;
mod tokio_rt;
