//! What is due when: a worker's timers, in plain memory, touched by that worker alone.
//!
//! A timer is a node in its waiter's frame. Nodes due at the same (rounded) time stand in one row, and an ordered map leads from
//! time to row. Rounding makes the rows few: a million sleeps of up to a second share about two thousand of them, so the map
//! stays in the cache, a node is touched when it comes and when it goes, and one wake-up serves many. A row is an array rather
//! than a list, so that the nodes ahead, which are in no cache, can be prefetched.
//!
//! Rounding is up, by at most 1/32 of the wait and never more than [`MOST_LATE`]: a timer is never early.
#![allow(unsafe_code, reason = "nodes in the frames of their waiters are reached by pointer")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;

/// The most by which rounding makes a timer late, in nanoseconds (about half a millisecond): the `sleepers-30k`
/// benchmark needs it to keep the wake-ups of thirty thousand sleepers few and their lateness below a millisecond.
const MOST_LATE: u64 = 1 << 19;

/// Waits are rounded up to a power of two of at most this part of them.
const ROUNDING_PART: u64 = 32;

/// How many places ahead nodes are prefetched, and what belongs to them.
const NODES_AHEAD: usize = 8;
const OWNERS_AHEAD: usize = 4;

/// A row with more places than this, and more gaps than timers, is put together.
const MOST_PLACES: usize = 64;

/// The most empty rows that are kept for later.
const MOST_SPARE: usize = 64;

/// One timer. It must not move while it is in a queue.
pub(crate) struct Timer<T> {
    /// INVARIANT: the key of the row it stands in and its place there, or none if it stands in none.
    at: Cell<Option<(u64, usize)>>,
    pub(crate) payload: T,
}

impl<T> Timer<T> {
    pub(crate) fn new(payload: T) -> Timer<T> {
        Timer { at: Cell::new(None), payload }
    }

    #[cfg(test)]
    fn is_armed(&self) -> bool {
        self.at.get().is_some()
    }
}

/// The timers due at one time. Those that were removed leave a gap.
struct Row<T> {
    nodes: Vec<Option<NonNull<Timer<T>>>>,
    armed: usize,
}

impl<T> Row<T> {
    /// Moves those who are left together. Whoever waits for one fixed time again and again would leave a gap each time.
    #[cold]
    fn close_gaps(&mut self) {
        self.nodes.retain(Option::is_some);
        for (place, timer) in self.nodes.iter().flatten().enumerate() {
            // SAFETY: timers in a row are alive.
            let at = unsafe { &timer.as_ref().at };
            at.set(at.get().map(|(due, _)| (due, place)));
        }
    }
}

/// See the [module](self). Times are nanoseconds on whatever clock the owner uses.
pub(crate) struct Timers<T> {
    rows: RefCell<BTreeMap<u64, Row<T>>>,
    /// INVARIANT: the first key of `rows`, or the end of time.
    earliest: Cell<u64>,
    /// How many timers stand in the rows.
    len: Cell<usize>,
    /// Empty rows, so that a steady coming and going allocates nothing.
    spare: RefCell<Vec<Row<T>>>,
}

impl<T> Timers<T> {
    pub(crate) fn new() -> Timers<T> {
        Timers {
            rows: RefCell::new(BTreeMap::new()),
            earliest: Cell::new(u64::MAX),
            len: Cell::new(0),
            spare: RefCell::new(Vec::with_capacity(MOST_SPARE)),
        }
    }

    /// When the first timer is due; `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn earliest(&self) -> u64 {
        self.earliest.get()
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// Adds a timer that is due at `due`; `now` only serves to judge how far that may be rounded.
    ///
    /// # Safety
    /// The timer is alive and stays where it is until it is [`remove`](Self::remove)d or [handed out](Self::pop_due).
    pub(crate) unsafe fn insert(&self, timer: NonNull<Timer<T>>, due: u64, now: u64) {
        let due = round_up(due, now);
        let mut rows = self.rows.borrow_mut();
        let row = rows
            .entry(due)
            .or_insert_with(|| self.spare.borrow_mut().pop().unwrap_or_else(|| Row { nodes: Vec::new(), armed: 0 }));
        // SAFETY: alive by the caller's promise.
        let before = unsafe { timer.as_ref() }.at.replace(Some((due, row.nodes.len())));
        debug_assert!(before.is_none(), "INVARIANT: a timer stands in one queue once");
        row.nodes.push(Some(timer));
        row.armed += 1;
        self.len.set(self.len.get() + 1);
        self.earliest.set(self.earliest.get().min(due));
    }

    /// Takes a timer out again, if it still stands here.
    pub(crate) fn remove(&self, timer: &Timer<T>) {
        let Some((due, place)) = timer.at.take() else { return };
        let mut rows = self.rows.borrow_mut();
        let row = rows.get_mut(&due).unwrap_or_else(|| unreachable!("INVARIANT: an armed timer has a row"));
        row.nodes[place] = None;
        row.armed -= 1;
        self.len.set(self.len.get() - 1);
        if row.nodes.len() > MOST_PLACES && row.nodes.len() > 2 * row.armed {
            row.close_gaps();
        }
        if row.armed == 0
            && let Some(row) = rows.remove(&due)
        {
            self.keep(row);
            self.earliest.set(rows.first_key_value().map_or(u64::MAX, |(&key, _)| key));
        }
    }

    fn keep(&self, mut row: Row<T>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < MOST_SPARE {
            row.nodes.clear();
            row.armed = 0;
            spare.push(row);
        }
    }

