//! What fibers wait for as resources.
//!
//! An object is there while somebody waits for it: the runtime keeps no list of those that nobody waits for.

use crate::source::{Fiber, Look, Object};
use crate::told::{News, Told};
use crate::words::{self, Calendar, Kind, attribute};
use console_api::Attribute;
use console_api::resources::{Resource, Stats, resource};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// News of an object.
pub(crate) type ObjectNews = News<Resource, Stats>;

/// All objects that are waited for.
#[derive(Default)]
pub(crate) struct Objects {
    told: Told<Resource, Stats>,
    seen_first: HashMap<u64, Duration>,
}

impl Objects {
    /// Takes in what these fibers wait for.
    pub(crate) fn see(&mut self, look: &Look, waiting: &[&Fiber], calendar: Calendar) -> Vec<ObjectNews> {
        let mut waiters: BTreeMap<u64, u64> = BTreeMap::new();
        for id in waiting.iter().filter_map(|fiber| fiber.object) {
            *waiters.entry(id).or_default() += 1;
        }
        let mut news = Vec::new();
        for id in self.told.without(|id| waiters.contains_key(&id)) {
            self.seen_first.remove(&id);
            let end = Some(calendar.at(look.uptime).into());
            news.extend(self.told.tell_end(id, |figures| figures.dropped_at = end));
        }
        let listed: HashMap<u64, &Object> = look.objects.iter().map(|object| (object.id, object)).collect();
        for (id, waiters) in waiters {
            let unknown = Object::new(id, "unknown");
            let object = listed.get(&id).copied().unwrap_or(&unknown);
            let created = *self.seen_first.entry(id).or_insert(look.uptime);
            let figures = Stats {
                created_at: Some(calendar.at(created).into()),
                dropped_at: None,
                attributes: particulars(object, waiters),
            };
            news.extend(self.told.tell(id, face(object), figures));
        }
        news
    }

    /// All of them, for a client that knows none.
    pub(crate) fn everything(&self) -> Vec<ObjectNews> {
        self.told.everything().collect()
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
