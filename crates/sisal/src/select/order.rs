//! In which order a select looks at its arms: from a random one on, in a random direction. So every arm is first equally often, and of
//! any two arms that are ready each wins equally often, wherever they stand.

#[cfg(modelled)]
use crate::prim::checker::random;
#[cfg(not(modelled))]
use std::cell::Cell;

/// See the [module](self).
#[derive(Copy, Clone, Debug)]
pub(super) struct Order {
    start: usize,
    arms: usize,
    /// To the next arm, around all of them: backwards is one less than once around. No processor could guess which way a branch would go.
    step: usize,
}

#[cfg(not(modelled))]
thread_local! {
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// A number from the thread's own generator (a Weyl sequence, mixed), which is plain memory and takes two nanoseconds. Not inlined: in
/// another crate's code the thread's memory is found by two calls more.
#[cfg(not(modelled))]
#[inline(never)]
fn random() -> u64 {
    let next = match SEED.get() {
        0 => fastrand::u64(1..),
        last => last.wrapping_add(0x9E37_79B9_7F4A_7C15),
    };
    SEED.set(next);
    let mixed = (next ^ (next >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ (mixed >> 32)
}

impl Order {
    #[inline]
    pub(super) fn random(arms: usize) -> Order {
        let random = random();
        // The high half picks the start without a division, the lowest bit the direction.
        let start = ((random >> 32) * arms as u64) >> 32;
        let backwards = (random & 1) as usize;
        Order { start: start as usize, arms, step: 1 + backwards * arms.saturating_sub(2) }
    }

    #[inline]
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        let Order { start, arms, step } = self;
        let mut next = start;
        (0..arms).map(move |_| {
            let index = next;
            next = if index + step >= arms { index + step - arms } else { index + step };
            index
        })
    }
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn every_arm_comes_once_in_every_order() {
        for arms in 0..10 {
            for _ in 0..100 {
                let mut seen: Vec<usize> = Order::random(arms).indices().collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..arms));
            }
        }
    }

    #[test]
    fn of_any_two_arms_each_comes_first_about_as_often() {
        const ROUNDS: usize = 10_000;
        for (one, two) in [(0, 1), (0, 7), (2, 5), (3, 4)] {
            let wins = (0..ROUNDS).filter(|_| Order::random(8).indices().find(|&i| i == one || i == two) == Some(one));
            let wins = wins.count();
            assert!((ROUNDS * 45 / 100..ROUNDS * 55 / 100).contains(&wins), "{one} before {two}: {wins}");
        }
    }
}
