//! Fibers as tasks.

use crate::course::{Course, Stamps};
use crate::source::{Fiber, Look};
use crate::told::{News, Told};
use crate::words::{self, Calendar, Kind, field};
use console_api::tasks::{Stats, Task};
use console_api::{Field, PollStats};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// tokio-console draws a row for each task with every update: beyond some number nobody can use it.
pub(crate) const MOST: usize = 10_000;

/// News of fibers.
pub(crate) type FiberNews = News<Task, Stats>;

/// What is known of all fibers.
#[derive(Default)]
pub(crate) struct Fibers {
    told: Told<Task, Stats>,
    courses: HashMap<u64, Course>,
    /// How many there were too many, at most.
    left_out: u64,
}

/// The news of one look.
#[derive(Default)]
pub(crate) struct FibersNews {
    pub(crate) fibers: Vec<FiberNews>,
    /// How many more fibers are not shown than were said before.
    pub(crate) left_out: u64,
}

impl Fibers {
    /// Takes in a look. The faces of those in `held` stay as they are.
    pub(crate) fn see(&mut self, look: &Look, calendar: Calendar, held: &HashSet<u64>) -> FibersNews {
        let mut news = FibersNews { fibers: self.end_missing(look, calendar), left_out: 0 };
        let mut too_many = 0;
        for fiber in &look.fibers {
            if !self.told.has(fiber.id) && self.told.len() >= MOST {
                too_many += 1;
                continue;
            }
            news.fibers.extend(self.see_one(look.uptime, fiber, calendar, held.contains(&fiber.id)));
        }
        news.left_out = too_many - self.left_out.min(too_many);
        self.left_out = self.left_out.max(too_many);
        news
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.told.has(id)
    }

    /// All of them, for a client that knows none.
    pub(crate) fn everything(&self) -> FibersNews {
        FibersNews { fibers: self.told.everything().collect(), left_out: self.left_out }
    }

    fn see_one(&mut self, now: Duration, fiber: &Fiber, calendar: Calendar, is_held: bool) -> Option<FiberNews> {
        let course = self.courses.entry(fiber.id).and_modify(|course| course.see(now, fiber));
        let course = course.or_insert_with(|| Course::new(now, fiber));
        let stats = stats(course, calendar, fiber.is_deadlocked);
        if is_held { self.told.tell_figures(fiber.id, stats) } else { self.told.tell(fiber.id, task(fiber), stats) }
    }

    fn end_missing(&mut self, look: &Look, calendar: Calendar) -> Vec<FiberNews> {
        let seen: HashSet<u64> = look.fibers.iter().map(|fiber| fiber.id).collect();
        let mut news = Vec::new();
        for id in self.told.without(|id| seen.contains(&id)) {
            let Some(mut course) = self.courses.remove(&id) else { continue };
            course.end(look.uptime);
            news.extend(self.told.tell_end(id, |figures| {
                *figures = stats(&course, calendar, false);
                figures.waker_drops = figures.waker_clones;
                figures.dropped_at = Some(calendar.at(look.uptime).into());
            }));
        }
        news
    }
}

/// The face of a fiber: all that there is no figure for, what it waits for among it.
fn task(fiber: &Fiber) -> Task {
    Task {
        id: words::id(fiber.id),
        metadata: Kind::Fiber.id(),
        kind: console_api::tasks::task::Kind::Spawn.into(),
        fields: fields(fiber),
        parents: fiber.spawned_by.into_iter().map(Into::into).collect(),
        location: Some(words::location(&fiber.spawned_at)),
    }
}

