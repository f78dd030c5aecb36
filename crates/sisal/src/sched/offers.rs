//! Which jobs are worth an offer to others.
//!
//! Forks that are put aside at one place are much alike. To offer a job to those who sleep means to wake somebody. If nobody has taken it by the
//! time its owner comes back, and that is soon, jobs of that place are kept back for some time, twice as long each time (`tree-10`).
//!
//! A place whose last job was on offer for long, or of which nothing is known, or nothing new, is *promising*. An outermost fork there is offered
//! to those who are hungry at once, however many small ones there were before it elsewhere: no fork may come after this one, and it may be
//! long.

use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::cell::Cell;
use std::ptr;

/// For how long jobs are kept back, in nanoseconds.
const KEEP_BACK: u64 = 10_000;
const KEEP_BACK_MOST: u64 = 320_000;

/// How long a job has to be on offer to promise more like it, in nanoseconds: longer than it takes to wake somebody for it.
const LONG: u64 = 50_000;

/// For how long it is remembered that a place has small jobs, in nanoseconds.
const REMEMBERED: u64 = 1_000_000;

/// How many places are known at a time. If all are in use, nothing is expected of others.
const PLACES: usize = 8;

/// See the [module](self). What one worker knows.
#[derive(Default)]
pub(super) struct Offers {
    known: [Cell<Known>; PLACES],
    /// How many offers stand in the worker's ring whose jobs their owners have taken back, or more.
    stale: Cell<usize>,
}

/// What is known of one place.
#[derive(Copy, Clone, Default)]
struct Known {
    place: Option<Place>,
    /// When the last one was offered, and when the next may be.
    offered: Moment,
    not_before: Moment,
    /// Zero if the last one was taken, or on offer for long.
    keep_back: u64,
    is_small: bool,
}

impl Known {
    fn is_of(self, place: Place) -> bool {
        self.place.is_some_and(|same| ptr::eq(same, place))
    }
}

impl Offers {
    /// What is known of `place`, or was of another that has not been used for longest.
    fn entry(&self, place: Place) -> &Cell<Known> {
        let mut entry = &self.known[0];
        for other in &self.known {
            if other.get().is_of(place) {
                return other;
            }
            if other.get().offered < entry.get().offered {
                entry = other;
            }
        }
        entry
    }

    fn known(&self, place: Place) -> Option<Known> {
        Some(self.entry(place).get()).filter(|known| known.is_of(place))
    }

    pub(super) fn is_promising(&self, place: Place, now: Moment) -> bool {
        let known = self.entry(place).get();
        now.0 >= known.offered.0 + REMEMBERED || (known.is_of(place) && !known.is_small)
    }

    pub(super) fn may_offer(&self, place: Place, now: Moment) -> bool {
        self.known(place).is_none_or(|known| now >= known.not_before)
    }

    /// A job is offered.
    pub(super) fn offered(&self, place: Place, now: Moment) {
        let known = self.known(place).filter(|_| !self.is_promising(place, now)).unwrap_or_default();
        let not_before = Moment(now.0 + known.keep_back);
        self.entry(place).set(Known { place: Some(place), offered: now, not_before, ..known });
    }

    /// One that others have seen since then was taken by one of them, or now by its owner.
    pub(super) fn ended(&self, place: Place, since: Moment, now: Moment, was_taken: bool) {
        self.stale.set(self.stale.get() + usize::from(!was_taken));
        let Some(known) = self.known(place) else { return };
        let is_small = now.0 < since.0 + LONG;
        self.entry(place).set(match was_taken {
            _ if !is_small => Known { place: known.place, offered: known.offered, ..Known::default() },
            true => Known { keep_back: 0, is_small, ..known },
            false => Known { keep_back: (known.keep_back * 2).clamp(KEEP_BACK, KEEP_BACK_MOST), is_small, ..known },
        });
    }

