//! Who waits for what, put together from both sides: fibers say what they wait for, and objects who waits for them.

use crate::remote::Snapshot;
use crate::remote::objects::Object;
use crate::remote::snapshot::Thread;
use std::collections::BTreeMap;

/// Something that is waited for.
#[derive(Debug)]
pub(super) struct Awaited<'a> {
    pub(super) id: u64,
    /// What it says of itself, if it does.
    pub(super) object: Option<&'a Object>,
    /// The fibers that wait for it, each with the reason.
    pub(super) fibers: Vec<(u64, &'a str)>,
    pub(super) threads: Vec<&'a Thread>,
}

impl Awaited<'_> {
    pub(super) fn count(&self) -> usize {
        self.fibers.len() + self.threads.len()
    }
}

/// All that is waited for, the most crowded first.
pub(super) fn all(snapshot: &Snapshot) -> Vec<Awaited<'_>> {
    let mut found = BTreeMap::new();
    for object in &snapshot.objects {
        entry(&mut found, object.id).object = Some(object);
    }
    for fiber in &snapshot.fibers {
        if let Some(id) = fiber.object {
            entry(&mut found, id).fibers.push((fiber.id, fiber.reason.as_deref().unwrap_or_default()));
        }
    }
    for thread in &snapshot.threads {
        if let Some(id) = thread.object {
            entry(&mut found, id).threads.push(thread);
        }
    }
    let mut all: Vec<_> = found.into_values().map(with_its_own).collect();
    all.sort_by_key(|awaited| std::cmp::Reverse(awaited.count()));
    all
}

/// The one of this number.
pub(super) fn of(snapshot: &Snapshot, id: u64) -> Awaited<'_> {
    let fibers = snapshot.fibers.iter().filter(|fiber| fiber.object == Some(id));
    with_its_own(Awaited {
        id,
        object: snapshot.object(id),
        fibers: fibers.map(|fiber| (fiber.id, fiber.reason.as_deref().unwrap_or_default())).collect(),
        threads: snapshot.threads.iter().filter(|thread| thread.object == Some(id)).collect(),
    })
}

fn entry<'m, 'a>(found: &'m mut BTreeMap<u64, Awaited<'a>>, id: u64) -> &'m mut Awaited<'a> {
    found.entry(id).or_insert_with(|| Awaited { id, object: None, fibers: Vec::new(), threads: Vec::new() })
}

/// Adds the fibers that the object knows of and that don't name it: one that selects waits for several, and names one.
fn with_its_own(mut awaited: Awaited<'_>) -> Awaited<'_> {
    let Some(object) = awaited.object else { return awaited };
    let lists =
        [(&object.waiting_to_send, "sending"), (&object.waiting_to_receive, "receiving"), (&object.waiting, "waiting")];
    let known: std::collections::BTreeSet<_> = awaited.fibers.iter().map(|(id, _)| *id).collect();
    let more = lists.into_iter().flat_map(|(ids, reason)| ids.iter().map(move |id| (*id, reason)));
    awaited.fibers.extend(more.filter(|(id, _)| !known.contains(id)));
    awaited
}
