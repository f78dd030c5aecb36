//! What fibers wait for: channels, locks, other fibers.

use super::snapshot::or_default;
use super::text::Text;
use serde::Deserialize;
use std::fmt;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Object {
    pub(crate) id: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) kind: Text,
    #[serde(default)]
    pub(crate) capacity: Option<u64>,
    #[serde(default)]
    pub(crate) length: Option<u64>,
    #[serde(default)]
    pub(crate) closed: Option<bool>,
    /// The fiber that holds it.
    #[serde(default)]
    pub(crate) owner: Option<u64>,
    /// Who holds it if no fiber does, in words.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) outsider: Text,
    /// The fiber that it is, if somebody waits for the end of one.
    #[serde(default)]
    pub(crate) fiber: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) waiting_to_send: Vec<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) waiting_to_receive: Vec<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) waiting: Vec<u64>,
}

impl Object {
    /// What its length counts.
    fn contents(&self) -> &'static str {
        match &*self.kind {
            "nursery" => "children",
            "rwlock" => "readers",
            "semaphore" => "permits free",
            "wait group" => "members",
            _ => "inside",
        }
    }
}

/// Its state: `channel, 0 of 8, open`. Not who waits: those are many.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.kind.is_empty() { "object" } else { &self.kind })?;
        if let Some(fiber) = self.fiber {
            write!(f, " {fiber}")?;
        }
        match (self.length, self.capacity) {
            (Some(length), Some(capacity)) => write!(f, ", {length} of {capacity}")?,
            (Some(length), None) => write!(f, ", {length} {}", self.contents())?,
            (None, Some(capacity)) => write!(f, ", for {capacity}")?,
            (None, None) => {}
        }
        match self.closed {
            Some(true) => f.write_str(", closed")?,
            Some(false) => f.write_str(", open")?,
            None => {}
        }
        match self.owner {
            Some(owner) => write!(f, ", held by fiber {owner}"),
            None if !self.outsider.is_empty() => write!(f, ", held by {}", &*self.outsider),
            None => Ok(()),
        }
    }
}