fn fields(fiber: &Fiber) -> Vec<Field> {
    let text = |name, value: Option<&str>| value.map(|value| field(Kind::Fiber, name, value));
    let number = |name, value: Option<u64>| value.map(|value| field(Kind::Fiber, name, value));
    let fields = [
        number("task.id", Some(fiber.id)),
        text("task.name", fiber.name.as_deref()),
        text("kind", Some("fiber")),
        text("state", Some(&fiber.state.to_string())),
        text("reason", fiber.reason.as_deref()),
        text("place", fiber.place.as_deref()),
        number("object", fiber.object),
        number("worker", fiber.worker.map(|worker| worker as u64)),
        number("spawned_by", fiber.spawned_by),
        text("stack", stack(fiber).as_deref()),
    ];
    fields.into_iter().flatten().collect()
}

fn stack(fiber: &Fiber) -> Option<String> {
    let kib = |bytes: u64| bytes.div_ceil(1024);
    match (fiber.stack_used, fiber.stack_size) {
        (Some(used), Some(size)) => Some(format!("{} of {} KiB", kib(used), kib(size))),
        (None, Some(size)) => Some(format!("{} KiB", kib(size))),
        (Some(used), None) => Some(format!("{} KiB used", kib(used))),
        (None, None) => None,
    }
}

/// The figures of a fiber. It has one waker, the record of its wait; tokio-console warns of tasks that have none and don't run, so that is
/// said of a fiber that nobody will wake.
fn stats(course: &Course, calendar: Calendar, is_deadlocked: bool) -> Stats {
    let time = |age: Duration| calendar.at(age).into();
    let Stamps { woken, started, ended } = course.stamps();
    Stats {
        created_at: Some(time(course.born())),
        dropped_at: None,
        wakes: course.wakes(),
        waker_clones: 1,
        waker_drops: u64::from(is_deadlocked),
        last_wake: woken.map(time),
        poll_stats: Some(PollStats {
            polls: course.turns(),
            first_poll: course.first_started().map(time),
            last_poll_started: started.map(time),
            last_poll_ended: ended.map(time),
            busy_time: course.busy().try_into().ok(),
        }),
        self_wakes: 0,
        scheduled_time: course.scheduled().try_into().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::State;

    fn look(ids: impl Iterator<Item = u64>) -> Look {
        let fibers = ids.map(|id| Fiber::new(id, State::Parked, "here")).collect();
        Look { fibers, ..Look::default() }
    }

    #[test]
    fn fibers_that_are_too_many_are_counted_once_and_shown_when_there_is_room() {
        let (mut fibers, calendar, held) = (Fibers::default(), Calendar::new(Duration::ZERO), HashSet::new());
        let all = MOST as u64 + 3;
        let first = fibers.see(&look(0..all), calendar, &held);
        assert_eq!((first.fibers.len(), first.left_out), (MOST, 3));
        let second = fibers.see(&look(0..all), calendar, &held);
        assert_eq!((second.fibers.len(), second.left_out), (0, 0));
        assert_eq!(fibers.everything().left_out, 3);
        let ended: HashSet<u64> = fibers.told.everything().map(|news| news.id).take(2).collect();
        let third = fibers.see(&look((0..all).filter(|id| !ended.contains(id))), calendar, &held);
        // Two ended, two took their places.
        assert_eq!((third.fibers.len(), third.left_out), (4, 0));
        assert_eq!(third.fibers.iter().filter(|news| news.figures.dropped_at.is_some()).count(), 2);
    }

    #[test]
    fn the_face_of_a_fiber_that_is_held_stays_until_it_is_let_go() {
        let (mut fibers, calendar) = (Fibers::default(), Calendar::new(Duration::ZERO));
        let (held, nobody) = (HashSet::from([1]), HashSet::new());
        fibers.see(&look(1..2), calendar, &nobody);
        let mut changed = look(1..2);
        changed.fibers[0].reason = Some("asleep".into());
        assert!(fibers.see(&changed, calendar, &held).fibers.is_empty());
        let news = fibers.see(&changed, calendar, &nobody).fibers;
        assert!(
            news[0]
                .face
                .as_ref()
                .is_some_and(|task| task.fields.iter().any(|field| field.to_string() == "reason=asleep"))
        );
    }
}
