//! Sockets and pipes: on fibers, on threads, and mixed.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/kernel/mod.rs"]
mod kernel;

mod addresses;
mod bidirectional;
mod cancel;
mod close;
mod convert;
mod descriptors;
#[cfg(target_arch = "x86_64")]
mod looks;
mod nonblocking;
mod order;
mod pipes;
mod pollable;
mod spread;
mod strace;
mod system_calls;
mod tcp;
mod threads;
mod timeouts;
mod udp;
mod unix;
mod wire;
