//! From what is known to the cells of a terminal. Any size will do; what has no room is left out, the least needed first.
//!
//! [`header`] stands on top and [`footer`] at the bottom. Between them are the [`workers`] beside the [`waits`] above the list of
//! [`fibers`]; or a page that may be longer than the terminal: one fiber in [`detail`], the wait [`graph`], or [`help`].

mod detail;
mod fibers;
mod footer;
mod graph;
mod header;
mod help;
mod waits;
mod workers;

pub(super) use graph::cycle_texts;
pub(super) use header::{counts, identity};
pub(super) use waits::sorted;
pub(super) use workers::runs;

use super::app::{App, View};
use super::palette::Palette;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;

/// A terminal with fewer lines has none for workers and waits.
const LOWEST_WITH_PANES: u16 = 14;

pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, palette: Palette) {
    let area = frame.area();
    let header = header::lines(app, palette, area.width.into());
    let heights = [Constraint::Length(header.len() as u16), Constraint::Min(0), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(heights).areas(area);
    lines(frame, top, &header);
    match app.view {
        _ if app.help => page(frame, middle, app, help::lines(palette)),
        View::List => overview(frame, middle, app, palette),
        View::Fiber(id) => page(frame, middle, app, detail::lines(app, id, palette)),
        View::Graph => page(frame, middle, app, graph::lines(&app.snapshot, palette, middle.width.into())),
    }
    lines(frame, bottom, &[footer::line(app, palette)]);
}

fn overview(frame: &mut Frame<'_>, area: Rect, app: &mut App, palette: Palette) {
    let wanted =
        app.snapshot.workers.len().max(app.snapshot.waits.len()).saturating_add(1).try_into().unwrap_or(u16::MAX);
    let height = if frame.area().height < LOWEST_WITH_PANES { 0 } else { wanted.clamp(3, area.height / 3) };
    let [panes, list] = Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    if height > 0 {
        let halves = [Constraint::Fill(6), Constraint::Length(2), Constraint::Fill(5)];
        let [left, _, right] = Layout::horizontal(halves).areas(panes);
        lines(frame, left, &workers::lines(&app.snapshot, palette, left.width.into(), (height - 1).into()));
        lines(frame, right, &waits::lines(&app.snapshot, palette, right.width.into(), (height - 1).into()));
    }
    fibers::draw(frame, list, app, palette);
}

/// As many of the lines as there is room for.
fn lines(frame: &mut Frame<'_>, area: Rect, lines: &[Line<'_>]) {
    for (row, line) in area.rows().zip(lines) {
        frame.render_widget(line, row);
    }
}

/// The part of a long page that is looked at.
fn page(frame: &mut Frame<'_>, area: Rect, app: &mut App, page: Vec<Line<'_>>) {
    app.page = usize::from(area.height).max(1);
    app.scroll = app.scroll.min(page.len().saturating_sub(app.page));
    lines(frame, area, &page[app.scroll..]);
}
