//! The course of one fiber's life, pieced together from looks.
//!
//! The runtime counts no turns and no times for each fiber, since that would cost something at every switch. What the protocol asks
//! for is estimated: *between two looks a fiber stays in the state it was seen in, until it enters the one it is seen in next.* When
//! that began is known from the look itself, or taken to be the time of the look. A turn that fits between two looks is counted, if the
//! fiber parked anew after it, but its length is not. A fiber that runs at two looks in a row has most likely waited in between, unless
//! it is known since when it runs; that is counted as two turns.
//!
//! All times are ages of the runtime.

use crate::source::{Fiber, State};
use std::time::Duration;

/// What is known of a fiber's past.
#[derive(Debug)]
pub(crate) struct Course {
    born: Duration,
    state: State,
    entered: Duration,
    turns: u64,
    /// In turns that are over.
    busy: Duration,
    /// Before turns that have begun.
    scheduled: Duration,
    woken: Option<Duration>,
    started: Option<Duration>,
    first_started: Option<Duration>,
}

/// When a fiber did last what the protocol asks for. A fiber that started after it ended runs; one that was woken after it started is
/// scheduled: tokio-console tells its state by that.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamps {
    pub(crate) woken: Option<Duration>,
    pub(crate) started: Option<Duration>,
    pub(crate) ended: Option<Duration>,
}

impl Course {
    /// A fiber that is seen for the first time. It has begun, so it had a turn.
    pub(crate) fn new(now: Duration, fiber: &Fiber) -> Course {
        let entered = entered(now, fiber).unwrap_or(now);
        let age = |age| now.saturating_sub(age);
        let mut course = Course {
            born: fiber.age.map_or(entered, age).min(entered),
            state: fiber.state,
            entered,
            turns: fiber.turns.unwrap_or(1),
            busy: Duration::ZERO,
            scheduled: Duration::ZERO,
            woken: None,
            started: None,
            first_started: None,
        };
        course.mark_entry(None);
        course
    }

    /// Looks at it again.
    pub(crate) fn see(&mut self, now: Duration, fiber: &Fiber) {
        let before = self.state;
        let stays = fiber.state == before && before != State::Running;
        let entered = entered(now, fiber).unwrap_or(if stays { self.entered } else { now });
        if fiber.state != before || entered > self.entered {
            self.leave(entered);
            (self.state, self.entered) = (fiber.state, entered);
            self.turns += u64::from(has_run_unseen(before, fiber.state));
            self.mark_entry(Some(before));
        }
        self.turns = fiber.turns.unwrap_or(self.turns);
    }

    /// It was not to be seen any more.
    pub(crate) fn end(&mut self, now: Duration) {
        self.leave(now);
        (self.state, self.entered) = (State::Parked, now);
    }

    pub(crate) fn born(&self) -> Duration {
        self.born
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    /// Each turn but the first was waited for.
    pub(crate) fn wakes(&self) -> u64 {
        self.turns.saturating_sub(1) + u64::from(self.state == State::Ready)
    }

    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }

    pub(crate) fn scheduled(&self) -> Duration {
        self.scheduled
    }

    pub(crate) fn first_started(&self) -> Option<Duration> {
        self.first_started
    }

    pub(crate) fn stamps(&self) -> Stamps {
        let entered = self.entered;
        match self.state {
            State::Running => {
                Stamps { woken: self.woken.map(|woken| woken.min(entered)), started: Some(entered), ended: None }
            }
            State::Ready => {
                let started = self.started.filter(|started| *started < entered);
                Stamps { woken: Some(entered), started, ended: started }
            }
            State::Parked => {
                let started = self.started.unwrap_or(entered).min(entered);
                Stamps {
                    woken: self.woken.map(|woken| woken.min(started)),
                    started: Some(started),
                    ended: Some(entered),
                }
            }
        }
    }

    fn leave(&mut self, until: Duration) {
        let spent = until.saturating_sub(self.entered);
        match self.state {
            State::Running => self.busy += spent,
            State::Ready => self.scheduled += spent,
            State::Parked => {}
        }
    }

    fn mark_entry(&mut self, before: Option<State>) {
        match self.state {
            State::Running => self.started = Some(self.entered),
            State::Ready => self.woken = Some(self.entered),
            // When the turn began that ended here, nobody saw.
            State::Parked if before != Some(State::Running) => self.started = Some(self.entered),
            State::Parked => {}
        }
        self.first_started = self.first_started.or(self.started);
    }
}

