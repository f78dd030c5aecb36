//! In which order a select looks at its arms: any order is as likely as any other, so whichever arms are ready, each of them wins equally often,
//! wherever they stand. Of very many arms, from a random one on, in a random direction: every arm is first equally often, and of any two that are
//! ready each wins equally often.
//!
//! An order is drawn as one goes along it, since most looks end early.

#[cfg(modelled)]
use crate::prim::checker::random;
#[cfg(not(modelled))]
use std::cell::Cell;

/// How many arms may come in any order: as many as there are places of four bits in a word.
const FEW: usize = 16;

/// All of them, each in its own place.
const IN_PLACE: u64 = 0xFEDC_BA98_7654_3210;

/// See the [module](self).
#[derive(Copy, Clone, Debug)]
pub(super) struct Order {
    random: u64,
    arms: usize,
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
        Order { random: random(), arms }
    }

    /// The arms, in the same order every time.
    #[inline]
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        let Order { random, arms } = self;
        let (start, step) = self.start_and_step();
        let (mut places, mut last) = (IN_PLACE, start);
        (0..arms).map(move |number| {
            if arms <= FEW {
                let drawn = number + draw(random, number, arms - number);
                // Whoever stands at the drawn place comes now, and whoever stood here goes there.
                let (here, there) = (places >> (4 * number) & 0xF, places >> (4 * drawn) & 0xF);
                places ^= (here ^ there) << (4 * drawn);
                return there as usize;
            }
            let index = last;
            last = if index + step >= arms { index + step - arms } else { index + step };
            index
        })
    }

    /// Backwards is one less than once around: no processor could guess which way a branch would go.
    #[inline]
    fn start_and_step(self) -> (usize, usize) {
        let backwards = (self.random & 1) as usize;
        // The high half picks the start without a division.
        let start = ((self.random >> 32) * self.arms as u64) >> 32;
        (start as usize, 1 + backwards * self.arms.saturating_sub(2))
    }
}

/// A number below `limit`, at most [`FEW`], from the byte of `random` with that number: so none has to wait for another. Some are likelier by a few
/// percent.
#[inline]
fn draw(random: u64, number: usize, limit: usize) -> usize {
    // Of its sixteen bytes half are those of `random`, and half mixed from it.
    let bytes = if number < 8 { random } else { random.wrapping_mul(0x9E37_79B9_7F4A_7C15) };
    ((bytes >> (8 * (number % 8)) & 0xFF) as usize * limit) >> 8
}

#[cfg(all(test, not(modelled)))]
mod tests {
    use super::*;

    #[test]
    fn every_arm_comes_once_in_every_order() {
        for arms in (0..20).chain([100]) {
            for _ in 0..100 {
                let mut seen: Vec<usize> = Order::random(arms).indices().collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..arms));
            }
        }
    }

    #[test]
    fn of_any_arms_that_are_ready_each_comes_first_about_as_often() {
        const ROUNDS: usize = 30_000;
        for (arms, ready) in [(3, vec![0, 1, 2]), (5, vec![1, 2, 3]), (10, vec![3, 4, 5]), (16, vec![0, 1, 7, 15])] {
            let mut wins = vec![0; arms];
            for _ in 0..ROUNDS {
                wins[Order::random(arms).indices().find(|index| ready.contains(index)).unwrap()] += 1;
            }
            let share = ROUNDS / ready.len();
            let is_fair = |&index: &usize| (share * 9 / 10..share * 11 / 10).contains(&wins[index]);
            assert!(ready.iter().all(is_fair), "{ready:?} of {arms}: {wins:?}");
        }
    }

    #[test]
    fn an_order_is_the_same_every_time() {
        for arms in [2, 8, 40] {
            let order = Order::random(arms);
            assert!(order.indices().eq(order.indices()));
        }
    }

    #[test]
    fn of_any_two_arms_each_comes_first_about_as_often() {
        const ROUNDS: usize = 10_000;
        for (arms, one, two) in [(8, 0, 1), (8, 0, 7), (8, 2, 5), (20, 3, 4)] {
            let wins =
                (0..ROUNDS).filter(|_| Order::random(arms).indices().find(|&i| i == one || i == two) == Some(one));
            let wins = wins.count();
            assert!((ROUNDS * 45 / 100..ROUNDS * 55 / 100).contains(&wins), "{one} before {two}: {wins}");
        }
    }
}
