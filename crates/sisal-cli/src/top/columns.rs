//! What is shown of each fiber, and how wide.

use super::sort::Key;
use crate::remote::snapshot::Fiber;
use crate::remote::wording::{UNKNOWN, called, duration, file_of, or_unknown, size};
use std::borrow::Cow;

/// From here on there is room for where a fiber waits, and how large its stack may become.
const WIDE: usize = 110;
/// From here on for where it was spawned.
const WIDER: usize = 150;
/// Below this only the most needed is shown.
const NARROW: usize = 60;
/// Between columns.
pub(super) const GAP: usize = 1;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    Name,
    State,
    Worker,
    Since,
    /// As much of its stack as it has ever used.
    Stack,
    /// The same, and its size.
    StackOfSize,
    Reason,
    Place,
    SpawnedAt,
}

impl Column {
    pub(super) fn title(self) -> &'static str {
        match self {
            Column::Id => "ID",
            Column::Name => "NAME",
            Column::State => "STATE",
            Column::Worker => "WRK",
            Column::Since => "SINCE",
            Column::Stack | Column::StackOfSize => "STACK",
            Column::Reason => "WAITS FOR",
            Column::Place => "AT",
            Column::SpawnedAt => "SPAWNED AT",
        }
    }

    /// What sorts by it.
    pub(super) fn key(self) -> Option<Key> {
        match self {
            Column::Id => Some(Key::Id),
            Column::Name => Some(Key::Name),
            Column::State => Some(Key::State),
            Column::Worker => Some(Key::Worker),
            Column::Since => Some(Key::Since),
            Column::Stack | Column::StackOfSize => Some(Key::Stack),
            Column::Reason | Column::Place | Column::SpawnedAt => None,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Column::Id | Column::Worker | Column::Since | Column::Stack | Column::StackOfSize)
    }

    pub(super) fn text(self, fiber: &Fiber) -> Cow<'_, str> {
        match self {
            Column::Id => fiber.id.to_string().into(),
            Column::Name => called(fiber),
            Column::State => Cow::Borrowed(&fiber.state),
            Column::Worker => or_unknown(fiber.worker.map(|worker| worker.to_string())).into(),
            Column::Since => or_unknown(fiber.known_ns().map(duration)).into(),
            Column::Stack => or_unknown(fiber.stack_used.map(size)).into(),
            Column::StackOfSize => match (fiber.stack_used, fiber.stack_size) {
                (used, Some(whole)) => format!("{}/{}", or_unknown(used.map(size)), size(whole)).into(),
                (used, None) => or_unknown(used.map(size)).into(),
            },
            Column::Reason => Cow::Borrowed(fiber.reason.as_deref().unwrap_or(UNKNOWN)),
            Column::Place => Cow::Borrowed(fiber.place.as_deref().map_or(UNKNOWN, file_of)),
            Column::SpawnedAt => Cow::Borrowed(fiber.spawned_at.as_deref().map_or(UNKNOWN, file_of)),
        }
    }
}

/// The columns for a terminal of this width, and the width of each. Ids get the room that the largest needs.
pub(super) fn layout(width: usize, largest_id: u64) -> Vec<(Column, usize)> {
    let id = largest_id.to_string().len().max(4);
    let mut columns = vec![(Column::Id, id), (Column::State, 7)];
    if width >= NARROW {
        columns.push((Column::Worker, 4));
    }
    columns.push((Column::Since, 6));
    if width >= WIDE {
        columns.push((Column::StackOfSize, 11));
    } else if width >= NARROW {
        columns.push((Column::Stack, 6));
    }
    let used: usize = columns.iter().map(|(_, width)| width + GAP).sum();
    let rest = width.saturating_sub(used);
    let shares: &[(Column, usize)] = match width {
        WIDER.. => &[(Column::Name, 3), (Column::Reason, 4), (Column::Place, 3), (Column::SpawnedAt, 3)],
        WIDE.. => &[(Column::Name, 3), (Column::Reason, 4), (Column::Place, 3)],
        _ => &[(Column::Name, 2), (Column::Reason, 3)],
    };
    let parts: usize = shares.iter().map(|(_, share)| share).sum();
    let rest = rest.saturating_sub(GAP * (shares.len() - 1));
    columns.extend(shares.iter().map(|(column, share)| (*column, rest * share / parts)));
    // What rounding has left over is the last one's.
    let last = columns.last_mut().map(|(_, width)| width);
    let given: usize = shares.iter().map(|(_, share)| rest * share / parts).sum();
    last.into_iter().for_each(|last| *last += rest - given);
    columns
}
