//! What a key does.

use super::app::{App, Editing, View};
use super::sort::{Key, Order};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

const FASTEST: Duration = Duration::from_millis(100);
const SLOWEST: Duration = Duration::from_secs(3600);

/// The keys, as the help shows them.
pub(super) const HELP: [(&str, &str); 12] = [
    ("q, Ctrl-C", "quit"),
    ("?", "this help, and back"),
    ("↑ ↓ j k", "move, or scroll; PgUp PgDn Home End do so, too"),
    ("Enter", "look at the chosen fiber: wait, stack, who else waits there"),
    ("Esc", "back to the list; on the list, show all fibers again"),
    ("/", "show only fibers that have these words in them, and no !word"),
    ("s S", "sort by the next or the previous column"),
    ("1 to 6", "sort by id, name, state, since, worker, stack"),
    ("r", "reverse the order"),
    ("g", "the wait graph: cycles, who waits for what, what has not begun"),
    ("p, Space", "pause: what is shown stays as it is"),
    ("+ -", "look less often, or more often"),
];

/// What is to be done outside of what is shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Wish {
    Nothing,
    Quit,
    /// Ask the process now.
    Ask,
}

/// How far a key moves.
#[derive(Copy, Clone)]
enum Move {
    Lines(isize),
    Pages(isize),
    Start,
    End,
}

/// Does what the key asks for.
pub(super) fn press(app: &mut App, key: KeyEvent) -> Wish {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if with_control {
        return match key.code {
            KeyCode::Char('c' | 'C') => Wish::Quit,
            _ => Wish::Nothing,
        };
    }
    if let Editing::Filter(before) = &app.editing {
        let before = before.clone();
        return edit(app, key.code, before);
    }
    if let Some(by) = movement(key.code) {
        go(app, by);
        return Wish::Nothing;
    }
    if app.help {
        // Whatever was typed: it is read.
        app.help = false;
        app.scroll = 0;
        return if key.code == KeyCode::Char('q') { Wish::Quit } else { Wish::Nothing };
    }
    command(app, key.code)
}

fn command(app: &mut App, key: KeyCode) -> Wish {
    match key {
        KeyCode::Char('q') => return Wish::Quit,
        KeyCode::Char('?' | 'h') => {
            app.help = true;
            app.scroll = 0;
        }
        KeyCode::Char('p' | ' ') => {
            app.paused = !app.paused;
            return if app.paused { Wish::Nothing } else { Wish::Ask };
        }
        KeyCode::Char('+') => app.interval = app.interval.saturating_mul(2).min(SLOWEST),
        KeyCode::Char('-') => app.interval = (app.interval / 2).max(FASTEST),
        KeyCode::Char('g') if app.view == View::Graph => app.show(View::List),
        KeyCode::Char('g') => app.show(View::Graph),
        KeyCode::Enter => return look(app),
        KeyCode::Esc | KeyCode::Backspace if app.view != View::List => app.show(View::List),
        KeyCode::Esc => filter(app, String::new()),
        KeyCode::Char('/') => {
            app.show(View::List);
            app.editing = Editing::Filter(app.list.filter.clone());
        }
        key => sort(app, key),
    }
    Wish::Nothing
}

/// Looks at the chosen fiber.
fn look(app: &mut App) -> Wish {
    match (app.view, app.list.chosen_id()) {
        (View::List, Some(id)) => {
            app.show(View::Fiber(id));
            Wish::Ask
        }
        _ => Wish::Nothing,
    }
}

fn sort(app: &mut App, key: KeyCode) {
    let order = app.list.order;
    app.list.order = match key {
        KeyCode::Char('s') => order.next(),
        KeyCode::Char('S') => order.previous(),
        KeyCode::Char('r') => order.reverse(),
        KeyCode::Char(digit @ '1'..='6') => Order::by(Key::ALL[digit as usize - '1' as usize]),
        _ => return,
    };
    app.resort();
}

fn filter(app: &mut App, filter: String) {
    app.list.filter = filter;
    app.resort();
}

/// A key while the filter is typed: it holds at once.
fn edit(app: &mut App, key: KeyCode, before: String) -> Wish {
    let mut text = app.list.filter.clone();
    match key {
        KeyCode::Enter => app.editing = Editing::No,
        KeyCode::Esc => {
            app.editing = Editing::No;
            filter(app, before);
        }
        KeyCode::Backspace => {
            text.pop();
            filter(app, text);
        }
        KeyCode::Char(character) => {
            text.push(character);
            filter(app, text);
        }
        key => {
            // The list can be moved meanwhile; letters are text.
            if let Some(by) = movement(key) {
                go(app, by);
            }
        }
    }
    Wish::Nothing
}

fn movement(key: KeyCode) -> Option<Move> {
    Some(match key {
        KeyCode::Up | KeyCode::Char('k') => Move::Lines(-1),
        KeyCode::Down | KeyCode::Char('j') => Move::Lines(1),
        KeyCode::PageUp => Move::Pages(-1),
        KeyCode::PageDown => Move::Pages(1),
        KeyCode::Home => Move::Start,
        KeyCode::End | KeyCode::Char('G') => Move::End,
        _ => return None,
    })
}

fn go(app: &mut App, by: Move) {
    let is_list = app.view == View::List && !app.help;
    let (now, page) = if is_list { (app.list.chosen(), app.list.height()) } else { (app.scroll, app.page) };
    let to = match by {
        Move::Lines(lines) => now.saturating_add_signed(lines),
        Move::Pages(pages) => now.saturating_add_signed(pages.saturating_mul(page as isize)),
        Move::Start => 0,
        Move::End => usize::MAX,
    };
    if let (true, Move::Pages(pages)) = (is_list, by) {
        app.list.shift(pages.saturating_mul(page as isize));
    }
    // What is beyond the end is the end: the list knows it, and a page when it is drawn.
    if is_list { app.list.choose(to, &app.snapshot) } else { app.scroll = to }
}
