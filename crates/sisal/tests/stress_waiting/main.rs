//! Storms over everything that waits. Nothing in them ends by the clock unless that is the point: a lost wake hangs, and the watchdog barks.

#[path = "../common/mod.rs"]
mod common;

mod cancel;
mod chan;
mod dead_frames;
mod nursery;
mod select;
mod stm;
mod sync;
mod turns;
