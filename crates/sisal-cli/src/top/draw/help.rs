//! What the keys do.

use super::super::keys::HELP;
use super::super::palette::Palette;
use ratatui::text::{Line, Span};

const KEYS: usize = 12;

pub(super) fn lines(palette: Palette) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for (keys, what) in HELP {
        let keys = Span::styled(format!("  {keys:KEYS$}"), palette.key());
        lines.push(Line::from(vec![keys, Span::raw(what)]));
    }
    lines
}
