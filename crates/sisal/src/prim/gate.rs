//! A lock that its owner takes all the time, and others now and then, to look.
//!
//! The owner *enters* and *leaves*, which are two stores and a load. Others *hold* the gate: while one does, the owner is not inside and
//! can't enter. The owner may enter on one stack and leave on another, so its side has no guard.
//!
//! - `busy`: 1 while the owner is inside, or tries to be.
//! - `wanted`: 1 while somebody holds the gate, or is about to.
//!
//! *Owner*: set `busy`; light barrier; if the gate is not `wanted`, it is inside. Else clear `busy`, wait until it is not wanted, and try
//! again. It leaves by clearing `busy`.
//! *Others*, one at a time: set `wanted`; heavy barrier; wait until `busy` is clear. Now the gate is held; clearing `wanted` lets it go.
//!
//! Why not both: each writes its own word and then reads the other's, with barriers between that make at least one see the other's
//! write. The owner sees that it is wanted and steps back, or the other sees that it is busy and waits.
//!
//! The owner waits by spinning and then yielding its processor: whoever holds the gate does so for some microseconds at a time, and
//! waits for nothing that the owner could have. Whoever comes to hold it lets an owner that was `kept_out` in first: it can't be kept
//! out by one that holds the gate again and again. Where the kernel has no heavy barrier, both sides fence.

use super::atomic::{AtomicU32, Backoff, Ordering, fence};
use super::barrier;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the [module](self).
pub(crate) struct Gate {
    busy: AtomicU32,
    wanted: AtomicU32,
    /// 1 while the owner waits to enter.
    kept_out: AtomicU32,
    /// Whether only the others have to fence.
    lopsided: bool,
    others: Mutex<()>,
}

/// The gate is held as long as this lives.
pub(crate) struct HoldGuard<'a> {
    gate: &'a Gate,
    _others: MutexGuard<'a, ()>,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            busy: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            kept_out: AtomicU32::new(0),
            lopsided: barrier::is_supported(),
            others: Mutex::new(()),
        }
    }

    /// For the owner, who is not inside.
    #[inline(always)]
    pub(crate) fn enter(&self) {
        self.busy.store(1, Ordering::Relaxed);
        self.owners_barrier();
        // ORDERING: Acquire pairs with the Release in the guard's drop: who held it before has seen what it wanted to.
        if self.wanted.load(Ordering::Acquire) != 0 {
            self.enter_later();
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_later(&self) {
        let mut backoff = Backoff::new();
        self.kept_out.store(1, Ordering::Relaxed);
        loop {
            // ORDERING: Release pairs with the Acquire in `hold`.
            self.busy.store(0, Ordering::Release);
            // ORDERING: Acquire pairs with the Release in the guard's drop.
            while self.wanted.load(Ordering::Acquire) != 0 {
                backoff.pause();
            }
            self.busy.store(1, Ordering::Relaxed);
            self.owners_barrier();
            // ORDERING: as in `enter`.
            if self.wanted.load(Ordering::Acquire) == 0 {
                self.kept_out.store(0, Ordering::Relaxed);
                return;
            }
        }
    }

    /// For the owner, who is inside.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        // ORDERING: Release pairs with the Acquire in `hold`: what was done inside can be seen.
        self.busy.store(0, Ordering::Release);
    }

    #[inline(always)]
    fn owners_barrier(&self) {
        // ORDERING: pairs with the barrier in `hold`; see the module.
        if self.lopsided { barrier::light() } else { fence(Ordering::SeqCst) }
    }

    /// Keeps the owner out, from any thread. Whoever is the owner itself must not enter meanwhile.
    pub(crate) fn hold(&self) -> HoldGuard<'_> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let mut backoff = Backoff::new();
        while self.kept_out.load(Ordering::Relaxed) != 0 {
            backoff.pause();
        }
        self.wanted.store(1, Ordering::Relaxed);
        // ORDERING: pairs with the barrier of the owner; see the module.
        if self.lopsided {
            barrier::heavy()
        } else {
            fence(Ordering::SeqCst)
        }
        let mut backoff = Backoff::new();
        // ORDERING: Acquire pairs with the Release in `leave`.
        while self.busy.load(Ordering::Acquire) != 0 {
            backoff.pause();
        }
        HoldGuard { gate: self, _others: others }
    }
}

impl Drop for HoldGuard<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquires of the owner: whoever has looked is done.
        self.gate.wanted.store(0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
#[allow(unsafe_code, reason = "the model watches a cell")]
mod loom_models {
    use super::*;
    use crate::prim::cell::UnsafeCell;
    use loom::sync::Arc;
    use std::collections::HashSet;

    struct Guarded {
        gate: Gate,
        value: UnsafeCell<u32>,
    }

    // SAFETY: the cell is touched inside the gate or while it is held, which the model checks.
    unsafe impl Sync for Guarded {}
    // SAFETY: as above.
    unsafe impl Send for Guarded {}

    /// The owner enters twice, another holds once: never both, and what is seen is as it was left. Reached: before, between and after.
    #[test]
    fn loom_gate_keeps_its_owner_out() {
        let seen: &'static Mutex<HashSet<u32>> = Box::leak(Box::default());
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let guarded = Arc::new(Guarded { gate: Gate::new(), value: UnsafeCell::new(0) });
            let other = {
                let guarded = guarded.clone();
                loom::thread::spawn(move || {
                    let _guard = guarded.gate.hold();
                    // SAFETY: held.
                    guarded.value.with(|value| unsafe { *value })
                })
            };
            for _ in 0..2 {
                guarded.gate.enter();
                // SAFETY: inside.
                guarded.value.with_mut(|value| unsafe { *value += 1 });
                guarded.gate.leave();
            }
            seen.lock().unwrap().insert(other.join().unwrap());
        });
        assert_eq!(seen.lock().unwrap().len(), 3);
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nobody_who_holds_the_gate_finds_its_owner_inside() {
        let gate = Gate::new();
        let inside = AtomicBool::new(false);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let others: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..2_000 {
                            let _guard = gate.hold();
                            assert!(!inside.load(Ordering::Relaxed));
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    gate.enter();
                    inside.store(true, Ordering::Relaxed);
                    std::hint::spin_loop();
                    inside.store(false, Ordering::Relaxed);
                    gate.leave();
                }
            });
            let ends: Vec<_> = others.into_iter().map(|other| other.join()).collect();
            done.store(true, Ordering::Relaxed);
            ends.into_iter().for_each(|end| end.unwrap());
        });
    }
}
