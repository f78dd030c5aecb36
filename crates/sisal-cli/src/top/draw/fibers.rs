//! The list of fibers.

use super::super::app::App;
use super::super::columns::{Column, GAP, layout};
use super::super::palette::Palette;
use super::super::sort::Order;
use crate::remote::snapshot::Fiber;
use crate::remote::wording::{fit, fit_right};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, app: &mut App, palette: Palette) {
    let App { list, snapshot, .. } = app;
    let largest = snapshot.fibers.last().map_or(0, |fiber| fiber.id);
    let columns = layout(area.width.into(), largest);
    let mut lines = vec![Line::styled(heading(&columns, list.order), palette.heading())];
    let window = list.window(area.height.saturating_sub(1).into());
    lines.extend(window.iter().map(|row| row_of(&snapshot.fibers[*row], &columns, palette)));
    let chosen = list.chosen_in_window() + 1;
    if let Some(line) = lines.get_mut(chosen) {
        *line = std::mem::take(line).patch_style(palette.chosen());
    }
    if list.rows().is_empty() {
        let filtered = !snapshot.fibers.is_empty();
        lines.push(Line::from(if filtered { "no fiber has that in it" } else { "no fiber has begun and not ended" }));
    }
    super::lines(frame, area, &lines);
}

/// With an arrow at what it is sorted by: down if the list begins as it does by itself.
fn heading(columns: &[(Column, usize)], order: Order) -> String {
    let titles = columns.iter().map(|(column, width)| {
        let title = match column.key() {
            Some(key) if key == order.key => format!("{}{}", column.title(), if order.reversed { '↑' } else { '↓' }),
            _ => column.title().to_owned(),
        };
        cell(&title, *column, *width)
    });
    titles.collect::<Vec<_>>().join(&" ".repeat(GAP))
}

fn row_of(fiber: &Fiber, columns: &[(Column, usize)], palette: Palette) -> Line<'static> {
    let mut spans = Vec::with_capacity(2 * columns.len());
    for (column, width) in columns {
        let text = cell(&column.text(fiber), *column, *width);
        spans.push(match column {
            Column::State => Span::styled(text, palette.state(&fiber.state)),
            _ => Span::raw(text),
        });
        spans.push(Span::raw(" ".repeat(GAP)));
    }
    Line::from(spans)
}

fn cell(text: &str, column: Column, width: usize) -> String {
    if column.is_number() { fit_right(text, width) } else { fit(text, width) }
}
