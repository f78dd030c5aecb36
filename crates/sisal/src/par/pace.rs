//! How much is done in one go: what is to be divided, and what is short enough.
//!
//! Work is halved by [`join`](fn@super::join) down to leaves, so all that is left of it consists of jobs: whoever is hungry gets the
//! biggest, and a leaf that waits leaves all of the others to them. A fork that nobody takes costs about 3 ns, so the leaves need not be
//! long, and they must not be: between two of them the worker looks around. They are to take some [`LEAF`] of time. The first one is
//! a single item and is measured, and the next ones grow with what is learnt: since work is done from its left edge, their lengths
//! are 1, 1, 2, 4 and so on. Nothing is measured that is known to be short, so little work reads the clock a few times at most. A leaf
//! that waits, or is slow, makes the next ones short.
//!
//! With a grain that was given nothing is measured, nor if there are only [`FEW`] items: each is a leaf then, since forks are cheaper than
//! the clock.

use crate::prim::clock::Moment;
use crate::sched::worker;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How long a leaf is to take, in nanoseconds: 200 times what it costs to measure one and to look around, and still a short delay for the
/// other fibers of the worker.
const LEAF: u64 = 10_000;

/// How much longer the next leaf may be than the longest before, so that a single odd measurement does no harm.
const GROWTH: usize = 16;

/// Up to how many items are leaves of their own, unseen. A fork costs about 3 ns, and to measure one leaf 60.
const FEW: usize = 16;

/// How many items are done in one go, for work that is divided by [`join`](fn@super::join).
///
/// As many as take some microseconds, by what is learnt on the way. The loops of [`iter`](super::iter()) do all this by themselves; it is for
/// work that is not such a loop:
///
/// ```
/// use sisal::par::{self, Pace};
///
/// fn spaces(pace: &Pace, text: &[u8]) -> usize {
///     if pace.fits(text.len()) {
///         return pace.run(text.len(), || text.iter().filter(|&&byte| byte == b' ').count());
///     }
///     let (left, right) = text.split_at(text.len() / 2);
///     let (left, right) = par::join(|| spaces(pace, left), || spaces(pace, right));
///     left + right
/// }
///
/// sisal::run(|| {
///     let text = "to be or not to be, that is the question".repeat(1_000);
///     assert_eq!(spaces(&Pace::new(text.len()), text.as_bytes()), 9_000);
/// });
/// ```
#[derive(Debug)]
pub struct Pace(Kind);

#[derive(Debug)]
enum Kind {
    Given(usize),
    /// As many as can be done in time, by what is known so far. (Relaxed: it is a guess, whoever makes it.)
    Learnt(AtomicUsize),
}

impl Pace {
    /// For work with so many items.
    pub fn new(items: usize) -> Pace {
        Pace(if items <= FEW { Kind::Given(1) } else { Kind::Learnt(AtomicUsize::new(1)) })
    }

    /// At most so many items in one go, whatever time they take; 0 is taken for 1.
    pub fn grain(items: usize) -> Pace {
        Pace(Kind::Given(items.max(1)))
    }

    /// Whether so many items are to be done in one go. If not, they are to be divided.
    #[inline]
    pub fn fits(&self, items: usize) -> bool {
        match &self.0 {
            Kind::Given(grain) => items <= *grain,
            Kind::Learnt(longest) => items <= longest.load(Ordering::Relaxed),
        }
    }

    /// Calls `leaf`, which does so many items in one go, and learns from it.
    #[inline]
    pub fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R {
        let start = match &self.0 {
            Kind::Learnt(longest) if items > longest.load(Ordering::Relaxed) / 2 => Some((longest, Moment::now())),
            _ => None,
        };
        let result = leaf();
        if let Some((longest, start)) = start {
            learn(longest, items, Moment::now().0 - start.0);
        }
        result
    }
}

#[cold]
fn learn(longest: &AtomicUsize, items: usize, nanoseconds: u64) {
    let in_time = (items as u64).saturating_mul(LEAF) / nanoseconds.max(1);
    let most = longest.load(Ordering::Relaxed).saturating_mul(GROWTH);
    longest.store(usize::try_from(in_time).unwrap_or(usize::MAX).clamp(1, most), Ordering::Relaxed);
    if nanoseconds > LEAF / 4 {
        worker::with_current(|worker| worker.into_iter().for_each(|worker| worker.look_at_next_fork()));
    }
}
