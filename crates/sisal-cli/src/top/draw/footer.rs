//! The last line: the keys, or the filter while it is typed.

use super::super::app::{App, Editing, View};
use super::super::palette::Palette;
use crate::remote::clean;
use ratatui::text::{Line, Span};

pub(super) fn line(app: &App, palette: Palette) -> Line<'static> {
    if let Editing::Filter(_) = app.editing {
        return Line::from(vec![
            Span::styled("filter: ", palette.key()),
            Span::raw(clean(&app.list.filter).into_owned()),
            Span::styled(" ", palette.chosen()),
            Span::raw("  (Enter keeps it, Esc does not)"),
        ]);
    }
    let keys: &[(&str, &str)] = match app.view {
        _ if app.help => &[("any key", "back"), ("q", "quit")],
        View::List => &[
            ("q", "quit"),
            ("?", "help"),
            ("/", "filter"),
            ("s", "sort"),
            ("Enter", "look"),
            ("g", "graph"),
            ("p", "pause"),
        ],
        View::Fiber(_) | View::Graph => {
            &[("Esc", "back"), ("↑↓", "scroll"), ("p", "pause"), ("?", "help"), ("q", "quit")]
        }
    };
    let mut spans = Vec::new();
    if app.view == View::List && !app.help {
        spans.push(Span::raw(shown(app) + "  "));
    }
    for (key, what) in keys {
        spans.push(Span::styled((*key).to_owned(), palette.key()));
        spans.push(Span::raw(format!(" {what}  ")));
    }
    Line::from(spans)
}

/// Which of the fibers are in the list.
fn shown(app: &App) -> String {
    let (shown, all) = (app.list.rows().len(), app.snapshot.fibers.len());
    match app.list.filter.trim() {
        "" => format!("{} of {all}", if shown == 0 { 0 } else { app.list.chosen() + 1 }),
        filter => format!("{shown} of {all} with {}", clean(filter)),
    }
}
