//! Sockets and pipes: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod bidirectional;
mod cancel;
mod close;
mod convert;
mod descriptors;
mod nonblocking;
mod order;
mod pipes;
mod pollable;
mod spread;
mod tcp;
mod threads;
mod timeouts;
mod udp;
mod unix;
mod wire;
