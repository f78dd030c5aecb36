//! How much is done in one go: what is to be divided, and what is short enough.
//!
//! Work is divided by [`join`](fn@super::join) down to leaves, so all that is left of it consists of jobs: whoever is hungry gets the
//! biggest, and a leaf that waits leaves all of the others to them. A fork that nobody takes costs about 3 ns, so the leaves need not be
//! long, and they must not be: between two of them the worker looks around. They are to take some [`LEAF`] of time.
//!
//! - At first nothing is known. One item is done by itself, and measured; then some more, and so on, up to [`GROWTH`] times as many as before,
//!   always with the rest put aside. A small loop ends on the way, having read the clock a few times.
//! - The *start* is over with the first leaf that is not very short. From then on what is too long is halved, and each leaf of about full
//!   length is measured. One that waits, or is slow, makes the next ones short.
//!
//! Leaves of the start grow by a factor of 4 at least, and it comes once, so work is not divided deeper than some dozens of times.
//!
//! With a grain that was given nothing is measured, nor if there are only [`FEW`] items: each is a leaf then, since forks are cheaper than
//! the clock.

use crate::prim::clock::Moment;
use crate::sched::worker;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How long a leaf is to take, in nanoseconds: a hundred times what it costs to measure one and to look around, and still a short delay for the
/// other fibers of the worker.
const LEAF: u64 = 20_000;

/// A leaf that takes less than this part of the time is very short.
const SHORT: u64 = 4;

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
///     let (left, right) = text.split_at(pace.cut(text.len()));
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
    Learnt(Guess),
}

/// What is known so far. (Relaxed: it is a guess, whoever makes it.)
#[derive(Debug)]
struct Guess {
    /// How many items can be done in time.
    in_time: AtomicUsize,
    is_start: AtomicBool,
}

impl Pace {
    /// For work with so many items.
    ///
    /// ```
    /// let pace = sisal::par::Pace::new(1_000);
    /// // Nothing is known yet: one by itself is measured.
    /// assert!(pace.fits(1) && !pace.fits(2));
    /// ```
    pub fn new(items: usize) -> Pace {
        let guess = || Guess { in_time: AtomicUsize::new(1), is_start: AtomicBool::new(true) };
        Pace(if items <= FEW { Kind::Given(1) } else { Kind::Learnt(guess()) })
    }

    /// At most so many items in one go, whatever time they take; 0 is taken for 1.
    ///
    /// ```
    /// let pace = sisal::par::Pace::grain(100);
    /// assert!(pace.fits(100) && !pace.fits(101));
    /// ```
    pub fn grain(items: usize) -> Pace {
        Pace(Kind::Given(items.max(1)))
    }

    /// Whether so many items are to be done in one go. If not, they are to be divided.
    ///
    /// ```
    /// let pace = sisal::par::Pace::grain(4);
    /// assert!(pace.fits(4));
    /// assert!(!pace.fits(5), "to be divided");
    /// ```
    #[inline]
    pub fn fits(&self, items: usize) -> bool {
        match &self.0 {
            Kind::Given(grain) => items <= *grain,
            Kind::Learnt(guess) => items <= guess.in_time(),
        }
    }

    /// Where so many items, which do not fit, are best divided: not at their ends.
    ///
    /// ```
    /// let pace = sisal::par::Pace::grain(100);
    /// assert_eq!(pace.cut(1_000), 500);
    /// ```
    #[inline]
    pub fn cut(&self, items: usize) -> usize {
        match &self.0 {
            Kind::Learnt(guess) if guess.is_start() => guess.in_time().clamp(1, (items / 2).max(1)),
            _ => items / 2,
        }
    }

    /// Calls `leaf`, which does so many items in one go, and learns from it.
    ///
    /// ```
    /// let pace = sisal::par::Pace::grain(100);
    /// assert_eq!(pace.run(3, || [1, 2, 3].iter().sum::<i32>()), 6);
    /// ```
    #[inline]
    pub fn run<R>(&self, items: usize, leaf: impl FnOnce() -> R) -> R {
        let start = match &self.0 {
            Kind::Learnt(guess) if items > guess.in_time() / 2 => Some((guess, Moment::now())),
            _ => None,
        };
        let result = leaf();
        if let Some((guess, start)) = start {
            guess.learn(items, Moment::now().0 - start.0);
        }
        result
    }
}

impl Guess {
    fn in_time(&self) -> usize {
        self.in_time.load(Ordering::Relaxed)
    }

    fn is_start(&self) -> bool {
        self.is_start.load(Ordering::Relaxed)
    }

    #[cold]
    fn learn(&self, items: usize, nanoseconds: u64) {
        let in_time = (items as u64).saturating_mul(LEAF) / nanoseconds.max(1);
        let in_time = usize::try_from(in_time).unwrap_or(usize::MAX);
        if nanoseconds < LEAF / SHORT {
            self.in_time.fetch_max(in_time.min(items.saturating_mul(GROWTH)), Ordering::Relaxed);
            return;
        }
        self.in_time.store(in_time.max(1), Ordering::Relaxed);
        self.is_start.store(false, Ordering::Relaxed);
        worker::with_current(|worker| worker.into_iter().for_each(|worker| worker.look_at_next_fork()));
    }
}
