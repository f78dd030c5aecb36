//! The small words of the protocol: times, places, fields, and the three kinds of things that are told of.

use console_api as api;
use std::time::{Duration, SystemTime};

/// What a message is about. tokio-console shows nothing of which it does not know the metadata.
#[derive(Copy, Clone)]
pub(crate) enum Kind {
    Fiber = 1,
    Object = 2,
    Wait = 3,
}

impl Kind {
    pub(crate) fn id(self) -> Option<api::MetaId> {
        Some(api::MetaId { id: self as u64 })
    }

    /// The metadata of all kinds, for the first message to a client. Where something was spawned stands with itself.
    pub(crate) fn all() -> api::RegisterMetadata {
        let describe = |kind: Kind, name: &str| api::register_metadata::NewMetadata {
            id: kind.id(),
            metadata: Some(api::Metadata {
                name: name.into(),
                target: "sisal".into(),
                module_path: "sisal".into(),
                kind: api::metadata::Kind::Span.into(),
                level: api::metadata::Level::Trace.into(),
                ..api::Metadata::default()
            }),
        };
        let kinds = [(Kind::Fiber, "fiber"), (Kind::Object, "object"), (Kind::Wait, "wait")];
        api::RegisterMetadata { metadata: kinds.into_iter().map(|(kind, name)| describe(kind, name)).collect() }
    }
}

/// Turns ages of the runtime into times of the world. Taken once, so that a clock that is set moves nothing.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Calendar {
    start: SystemTime,
}

impl Calendar {
    /// The age of the runtime is this now.
    pub(crate) fn new(uptime: Duration) -> Calendar {
        Calendar { start: SystemTime::now().checked_sub(uptime).unwrap_or(SystemTime::UNIX_EPOCH) }
    }

    pub(crate) fn at(self, age: Duration) -> SystemTime {
        self.start.checked_add(age).unwrap_or(self.start)
    }
}

pub(crate) fn id(id: u64) -> Option<api::Id> {
    Some(api::Id { id })
}

pub(crate) fn field(kind: Kind, name: &str, value: impl Into<api::field::Value>) -> api::Field {
    api::Field { metadata_id: kind.id(), name: Some(name.into()), value: Some(value.into()) }
}

pub(crate) fn attribute(kind: Kind, name: &str, value: impl Into<api::field::Value>) -> api::Attribute {
    api::Attribute { field: Some(field(kind, name, value)), unit: None }
}

/// Reads `file:line:column`. What is no number belongs to the file.
pub(crate) fn location(place: &str) -> api::Location {
    let (rest, column) = last_number(place);
    let (rest, line) = if column.is_some() { last_number(rest) } else { (rest, None) };
    // One number alone is the line.
    let (line, column) = if line.is_some() { (line, column) } else { (column, None) };
    api::Location { file: Some(rest.into()), module_path: None, line, column }
}

fn last_number(text: &str) -> (&str, Option<u32>) {
    let split = text.rsplit_once(':').and_then(|(rest, number)| Some((rest, number.parse().ok()?)));
    split.map_or((text, None), |(rest, number)| (rest, Some(number)))
}

#[cfg(test)]
mod tests {
    use super::location;

    #[test]
    fn places_are_read_and_what_is_none_is_shown_as_it_is() {
        let read = |place| {
            let place = location(place);
            (place.file.unwrap(), place.line, place.column)
        };
        assert_eq!(read("src/main.rs:10:5"), ("src/main.rs".into(), Some(10), Some(5)));
        assert_eq!(read("src/main.rs:10"), ("src/main.rs".into(), Some(10), None));
        assert_eq!(read("C:/main.rs:10:5"), ("C:/main.rs".into(), Some(10), Some(5)));
        assert_eq!(read("somewhere"), ("somewhere".into(), None, None));
        assert_eq!(read(""), (String::new(), None, None));
        assert_eq!(read(":::"), (":::".into(), None, None));
    }
}
