//! What a process says of itself: the JSON of `/debug/fibers.json`, as far as it is shown.
//!
//! What can't be done without has to be there; of the rest each part may be missing or null, and what is unknown is passed over, so that
//! a program of one version can look at processes of another.

use super::objects::Object;
use super::text::{Text, clean};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// The version of the JSON that is understood.
const VERSION: u64 = 1;
/// What is told of a complaint of the parser, which may quote what it complains about.
const LONGEST_COMPLAINT: usize = 160;

/// A process at one moment.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Snapshot {
    version: u64,
    pub(crate) runtime: Text,
    #[serde(default)]
    pub(crate) pid: Option<u64>,
    #[serde(default)]
    pub(crate) uptime_ns: Option<u64>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) counts: Counts,
    /// How many fibers are parked for which reason.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) waits: BTreeMap<Text, u64>,
    /// INVARIANT: sorted by number, as are the objects.
    pub(crate) fibers: Vec<Fiber>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) fresh: Vec<Fresh>,
    /// Plain threads that wait in calls of sisal.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) threads: Vec<Thread>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) objects: Vec<Object>,
    /// Of each the first waits for the second, and so on, and the last for the first.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) cycles: Vec<Vec<Link>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Worker {
    pub(crate) index: u64,
    pub(crate) state: Text,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) added: bool,
    /// The fiber that it runs.
    #[serde(default)]
    pub(crate) running: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) homed: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) queued: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Counts {
    pub(crate) live: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) spawned: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) finished: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) running: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) ready: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) parked: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) fresh: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fiber {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) name: Option<Text>,
    pub(crate) state: Text,
    #[serde(default)]
    pub(crate) worker: Option<u64>,
    #[serde(default)]
    pub(crate) reason: Option<Text>,
    #[serde(default)]
    pub(crate) object: Option<u64>,
    #[serde(default)]
    pub(crate) place: Option<Text>,
    #[serde(default)]
    pub(crate) since_ns: Option<u64>,
    #[serde(default)]
    pub(crate) spawned_at: Option<Text>,
    #[serde(default)]
    pub(crate) spawned_by: Option<u64>,
    #[serde(default)]
    pub(crate) stack_size: Option<u64>,
    #[serde(default)]
    pub(crate) stack_used: Option<u64>,
    #[serde(default)]
    pub(crate) nursery: Option<u64>,
    #[serde(default)]
    pub(crate) trace: Option<Vec<Frame>>,
}

impl Fiber {
    /// How long it has been what it is, if that is known. What is told of one that is ready is when it began the wait that is over.
    pub(crate) fn known_ns(&self) -> Option<u64> {
        self.since_ns.filter(|_| &*self.state != "ready")
    }
}

/// A call on a stack.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Frame {
    #[serde(default)]
    pub(crate) function: Option<Text>,
    #[serde(default)]
    pub(crate) file: Option<Text>,
    #[serde(default)]
    pub(crate) line: Option<u64>,
    #[serde(default)]
    pub(crate) address: Option<Text>,
}

/// Fibers that have not begun, by where they were spawned.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fresh {
    #[serde(default)]
    pub(crate) spawned_at: Option<Text>,
    pub(crate) count: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Thread {
    #[serde(default)]
    pub(crate) name: Option<Text>,
    #[serde(default)]
    pub(crate) reason: Option<Text>,
    #[serde(default)]
    pub(crate) object: Option<u64>,
    #[serde(default)]
    pub(crate) place: Option<Text>,
    #[serde(default)]
    pub(crate) since_ns: Option<u64>,
}

/// One fiber of a cycle, and what it waits for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Link {
    #[serde(default)]
    pub(crate) fiber: Option<u64>,
    #[serde(default)]
    pub(crate) reason: Option<Text>,
    #[serde(default)]
    pub(crate) object: Option<u64>,
}

impl Snapshot {
    /// Reads the JSON.
    ///
    /// # Errors
    /// Says in one line what is wrong with it.
    pub(crate) fn parse(json: &[u8]) -> Result<Snapshot, String> {
        match serde_json::from_slice::<Snapshot>(json) {
            Ok(mut snapshot) => {
                check_version(snapshot.version)?;
                snapshot.fibers.sort_by_key(|fiber| fiber.id);
                snapshot.objects.sort_by_key(|object| object.id);
                Ok(snapshot)
            }
            Err(error) => {
                // Another version may well have other fields: then that is what is wrong.
                if let Ok(Versioned { version }) = serde_json::from_slice(json) {
                    check_version(version)?;
                }
                Err(complaint(&error))
            }
        }
    }

    /// The fiber of this number, if it is still there.
    pub(crate) fn fiber(&self, id: u64) -> Option<&Fiber> {
        let position = self.fibers.binary_search_by_key(&id, |fiber| fiber.id).ok()?;
        Some(&self.fibers[position])
    }

    pub(crate) fn object(&self, id: u64) -> Option<&Object> {
        let position = self.objects.binary_search_by_key(&id, |object| object.id).ok()?;
        Some(&self.objects[position])
    }
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

fn check_version(version: u64) -> Result<(), String> {
    if version == VERSION {
        return Ok(());
    }
    Err(format!("it speaks version {version}, and this program only version {VERSION}"))
}

/// What the parser has to say, in one line that is not too long.
pub(crate) fn complaint(error: &serde_json::Error) -> String {
    let reason = clean(&error.to_string()).chars().take(LONGEST_COMPLAINT).collect::<String>();
    match error.classify() {
        serde_json::error::Category::Eof => format!("the JSON is cut off: {reason}"),
        serde_json::error::Category::Data => format!("unexpected JSON: {reason}"),
        _ => format!("not JSON: {reason}"),
    }
}

/// Null is as good as absent.
pub(super) fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
