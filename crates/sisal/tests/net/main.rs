//! Sockets and pipes: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;

mod tcp;
mod wire;
