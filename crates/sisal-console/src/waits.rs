//! Waits as async operations.
//!
//! An operation needs a resource, so a wait for nothing in particular, such as sleep, stands in the fields of its fiber alone.

use crate::source::{Fiber, Look};
use crate::told::{News, Told};
use crate::words::{self, Calendar, Kind, attribute};
use console_api::PollStats;
use console_api::async_ops::{AsyncOp, Stats};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// News of a wait.
pub(crate) type WaitNews = News<AsyncOp, Stats>;

/// All waits for objects. They are numbered as they are seen.
#[derive(Default)]
pub(crate) struct Waits {
    told: Told<AsyncOp, Stats>,
    /// A fiber is in one at a time.
    of_fibers: HashMap<u64, Wait>,
    last_number: u64,
}

struct Wait {
    number: u64,
    object: u64,
    reason: String,
    began: Duration,
}

impl Waits {
    /// Takes in the waits of these fibers; all others are in none.
    pub(crate) fn see(&mut self, look: &Look, waiting: &[&Fiber], calendar: Calendar) -> Vec<WaitNews> {
        let mut news = Vec::new();
        let in_wait: HashSet<u64> = waiting.iter().map(|fiber| fiber.id).collect();
        for fiber in look.fibers.iter().filter(|fiber| !in_wait.contains(&fiber.id)) {
            news.extend(self.end(fiber.id, entered(look.uptime, fiber), calendar));
        }
        let gone: Vec<u64> = {
            let seen: HashSet<u64> = look.fibers.iter().map(|fiber| fiber.id).collect();
            self.of_fibers.keys().copied().filter(|id| !seen.contains(id)).collect()
        };
        news.extend(gone.into_iter().filter_map(|fiber| self.end(fiber, look.uptime, calendar)));
        for fiber in waiting {
            news.extend(self.see_one(look.uptime, fiber, calendar));
        }
        news
    }

    /// All of them, for a client that knows none.
    pub(crate) fn everything(&self) -> Vec<WaitNews> {
        self.told.everything().collect()
    }

    /// At most two: the end of the last wait of a fiber, and the start of this one.
    fn see_one(&mut self, now: Duration, fiber: &Fiber, calendar: Calendar) -> Vec<WaitNews> {
        let began = entered(now, fiber);
        if self.of_fibers.get(&fiber.id).is_some_and(|wait| wait.is_still(fiber, began)) {
            return Vec::new();
        }
        let mut news: Vec<WaitNews> = self.end(fiber.id, began, calendar).into_iter().collect();
        self.last_number += 1;
        let reason = reason(fiber).to_owned();
        let object = fiber.object.unwrap_or_default();
        let operation = AsyncOp {
            id: words::id(self.last_number),
            metadata: Kind::Wait.id(),
            source: reason.clone(),
            parent_async_op_id: None,
            resource_id: words::id(object),
        };
        news.extend(self.told.tell(self.last_number, operation, figures(fiber, calendar, began)));
        self.of_fibers.insert(fiber.id, Wait { number: self.last_number, object, reason, began });
        news
    }

    /// Ends the wait of a fiber, if it is in one, not later than the fiber was in another state.
    fn end(&mut self, fiber: u64, at: Duration, calendar: Calendar) -> Option<WaitNews> {
        let wait = self.of_fibers.remove(&fiber)?;
        self.told.tell_end(wait.number, |figures| figures.dropped_at = Some(calendar.at(at.max(wait.began)).into()))
    }
}

impl Wait {
    /// Whether the fiber has waited ever since, and for the same. If it is not known since when it waits, nothing speaks against it.
    fn is_still(&self, fiber: &Fiber, began: Duration) -> bool {
        let is_old = fiber.since.is_none() || began <= self.began;
        is_old && fiber.object == Some(self.object) && reason(fiber) == self.reason
    }
}

/// When a fiber entered the state it is in, or when it was seen there, if that is not known.
fn entered(now: Duration, fiber: &Fiber) -> Duration {
    now.saturating_sub(fiber.since.unwrap_or_default())
}

fn reason(fiber: &Fiber) -> &str {
    fiber.reason.as_deref().unwrap_or("waiting")
}

/// A wait is looked at once, when it begins, and takes no time by itself.
fn figures(fiber: &Fiber, calendar: Calendar, began: Duration) -> Stats {
    let began = Some(calendar.at(began).into());
    let place = fiber.place.as_deref().map(|place| attribute(Kind::Wait, "place", place));
    Stats {
        created_at: began,
        dropped_at: None,
        task_id: words::id(fiber.id),
        poll_stats: Some(PollStats {
            polls: 1,
            first_poll: began,
            last_poll_started: began,
            last_poll_ended: began,
            busy_time: Duration::ZERO.try_into().ok(),
        }),
        attributes: place.into_iter().collect(),
    }
}
