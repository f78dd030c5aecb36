//! Dividing work until its pieces are short: what all loops are made of.
//!
//! # How long a piece is
//! A piece is halved by [`join`](fn@super::join) down to leaves, so the rest of a loop always consists of jobs: whoever is hungry
//! gets the biggest, and a leaf that waits leaves all of the others to them. A fork that nobody takes costs about 3 ns, so the leaves
//! need not be long, and they must not be: between two of them the worker looks around. They are to take some [`LEAF`] of time. The
//! first one is a single item and is measured, and the next ones grow with what is learnt: since a loop goes down its left edge first,
//! their lengths are 1, 1, 2, 4 and so on. Nothing is measured that is known to be short, so a small loop reads the clock a few times
//! at most. A leaf that waits, or is slow, makes the next ones short.
//!
//! With a grain that was given nothing is measured.

use super::enter::enter;
use super::join::join_at;
use crate::fiber::in_fiber;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use crate::sched::worker;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How long a leaf is to take, in nanoseconds: 200 times what it costs to measure one and to look around, and still a short delay for the
/// other fibers of the worker.
const LEAF: u64 = 10_000;

/// How much longer the next leaf may be than the longest before, so that a single odd measurement does no harm.
const GROWTH: usize = 16;

/// Work that can be divided: see [`divide`].
pub trait Piece: Send + Sized {
    /// How many items there are in it.
    fn len(&self) -> usize;

    /// Divides it into the first `at` items and the others. `at` is less than the length, and not 0.
    fn split_at(self, at: usize) -> (Self, Self);

    /// Whether there is nothing to be done for it any more. Then it is not divided further.
    fn is_moot(&self) -> bool {
        false
    }

    /// Whether there are no items in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Sync> Piece for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        <[T]>::split_at(self, at)
    }
}

impl<T: Send> Piece for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

/// Divides a piece of work into short ones, calls `leaf` with each, on all workers that have nothing else to do, and merges what comes of
/// two neighbours, in their order, until there is one result.
///
/// This is what the loops of [`iter`](super::iter()) are made of, for work that is no loop over one of their sources. With a `grain` pieces
/// of at most so many items are leaves, else as many as take some microseconds. On a thread outside of all runtimes the whole is one leaf.
///
/// ```
/// sisal::run(|| {
///     let text = "to be or not to be, that is the question".repeat(1_000);
///     let spaces = |piece: &[u8]| piece.iter().filter(|&&byte| byte == b' ').count();
///     assert_eq!(sisal::par::divide(text.as_bytes(), None, spaces, |a, b| a + b), 9_000);
/// });
/// ```
#[track_caller]
pub fn divide<P, R, L, M>(piece: P, grain: Option<usize>, leaf: L, merge: M) -> R
where
    P: Piece,
    R: Send,
    L: Fn(P) -> R + Send + Sync,
    M: Fn(R, R) -> R + Send + Sync,
{
    divide_at(Location::caller(), piece, grain, leaf, merge)
}

pub(super) fn divide_at<P, R, L, M>(place: Place, piece: P, grain: Option<usize>, leaf: L, merge: M) -> R
where
    P: Piece,
    R: Send,
    L: Fn(P) -> R + Send + Sync,
    M: Fn(R, R) -> R + Send + Sync,
{
    enter(place, || {
        if in_fiber() { Division { pace: Pace::new(grain), place, leaf, merge }.run(piece) } else { leaf(piece) }
    })
}

/// One run of [`divide`].
struct Division<L, M> {
    pace: Pace,
    place: Place,
    leaf: L,
    merge: M,
}

impl<L, M> Division<L, M> {
    fn run<P: Piece, R: Send>(&self, piece: P) -> R
    where
        L: Fn(P) -> R + Sync,
        M: Fn(R, R) -> R + Sync,
    {
        let len = piece.len();
        if len <= self.pace.longest() || piece.is_moot() {
            return self.pace.keep(len, || (self.leaf)(piece));
        }
        let (a, b) = piece.split_at(len / 2);
        let (a, b) = join_at(self.place, || self.run(a), || self.run(b));
        (self.merge)(a, b)
    }
}

/// How many items are a leaf.
enum Pace {
    Given(usize),
    /// As many as can be done in time, by what is known so far. (Relaxed: it is a guess, whoever makes it.)
    Learnt(AtomicUsize),
}

impl Pace {
    fn new(grain: Option<usize>) -> Pace {
        grain.map_or_else(|| Pace::Learnt(AtomicUsize::new(1)), |grain| Pace::Given(grain.max(1)))
    }

    #[inline]
    fn longest(&self) -> usize {
        match self {
            Pace::Given(grain) => *grain,
            Pace::Learnt(longest) => longest.load(Ordering::Relaxed),
        }
    }

    /// Runs a leaf of so many items, and learns from it.
    #[inline]
    fn keep<R>(&self, len: usize, leaf: impl FnOnce() -> R) -> R {
        let start = match self {
            Pace::Learnt(longest) if len > longest.load(Ordering::Relaxed) / 2 => Some((longest, Moment::now())),
            _ => None,
        };
        let result = leaf();
        if let Some((longest, start)) = start {
            learn(longest, len, Moment::now().0 - start.0);
        }
        result
    }
}

#[cold]
fn learn(longest: &AtomicUsize, len: usize, nanoseconds: u64) {
    let in_time = (len as u64).saturating_mul(LEAF) / nanoseconds.max(1);
    let most = longest.load(Ordering::Relaxed).saturating_mul(GROWTH);
    longest.store(usize::try_from(in_time).unwrap_or(usize::MAX).clamp(1, most), Ordering::Relaxed);
    if nanoseconds > LEAF / 4 {
        worker::with_current(|worker| worker.into_iter().for_each(|worker| worker.look_at_next_fork()));
    }
}
