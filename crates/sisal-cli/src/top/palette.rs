//! How things look. Only the terminal's own colours, on its own background, so that it can be read on light and on dark ones; none at all if
//! `NO_COLOR` is set. Nothing is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

#[derive(Copy, Clone, Debug)]
pub(super) struct Palette {
    has_colours: bool,
}

impl Palette {
    pub(super) fn of_environment() -> Palette {
        Palette { has_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    #[cfg(test)]
    pub(super) fn new(has_colours: bool) -> Palette {
        Palette { has_colours }
    }

    fn colour(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Above columns.
    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn key(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(super) fn bar(self) -> Style {
        self.colour(Color::Blue)
    }

    pub(super) fn alert(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Of workers and fibers.
    pub(super) fn state(self, state: &str) -> Style {
        match state {
            "running" => self.colour(Color::Green),
            "ready" | "searching" => self.colour(Color::Magenta),
            "stuck" => self.alert(),
            _ => Style::new(),
        }
    }
}
