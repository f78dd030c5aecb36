//! CPU-bound work that no compiler and no core can shorten: each round waits for the one before.

use std::hint::black_box;

/// The rounds of about a millisecond.
pub(super) const MILLISECOND: usize = 500_000;

/// So many rounds of xorshift; what comes out depends on all of them.
pub(super) fn spin(seed: u64, rounds: usize) -> u64 {
    // No seed is 0, which xorshift never leaves.
    let mut number = black_box(seed | 1);
    for _ in 0..rounds {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
    }
    black_box(number)
}
