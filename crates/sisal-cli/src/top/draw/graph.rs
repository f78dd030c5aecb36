//! The wait graph as text: the cycles first, then what is waited for, the most crowded first, and then fibers that have not begun.

use super::super::palette::Palette;
use super::super::waiters::{self, Awaited};
use super::detail::named;
use crate::remote::Snapshot;
use crate::remote::snapshot::Link;
use crate::remote::wording::{cut, text_or_unknown};
use ratatui::text::Line;

/// More than anybody scrolls through.
const OBJECTS: usize = 500;
/// How many of those who wait are named, each on a line.
const NAMED: usize = 10;

pub(super) fn lines(snapshot: &Snapshot, palette: Palette, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (number, cycle) in snapshot.cycles.iter().enumerate() {
        lines.push(Line::styled(format!("cycle {}: each waits for the next", number + 1), palette.alert()));
        lines.extend(cycle_texts(snapshot, cycle).into_iter().map(Line::from));
        lines.push(Line::default());
    }
    if snapshot.cycles.is_empty() {
        lines.push(Line::from("no cycle of fibers that wait for each other"));
        lines.push(Line::default());
    }
    let all = waiters::all(snapshot);
    let waited_for: Vec<_> = all.iter().filter(|awaited| awaited.count() > 0).collect();
    lines.push(Line::styled(format!("{} objects are waited for", waited_for.len()), palette.title()));
    for awaited in waited_for.iter().take(OBJECTS) {
        object(&mut lines, snapshot, awaited);
    }
    if waited_for.len() > OBJECTS {
        lines.push(Line::from(format!("and {} more objects", waited_for.len() - OBJECTS)));
    }
    for fresh in &snapshot.fresh {
        let place = text_or_unknown(fresh.spawned_at.as_ref());
        lines.push(Line::from(format!("{} not begun, spawned at {place}", fresh.count)));
    }
    for line in &mut lines {
        for span in &mut line.spans {
            span.content = cut(&span.content, width).into_owned().into();
        }
    }
    lines
}

/// A cycle, a line for each that waits, and one that says where it closes.
pub(in crate::top) fn cycle_texts(snapshot: &Snapshot, cycle: &[Link]) -> Vec<String> {
    let who = |link: &Link| link.fiber.map_or("a thread".to_owned(), |id| named(snapshot, id));
    let mut texts: Vec<_> = cycle
        .iter()
        .map(|link| {
            let what = link.object.map(|id| match snapshot.object(id) {
                Some(object) => format!(": {id}, {object}"),
                None => format!(": {id}"),
            });
            format!("  {} waits: {}{}", who(link), text_or_unknown(link.reason.as_ref()), what.unwrap_or_default())
        })
        .collect();
    texts.extend(cycle.first().map(|first| format!("  which is where {} comes in again", who(first))));
    texts
}

fn object(lines: &mut Vec<Line<'static>>, snapshot: &Snapshot, awaited: &Awaited<'_>) {
    let state = awaited.object.map(|object| format!(": {object}")).unwrap_or_default();
    lines.push(Line::from(format!("{}{state}", awaited.id)));
    for (id, reason) in awaited.fibers.iter().take(NAMED) {
        lines.push(Line::from(format!("  <- {} ({reason})", named(snapshot, *id))));
    }
    for thread in awaited.threads.iter().take(NAMED) {
        let (name, reason) = (text_or_unknown(thread.name.as_ref()), text_or_unknown(thread.reason.as_ref()));
        lines.push(Line::from(format!("  <- thread {name} ({reason})")));
    }
    let left_out = awaited.fibers.len().saturating_sub(NAMED) + awaited.threads.len().saturating_sub(NAMED);
    if left_out > 0 {
        lines.push(Line::from(format!("  <- and {left_out} more")));
    }
}
