//! What fibers wait for as resources, and their waits as async operations on them.
//!
//! An object is there while somebody waits for it: the runtime keeps no list of those that nobody waits for. Operations need a resource, so
//! a wait for nothing in particular, such as sleep, stands in the fields of its fiber alone.

use crate::source::{Fiber, Look, Object, State};
use crate::told::{News, Told};
use crate::words::{self, Calendar, Kind, attribute};
use console_api::async_ops::{self, AsyncOp};
use console_api::resources::{self, Resource, resource};
use console_api::{Attribute, PollStats};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// News of objects.
pub(crate) type ObjectNews = News<Resource, resources::Stats>;
/// News of waits.
pub(crate) type WaitNews = News<AsyncOp, async_ops::Stats>;

/// What is known of all objects that are waited for, and of the waits.
#[derive(Default)]
pub(crate) struct Waits {
    objects: Told<Resource, resources::Stats>,
    seen_first: HashMap<u64, Duration>,
    waits: Told<AsyncOp, async_ops::Stats>,
    /// The wait of each fiber that waits for an object.
    of_fibers: HashMap<u64, Wait>,
    last_number: u64,
}

struct Wait {
    number: u64,
    object: u64,
    source: String,
    began: Duration,
}

/// The news of one look.
#[derive(Default)]
pub(crate) struct WaitsNews {
    pub(crate) objects: Vec<ObjectNews>,
    pub(crate) waits: Vec<WaitNews>,
}

impl Waits {
    /// Takes in a look. Only the waits of fibers that are shown are.
    pub(crate) fn see(&mut self, look: &Look, calendar: Calendar, is_shown: impl Fn(u64) -> bool) -> WaitsNews {
        let is_waiting = |fiber: &&Fiber| fiber.state == State::Parked && fiber.object.is_some() && is_shown(fiber.id);
        let waiting: Vec<&Fiber> = look.fibers.iter().filter(is_waiting).collect();
        WaitsNews {
            objects: self.see_objects(look, &waiting, calendar),
            waits: self.see_waits(look, &waiting, calendar),
        }
    }

    /// All there is, for a client that knows nothing.
    pub(crate) fn everything(&self) -> WaitsNews {
        WaitsNews { objects: self.objects.everything().collect(), waits: self.waits.everything().collect() }
    }

    fn see_objects(&mut self, look: &Look, waiting: &[&Fiber], calendar: Calendar) -> Vec<ObjectNews> {
        let listed: HashMap<u64, &Object> = look.objects.iter().map(|object| (object.id, object)).collect();
        let mut waiters: BTreeMap<u64, u64> = BTreeMap::new();
        for id in waiting.iter().filter_map(|fiber| fiber.object) {
            *waiters.entry(id).or_default() += 1;
        }
        let mut news = Vec::new();
        for id in self.objects.without(|id| waiters.contains_key(&id)) {
            self.seen_first.remove(&id);
            news.extend(
                self.objects.tell_end(id, |figures| figures.dropped_at = Some(calendar.at(look.uptime).into())),
            );
        }
        for (id, waiters) in waiters {
            let unknown = Object::new(id, "unknown");
            let object = listed.get(&id).copied().unwrap_or(&unknown);
            let created = *self.seen_first.entry(id).or_insert(look.uptime);
            let figures = resources::Stats {
                created_at: Some(calendar.at(created).into()),
                dropped_at: None,
                attributes: particulars(object, waiters),
            };
            news.extend(self.objects.tell(id, face(object), figures));
        }
        news
    }

    fn see_waits(&mut self, look: &Look, waiting: &[&Fiber], calendar: Calendar) -> Vec<WaitNews> {
        let mut news = Vec::new();
        let seen: HashSet<u64> = waiting.iter().map(|fiber| fiber.id).collect();
        let over: Vec<u64> = self.of_fibers.keys().copied().filter(|id| !seen.contains(id)).collect();
        for fiber in over {
            news.extend(self.end(fiber, look.uptime, calendar));
        }
        for fiber in waiting {
            news.extend(self.see_wait(look.uptime, fiber, calendar));
        }
        news
    }

    /// At most two: the end of the last wait of a fiber, and the begin of this one.
    fn see_wait(&mut self, now: Duration, fiber: &Fiber, calendar: Calendar) -> Vec<WaitNews> {
        let began = fiber.since.map(|since| now.saturating_sub(since));
        if self.of_fibers.get(&fiber.id).is_some_and(|wait| wait.is_still(fiber, began)) {
            return Vec::new();
        }
        let mut news: Vec<WaitNews> = self.end(fiber.id, now, calendar).into_iter().collect();
        self.last_number += 1;
        let began = began.unwrap_or(now);
        let source = fiber.reason.as_deref().unwrap_or("waiting").to_owned();
        let object = fiber.object.unwrap_or_default();
        let operation = AsyncOp {
            id: words::id(self.last_number),
            metadata: Kind::Wait.id(),
            source: source.clone(),
            parent_async_op_id: None,
            resource_id: words::id(object),
        };
        news.extend(self.waits.tell(self.last_number, operation, figures(fiber, calendar, began)));
        self.of_fibers.insert(fiber.id, Wait { number: self.last_number, object, source, began });
        news
    }

    fn end(&mut self, fiber: u64, now: Duration, calendar: Calendar) -> Option<WaitNews> {
        let wait = self.of_fibers.remove(&fiber)?;
        self.waits.tell_end(wait.number, |figures| figures.dropped_at = Some(calendar.at(now.max(wait.began)).into()))
    }
}

impl Wait {
    /// Whether the fiber has waited ever since, and for the same.
    fn is_still(&self, fiber: &Fiber, began: Option<Duration>) -> bool {
        let is_old = began.is_none_or(|began| began <= self.began);
        is_old && fiber.object == Some(self.object) && fiber.reason.as_deref().unwrap_or("waiting") == self.source
    }
}

fn face(object: &Object) -> Resource {
    Resource {
        id: words::id(object.id),
        metadata: Kind::Object.id(),
        concrete_type: object.kind.to_string(),
        kind: Some(resource::Kind { kind: Some(resource::kind::Kind::Other(object.kind.to_string())) }),
        location: None,
        parent_resource_id: None,
        is_internal: false,
    }
}

fn particulars(object: &Object, waiters: u64) -> Vec<Attribute> {
    let number = |name, value: Option<u64>| value.map(|value| attribute(Kind::Object, name, value));
    let attributes = [
        number("object", Some(object.id)),
        number("waiting", Some(waiters)),
        number("capacity", object.capacity),
        number("length", object.length),
        object.closed.map(|closed| attribute(Kind::Object, "closed", closed)),
        number("owner", object.owner),
    ];
    attributes.into_iter().flatten().collect()
}

/// A wait is looked at once, when it begins, and takes no time by itself.
fn figures(fiber: &Fiber, calendar: Calendar, began: Duration) -> async_ops::Stats {
    let began = Some(calendar.at(began).into());
    let place = fiber.place.as_deref().map(|place| attribute(Kind::Wait, "place", place));
    async_ops::Stats {
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
