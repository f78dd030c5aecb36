//! What is drawn, and what keys change of it, on a terminal that is only a buffer.

mod keys;
mod pages;
mod pictures;
#[path = "../../../tests/top/samples.rs"]
mod samples;
mod sizes;

use super::app::App;
use super::arguments::Settings;
use super::draw::draw;
use super::keys::{Wish, press};
use super::palette::Palette;
use super::sort::{Key, Order};
use crate::remote::Snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

fn app(json: &str) -> App {
    let settings =
        Settings { interval: Duration::from_secs(1), once: false, order: Order::by(Key::State), filter: String::new() };
    App::new("127.0.0.1:6060".to_owned(), parse(json), settings)
}

fn parse(json: &str) -> Snapshot {
    Snapshot::parse(json.as_bytes()).unwrap()
}

/// The cells after drawing once.
fn cells(app: &mut App, width: u16, height: u16, palette: Palette) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, palette)).unwrap();
    terminal.backend().buffer().clone()
}

/// The lines that are seen, without the blanks at their ends.
fn picture(app: &mut App, width: u16, height: u16) -> Vec<String> {
    let buffer = cells(app, width, height, Palette::new(true));
    let rows = (0..height).map(|row| {
        let mut line = String::new();
        let mut column = 0;
        while column < width {
            let symbol = buffer[(column, row)].symbol();
            line += symbol;
            // The cell behind a wide character is its second half.
            column += (symbol.width() as u16).max(1);
        }
        assert_eq!(column, width, "a character hangs over the edge: {line}");
        line.trim_end().to_owned()
    });
    rows.collect()
}

/// Types each character of the text.
fn types(app: &mut App, text: &str) -> Vec<Wish> {
    text.chars().map(|character| press(app, KeyCode::Char(character).into())).collect()
}
