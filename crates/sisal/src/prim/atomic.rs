//! The one door to atomics: std's, or in the models those of their checker (`checker`).

#[cfg(modelled)]
pub(crate) use super::checker::{
    hint::spin_loop,
    sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};
#[cfg(not(modelled))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::yield_now,
};

/// A full fence whose thread has just done an atomic read-modify-write. Its partner is named where it is called.
///
/// On x86_64 that instruction was a full barrier already (every `lock`-prefixed one is), so only the compiler has
/// to be held back; elsewhere, and in the models, this is `fence(SeqCst)`.
#[inline(always)]
pub(crate) fn fence_after_read_modify_write() {
    // ORDERING: both are for the partner of whoever calls this.
    #[cfg(all(target_arch = "x86_64", not(modelled), not(miri)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(modelled), not(miri))))]
    fence(Ordering::SeqCst);
}

/// A full fence. Its partner is named where it is called.
///
/// On x86_64 it is made of an exchange with a word on the stack, which is a full barrier like `mfence` and takes half the time;
/// elsewhere, and in the models, it is `fence(SeqCst)`.
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(modelled), not(miri)))]
    {
        let word = AtomicU32::new(0);
        // ORDERING: nobody else sees the word: it is the `lock` of the instruction that is wanted, for the partner of whoever calls this.
        std::hint::black_box(&word).swap(1, Ordering::SeqCst);
        fence_after_read_modify_write();
    }
    // ORDERING: as above.
    #[cfg(not(all(target_arch = "x86_64", not(modelled), not(miri))))]
    fence(Ordering::SeqCst);
}

/// Waits a moment for another thread that is about to finish a step of a few instructions: spins, and
/// from a while on lets the kernel run it, in case it has been preempted.
pub(crate) struct Backoff(u32);

impl Backoff {
    const SPINS: u32 = 64;
    /// After a lost race, at first: about a microsecond, in which the winner gets some fifty operations done.
    const LOST: u32 = 32;
    const MOST_DOUBLINGS: u32 = 3;
    /// After so many of them the winner has had enough: some fifty microseconds.
    const MOST_LOSSES: u32 = 8;

    pub(crate) fn new() -> Backoff {
        Backoff(0)
    }

    /// After a lost race for `word`, which was `now` then: lets the winner have it for a while, longer each time. Both get more done if it does
    /// not change hands with every operation (`chan-4-4`).
    ///
    /// Returns what to try next: `now`, so that one comes back only when the winner is done with it, which is twice as fast there; or
    /// what the word is by then, if that takes too long.
    #[cold]
    pub(crate) fn lose(&mut self, now: usize, word: &AtomicUsize) -> usize {
        if cfg!(modelled) || cfg!(miri) {
            yield_now();
            return now;
        }
        (0..Self::LOST << self.0.min(Self::MOST_DOUBLINGS)).for_each(|_| spin_loop());
        self.0 += 1;
        if self.0 < Self::MOST_LOSSES { now } else { word.load(Ordering::Relaxed) }
    }

    #[cold]
    pub(crate) fn pause(&mut self) {
        if cfg!(modelled) || cfg!(miri) || self.0 >= Self::SPINS {
            yield_now();
        } else {
            self.0 += 1;
            spin_loop();
        }
    }
}

#[cfg(all(test, not(modelled), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn who_has_lost_often_enough_no_longer_waits_until_the_winner_is_done() {
        let (mut backoff, word) = (Backoff::new(), AtomicUsize::new(0));
        // The winner goes on all the while.
        let losses = (0..).take_while(|&seen| {
            word.store(seen + 1, Ordering::Relaxed);
            backoff.lose(seen, &word) == seen
        });
        assert_eq!(losses.count() as u32 + 1, Backoff::MOST_LOSSES);
    }
}
