//! Who is looked at, how it is, and what is wrong.

use super::super::app::App;
use super::super::palette::Palette;
use crate::remote::Snapshot;
use crate::remote::wording::{cut, duration};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

pub(super) fn lines(app: &App, palette: Palette, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![title(app, palette, width), Line::from(counts(&app.snapshot))];
    lines.extend(alert(app).map(|text| Line::styled(cut(&text, width).into_owned(), palette.alert())));
    lines
}

fn title(app: &App, palette: Palette, width: usize) -> Line<'static> {
    let status = match (&app.gone, app.paused) {
        (_, true) => " PAUSED".to_owned(),
        (Some(_), _) => " GONE".to_owned(),
        _ => format!(" every {}s", app.interval.as_secs_f64()),
    };
    let room = width.saturating_sub(status.width());
    let left = cut(&identity(app), room).into_owned();
    let gap = " ".repeat(room.saturating_sub(left.width()));
    let style = if app.gone.is_some() || app.paused { palette.alert() } else { palette.title() };
    Line::from(vec![Span::styled(left, palette.title()), Span::raw(gap), Span::styled(status, style)])
}

/// Who it is.
pub(in crate::top) fn identity(app: &App) -> String {
    let snapshot = &app.snapshot;
    let mut text = format!("sisal top: {}", snapshot.runtime);
    if let Some(pid) = snapshot.pid {
        text += &format!("  pid {pid}");
    }
    if let Some(uptime) = snapshot.uptime_ns {
        text += &format!("  up {}", duration(uptime));
    }
    let added = snapshot.workers.iter().filter(|worker| worker.added).count();
    text += &format!("  {} worker{}", snapshot.workers.len(), if snapshot.workers.len() == 1 { "" } else { "s" });
    if added > 0 {
        text += &format!(" ({added} added)");
    }
    text + "  " + &app.name
}

/// How many fibers are in which state.
pub(in crate::top) fn counts(snapshot: &Snapshot) -> String {
    let counts = &snapshot.counts;
    format!(
        "fibers: {} live: {} running, {} ready, {} parked, {} fresh; {} spawned, {} done",
        counts.live, counts.running, counts.ready, counts.parked, counts.fresh, counts.spawned, counts.finished
    )
}

/// What somebody should look at.
pub(in crate::top) fn alert(app: &App) -> Option<String> {
    let cycles = app.snapshot.cycles.len();
    match (&app.gone, cycles) {
        (Some(reason), _) => Some(format!("GONE, asking on: {reason}")),
        (None, 0) => None,
        (None, 1) => Some("DEADLOCK: fibers wait for each other in a cycle; press g".to_owned()),
        (None, cycles) => Some(format!("DEADLOCK: fibers wait for each other in {cycles} cycles; press g")),
    }
}
