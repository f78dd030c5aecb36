//! Stack traces of fibers: of those that are suspended, and of those that run.
//!
//! First the return addresses, which takes about half a microsecond a fiber and is done while the fiber is held ([`Tracer`]); then, when it has
//! been let go, the functions, files and lines ([`Symbols`]), which is slow, and remembered.
//!
//! - `modules`: the unwind tables of the program and its libraries; `memory`: words of stacks; `walk`: from frame to frame;
//!   `addresses`: what comes of it.
//! - `sample`: stopping a thread for a moment, by a signal; `x86_64`, `aarch64`: what registers are called.
//! - `symbols`: from addresses to frames; `trim`: without those of the runtime.
#![allow(unsafe_code, reason = "the stacks of others are read")]

mod addresses;
mod memory;
mod modules;
mod sample;
mod symbols;
#[cfg(test)]
mod tests;
mod trim;
mod walk;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

pub(crate) use {addresses::Addresses, symbols::Symbols};

use crate::prim::atomic::Ordering;
use crate::prim::id::FiberId;
use crate::sched::remote::Remote;
use framehop::{CacheNative, MustNotAllocateDuringUnwind, UnwindRegsNative, UnwinderNative};
use memory::Memory;
use modules::Modules;
use rustix::thread::gettid;
use sisal_context::stack::Stack;
use sisal_context::switch::{Registers, Suspended};
use std::time::Duration;
use walk::walk;

type Unwinder = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;
type Cache = CacheNative<MustNotAllocateDuringUnwind>;
type UnwindRegisters = UnwindRegsNative;

/// Finds the return addresses of stacks. Keeps what it has learnt from one to the next.
pub(crate) struct Tracer {
    modules: Modules,
    memory: Memory,
}

/// What a worker did when it was stopped.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Sample {
    /// The fiber that it ran, if it ran one. It may just have been about to leave it, or to arrive there.
    pub(crate) fiber: Option<FiberId>,
    /// The turn that it was at.
    pub(crate) turn: u64,
    pub(crate) addresses: Addresses,
}

impl Tracer {
    pub(crate) fn new() -> Tracer {
        Tracer { modules: Modules::new(), memory: Memory::new() }
    }

    /// The stack of a fiber that was left in `context`, on `stack`, or on its thread's own if that is none. Where it runs code on a bigger stack,
    /// the frames of both are found.
    ///
    /// # Safety
    /// The fiber was left there, is not resumed meanwhile, and stays. One that has not been left yet has no context.
    pub(crate) unsafe fn suspended(&mut self, context: Suspended, stack: Option<Stack>) -> Addresses {
        if context == Suspended::NONE {
            return Addresses::new();
        }
        // SAFETY: the caller's promise.
        let from = unsafe { context.registers() };
        let bounds = stack.map_or(0..0, Stack::usable);
        let known = if bounds.contains(&from.sp) { from.sp..bounds.end } else { 0..0 };
        // SAFETY: what is above the stack pointer of a fiber that waits is its own, and is left alone until it is resumed.
        unsafe { self.memory.begin(known) };
        self.modules.with_tables(|tables| walk(tables, &mut self.memory, from))
    }

    /// The calls that the caller is in.
    pub(crate) fn here(&mut self) -> Addresses {
        // SAFETY: nothing is known.
        unsafe { self.memory.begin(0..0) };
        self.modules.with_tables(|tables| walk(tables, &mut self.memory, Registers::here()))
    }

    /// What a worker does at this moment: its thread is stopped while that is looked at. None if it has no thread, or that
    /// can't be stopped within `patience`.
    ///
    /// The caller must hold no lock that the worker may take while it holds another that `malloc` or the loader takes; best none at all.
    pub(crate) fn running(&mut self, worker: &Remote, patience: Duration) -> Option<Sample> {
        let Tracer { modules, memory } = self;
        // SAFETY: nothing is known.
        unsafe { memory.begin(0..0) };
        let look = |thread| {
            modules.with_tables(|tables| {
                let mut look_from = |from| {
                    // SAFETY: its thread is stopped, or is this one.
                    let fiber = unsafe { worker.presence.running_id() };
                    let turn = worker.shown.heartbeat.load(Ordering::Relaxed);
                    Sample { fiber, turn, addresses: walk(tables, memory, from) }
                };
                if thread == gettid() {
                    // We would wait for ourselves.
                    return Some(look_from(Registers::here()));
                }
                sample::stop(thread, patience, look_from)
            })
        };
        worker.shown.thread.while_alive(look).flatten()
    }
}
