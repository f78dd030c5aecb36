//! Storms over sockets: crowds of connections, numbers of descriptors that are used again at once, no descriptors at all, clients
//! that dawdle.

#[path = "../common/mod.rs"]
mod common;

mod balance;
mod crowd;
mod descriptors;
mod exhaustion;
mod reuse;
mod slow;
