//! How many fibers wait for what, as bars.

use super::super::palette::Palette;
use crate::remote::wording::{fit, fit_right};
use crate::remote::{Snapshot, Text};
use ratatui::text::{Line, Span};

const COUNT: usize = 7;
const LABEL: usize = 24;
const FULL: &str = "█";

/// A heading, and at most so many lines below.
pub(super) fn lines(snapshot: &Snapshot, palette: Palette, width: usize, most: usize) -> Vec<Line<'static>> {
    // A third of a wide terminal is not too much for a long reason.
    let label = LABEL.max(width / 3).min(width.saturating_sub(COUNT));
    let room = width.saturating_sub(label + COUNT + 1);
    let heading = fit("PARKED FOR", label) + &fit_right("FIBERS", COUNT) + &" ".repeat(room + 1);
    let mut lines = vec![Line::styled(heading, palette.heading())];
    let sorted = sorted(snapshot);
    let shown = if sorted.len() > most { most.saturating_sub(1) } else { sorted.len() };
    let largest = sorted.first().map_or(0, |(_, count)| *count);
    lines.extend(sorted[..shown].iter().map(|(reason, count)| {
        Line::from(vec![
            Span::raw(fit(reason, label) + &fit_right(&count.to_string(), COUNT) + " "),
            Span::styled(FULL.repeat(bar(*count, largest, room)), palette.bar()),
        ])
    }));
    if shown < sorted.len() {
        let rest = sorted[shown..].iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let others = format!("and {} more reasons", sorted.len() - shown);
        lines.push(Line::from(fit(&others, label) + &fit_right(&rest.to_string(), COUNT)));
    }
    lines
}

/// The most common first.
pub(in crate::top) fn sorted(snapshot: &Snapshot) -> Vec<(&Text, u64)> {
    let mut waits: Vec<_> = snapshot.waits.iter().map(|(reason, count)| (reason, *count)).collect();
    waits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    waits
}

/// Never nothing for something.
fn bar(count: u64, largest: u64, room: usize) -> usize {
    match (count, largest) {
        (0, _) | (_, 0) => 0,
        _ => ((u128::from(count) * room as u128 / u128::from(largest)) as usize).clamp(room.min(1), room),
    }
}