    /// Takes the timers that are due at `now` and hands them to `fire`, earliest first, equals in the order they came.
    /// `prefetch` is told of some that follow. Neither may touch this queue.
    pub(crate) fn pop_due(
        &self,
        now: u64,
        mut prefetch: impl FnMut(Ahead<'_, T>),
        mut fire: impl FnMut(NonNull<Timer<T>>),
    ) {
        while self.earliest.get() <= now {
            let mut rows = self.rows.borrow_mut();
            let Some((_, row)) = rows.pop_first() else { break };
            self.len.set(self.len.get() - row.armed);
            self.earliest.set(rows.first_key_value().map_or(u64::MAX, |(&key, _)| key));
            for place in 0..row.nodes.len() {
                if let Some(&Some(timer)) = row.nodes.get(place + NODES_AHEAD) {
                    prefetch(Ahead::Node(timer));
                }
                if let Some(&Some(timer)) = row.nodes.get(place + OWNERS_AHEAD) {
                    // SAFETY: timers in a row are alive, and this one has not been fired.
                    prefetch(Ahead::Owner(unsafe { timer.as_ref() }));
                }
                if let Some(timer) = row.nodes[place] {
                    // SAFETY: alive until `fire` lets its owner go on.
                    unsafe { timer.as_ref() }.at.set(None);
                    fire(timer);
                }
            }
            self.keep(row);
        }
    }
}

/// What will be needed soon.
pub(crate) enum Ahead<'a, T> {
    /// A node whose memory is perhaps far away: to be prefetched, not to be read.
    Node(NonNull<Timer<T>>),
    /// A node that was prefetched a while ago: it may be read to prefetch what belongs to it.
    Owner(&'a Timer<T>),
}

fn round_up(due: u64, now: u64) -> u64 {
    let grain = (due.saturating_sub(now) / ROUNDING_PART).clamp(1, MOST_LATE);
    let mask = (1 << grain.ilog2()) - 1;
    due.checked_add(mask).map_or(u64::MAX - 1, |up| up & !mask).min(u64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(timers: &Timers<usize>, now: u64) -> Vec<usize> {
        let mut all = Vec::new();
        // SAFETY: every test keeps its timers alive.
        timers.pop_due(now, |_| (), |timer| all.push(unsafe { timer.as_ref() }.payload));
        all
    }

    #[test]
    fn a_shorter_wait_registered_later_comes_first() {
        let timers = Timers::new();
        let (long, short) = (Timer::new(1), Timer::new(2));
        // SAFETY: both stay where they are to the end of the test.
        unsafe {
            timers.insert(NonNull::from(&long), 1_000_000, 0);
            timers.insert(NonNull::from(&short), 1_000, 0);
        }
        assert!(timers.earliest() <= 1_000 + 1_000 / ROUNDING_PART);
        assert_eq!(fired(&timers, 2_000), [2]);
        assert_eq!(fired(&timers, 2_000_000), [1]);
        assert_eq!(timers.earliest(), u64::MAX);
    }

    #[test]
    fn rounding_is_never_early_and_never_late_by_more_than_promised() {
        for wait in [0, 1, 31, 32, 1_000, 999_999, 16_777_215, 1 << 40] {
            for now in [0, 12_345, 1 << 50] {
                let late = round_up(now + wait, now) - (now + wait);
                assert!(late <= MOST_LATE && late <= wait / ROUNDING_PART, "{wait} at {now}: {late}");
            }
        }
        assert_eq!(round_up(u64::MAX, 0), u64::MAX - 1);
    }

    #[test]
    fn removing_at_random_leaves_exactly_the_others_in_order() {
        let timers = Timers::new();
        let mut random = fastrand::Rng::with_seed(7);
        let nodes: Vec<Timer<usize>> = (0..500).map(Timer::new).collect();
        let mut expected = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            // A wait of nothing is not rounded; a few moments make many equals.
            let due = random.u64(0..20);
            // SAFETY: the nodes stay where they are to the end of the test.
            unsafe { timers.insert(NonNull::from(node), due, due) };
            expected.push((due, number));
        }
        expected.sort_unstable();
        for _ in 0..300 {
            let (_, number) = expected.remove(random.usize(0..expected.len()));
            timers.remove(&nodes[number]);
            timers.remove(&nodes[number]);
            assert_eq!((timers.earliest(), timers.len()), (expected[0].0, expected.len()));
        }
        let rest: Vec<usize> = expected.into_iter().map(|(_, number)| number).collect();
        assert_eq!(fired(&timers, 20), rest);
        assert_eq!(timers.len(), 0);
        assert!(nodes.iter().all(|node| !node.is_armed()));
    }

    /// Some wait for one time again and again while another waits for it all along: the row stays short, and its order.
    #[test]
    fn gaps_in_a_row_do_not_pile_up() {
        let timers = Timers::new();
        let staying: Vec<_> = (0..100).map(Timer::new).collect();
        let coming = Timer::new(1_000);
        let due = 1 << 40;
        for (number, timer) in staying.iter().enumerate() {
            // SAFETY: all stay where they are to the end of the test.
            unsafe {
                timers.insert(NonNull::from(timer), due, 0);
                for _ in 0..100 {
                    timers.insert(NonNull::from(&coming), due, 0);
                    timers.remove(&coming);
                }
            }
            let places = timers.rows.borrow()[&round_up(due, 0)].nodes.len();
            assert!(places <= (2 * (number + 1)).max(MOST_PLACES) + 1, "{places} places for {} timers", number + 1);
        }
        staying.iter().skip(1).step_by(2).for_each(|timer| timers.remove(timer));
        assert_eq!(timers.len(), 50);
        assert_eq!(fired(&timers, u64::MAX - 1), (0..100).step_by(2).collect::<Vec<_>>());
    }
}