/// When the fiber entered its state. None if that is not known.
fn entered(now: Duration, fiber: &Fiber) -> Option<Duration> {
    fiber.since.map(|since| now.saturating_sub(since))
}

/// Whether one more turn has begun if a fiber was seen in one state, and then seen to have entered another.
fn has_run_unseen(before: State, after: State) -> bool {
    match (before, after) {
        // It ended the turn that was counted when it began, or it was woken.
        (State::Running, State::Parked | State::Ready) | (State::Parked, State::Ready) => false,
        (_, State::Running) | (State::Parked | State::Ready, State::Parked) | (State::Ready, State::Ready) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn seen(state: State, since: u64) -> Fiber {
        Fiber { since: Some(ms(since)), ..Fiber::new(1, state, "here") }
    }

    /// As tokio-console tells it.
    fn shown(course: &Course) -> State {
        let Stamps { woken, started, ended } = course.stamps();
        if started > ended {
            State::Running
        } else if woken > started {
            State::Ready
        } else {
            State::Parked
        }
    }

    #[test]
    fn the_stamps_show_the_state_that_was_seen_after_any_other() {
        let states = [State::Running, State::Ready, State::Parked];
        for first in states {
            for second in states {
                for third in states {
                    // The second was entered before the first look, at it, and after it.
                    for since in [0, 5, 10, 15] {
                        let mut course = Course::new(ms(100), &seen(first, 7));
                        assert_eq!(shown(&course), first);
                        course.see(ms(110), &seen(second, since));
                        assert_eq!(shown(&course), second, "after {first}");
                        course.see(ms(120), &seen(third, 3));
                        assert_eq!(shown(&course), third, "after {first} and {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_fiber_that_stays_where_it_is_has_no_new_turn() {
        for state in [State::Running, State::Ready, State::Parked] {
            let mut course = Course::new(ms(100), &seen(state, 10));
            let before = course.stamps();
            course.see(ms(200), &seen(state, 110));
            assert_eq!((course.turns(), course.stamps()), (1, before));
            course.see(ms(300), &Fiber::new(1, state, "here"));
            // It is not known that it has not waited.
            assert_eq!(course.turns(), if state == State::Running { 2 } else { 1 });
        }
    }

    #[test]
    fn a_fiber_that_parked_anew_has_had_a_turn() {
        let mut course = Course::new(ms(100), &seen(State::Parked, 10));
        course.see(ms(200), &seen(State::Parked, 40));
        assert_eq!((course.turns(), course.wakes()), (2, 1));
        course.see(ms(300), &seen(State::Ready, 1));
        assert_eq!((course.turns(), course.wakes()), (2, 2));
        course.see(ms(400), &seen(State::Running, 1));
        assert_eq!((course.turns(), course.wakes()), (3, 2));
        course.see(ms(500), &seen(State::Parked, 1));
        assert_eq!((course.turns(), course.wakes()), (3, 2));
    }

    #[test]
    fn times_go_to_the_state_seen_until_the_next_was_entered() {
        let mut course = Course::new(ms(100), &seen(State::Ready, 10));
        assert_eq!(course.born(), ms(90));
        course.see(ms(200), &seen(State::Running, 80));
        assert_eq!((course.scheduled(), course.busy()), (ms(30), ms(0)));
        course.see(ms(300), &seen(State::Parked, 50));
        assert_eq!((course.scheduled(), course.busy()), (ms(30), ms(130)));
        course.see(ms(400), &seen(State::Running, 10));
        course.end(ms(500));
        assert_eq!((course.scheduled(), course.busy()), (ms(30), ms(240)));
    }

    #[test]
    fn what_the_runtime_knows_is_not_estimated() {
        let known = |now: u64, turns| Fiber { turns: Some(turns), age: Some(ms(now - 40)), ..seen(State::Parked, 1) };
        let mut course = Course::new(ms(100), &known(100, 70));
        assert_eq!((course.born(), course.turns()), (ms(40), 70));
        course.see(ms(200), &known(200, 900));
        assert_eq!((course.born(), course.turns()), (ms(40), 900));
    }
}