    /// How many of `queued` fresh fibers, which are all of the worker's ring, are worth a theft. A guess.
    pub(super) fn worthwhile(&self, queued: usize) -> usize {
        self.stale.set(self.stale.get().min(queued));
        queued - self.stale.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn jobs_of_a_place_that_nobody_takes_are_offered_less_and_less_until_one_is_taken() {
        let (place, elsewhere) = (Location::caller(), { Location::caller() });
        assert_ne!(place, elsewhere);
        let (offers, mut now) = (Offers::default(), Moment(REMEMBERED));
        assert!(offers.is_promising(place, now));
        let mut gaps = Vec::new();
        for _ in 0..10 {
            assert!(offers.may_offer(place, now));
            offers.offered(place, now);
            offers.ended(place, now, now, false);
            assert!(!offers.is_promising(place, now));
            let gap = (0..).find(|gap| offers.may_offer(place, Moment(now.0 + gap * KEEP_BACK))).unwrap();
            now = Moment(now.0 + gap * KEEP_BACK);
            gaps.push(gap);
        }
        assert_eq!(gaps[..6], [0, 1, 2, 4, 8, 16]);
        assert_eq!(gaps[9] * KEEP_BACK, KEEP_BACK_MOST);
        offers.offered(place, now);
        assert!(!offers.may_offer(place, now) && offers.may_offer(elsewhere, now));
        assert!(offers.is_promising(elsewhere, now), "it is another's");
        offers.ended(place, now, now, true);
        let then = Moment(now.0 + KEEP_BACK_MOST);
        assert!(!offers.may_offer(place, now) && offers.may_offer(place, then) && !offers.is_promising(place, then));
        offers.offered(place, then);
        assert!(offers.may_offer(place, then));
    }

    #[test]
    fn nothing_is_expected_of_more_places_than_can_be_known() {
        let (offers, now) = (Offers::default(), Moment(REMEMBERED));
        let places: [Place; PLACES + 1] =
            std::array::from_fn(|_| -> Place { Box::leak(Box::new(*Location::caller())) });
        let (known, one_more) = (&places[..PLACES], places[PLACES]);
        for place in known {
            assert!(offers.is_promising(place, now));
            offers.offered(place, now);
        }
        assert!(known.iter().all(|place| offers.is_promising(place, now)));
        assert!(!offers.is_promising(one_more, now));
        assert!(offers.may_offer(one_more, now), "when it is time to look");
        offers.ended(one_more, now, now, true);
        assert!(known.iter().all(|place| offers.is_promising(place, now)), "that was another's");
        assert!(offers.is_promising(one_more, Moment(now.0 + REMEMBERED)));
    }

    #[test]
    fn what_its_owner_has_taken_back_is_not_worth_a_theft() {
        let (place, offers, now) = (Location::caller(), Offers::default(), Moment(1));
        assert_eq!(offers.worthwhile(3), 3);
        offers.ended(place, now, now, true);
        assert_eq!(offers.worthwhile(3), 3);
        offers.ended(place, now, now, false);
        offers.ended(place, now, now, false);
        assert_eq!(offers.worthwhile(3), 1);
        assert_eq!(offers.worthwhile(1), 0);
        assert_eq!(offers.worthwhile(0), 0);
        assert_eq!(offers.worthwhile(3), 3, "they are gone");
    }

    #[test]
    fn a_place_is_promising_if_its_last_job_was_on_offer_for_long() {
        let (place, offers, now) = (Location::caller(), Offers::default(), Moment(1));
        for was_taken in [false, true] {
            offers.offered(place, now);
            offers.ended(place, now, Moment(now.0 + LONG - 1), was_taken);
            assert!(!offers.is_promising(place, Moment(now.0 + REMEMBERED - 1)));
            let then = Moment(now.0 + REMEMBERED);
            assert!(offers.is_promising(place, then));
            offers.offered(place, then);
            assert!(offers.is_promising(place, then), "until more is known");
            offers.ended(place, then, Moment(then.0 + LONG), was_taken);
            assert!(offers.is_promising(place, now) && offers.may_offer(place, now));
        }
        let long_after = Moment(now.0 + LONG);
        offers.ended(place, long_after, Moment(long_after.0 + 1), false);
        assert!(!offers.is_promising(place, long_after), "that others saw another before says nothing of it");
    }
}
