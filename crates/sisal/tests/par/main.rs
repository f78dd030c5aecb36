//! Fork-join: against what runs one after the other, and with everything in it that waits.

#[path = "../common/mod.rs"]
mod common;

mod calm;
mod coarse;
mod join;
mod loops;
mod moved;
mod scope;
mod sides;
mod small;
mod sockets;
mod sort;
mod work;
