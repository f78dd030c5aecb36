//! What the keys do.

use super::super::keys::HELP;
use super::super::palette::Palette;
use ratatui::text::{Line, Span};

pub(super) fn lines(palette: Palette) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for (keys, what) in HELP {
        lines.push(Line::styled(format!("  {keys}"), palette.key()));
        lines.push(Line::from(Span::raw(format!("      {what}"))));
    }
    lines
}
