//! What keys change.

use super::{app, parse, picture, samples, types};
use crate::top::app::{App, Editing, View};
use crate::top::keys::{Wish, press};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The numbers of the fibers in the list.
fn ids(app: &App) -> Vec<u64> {
    app.list.rows().iter().map(|row| app.snapshot.fibers[*row].id).collect()
}

#[test]
fn q_and_control_c_quit_from_everywhere() {
    for before in ["", "g", "?", "p"] {
        let mut app = app(&samples::small());
        types(&mut app, before);
        assert_eq!(types(&mut app, "q"), [Wish::Quit], "after {before:?}");
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(press(&mut app, control_c), Wish::Quit);
    }
    // While a filter is typed, q is a letter.
    let mut app = app(&samples::small());
    types(&mut app, "/q");
    assert_eq!(app.list.filter, "q");
    assert_eq!(press(&mut app, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Wish::Quit);
}

#[test]
fn s_goes_through_the_columns_and_r_turns_the_order_around() {
    let mut app = app(&samples::small());
    assert_eq!(ids(&app), [17, 20, 1, 18, 19]);
    let mut orders = Vec::new();
    for _ in 0..6 {
        types(&mut app, "s");
        orders.push(ids(&app));
    }
    let by = [
        [1, 18, 19, 17, 20],
        [1, 17, 18, 19, 20],
        [18, 1, 17, 19, 20],
        [1, 17, 18, 19, 20],
        [20, 17, 1, 19, 18],
        [17, 20, 1, 18, 19],
    ];
    assert_eq!(orders, by, "since, worker, stack, id, name, state");
    types(&mut app, "Sr");
    assert_eq!(ids(&app), [18, 19, 1, 17, 20], "by name, reversed");
    types(&mut app, "1r");
    assert_eq!(ids(&app), [20, 19, 18, 17, 1]);
}

#[test]
fn a_filter_holds_while_it_is_typed_and_escape_brings_the_old_one_back() {
    let mut app = app(&samples::small());
    types(&mut app, "/chan");
    assert_eq!(ids(&app), [18, 19]);
    assert!(picture(&mut app, 80, 24)[23].starts_with("filter: chan"));
    let _ = press(&mut app, KeyCode::Enter.into());
    assert_eq!(app.editing, Editing::No);
    types(&mut app, "/nel !18");
    assert_eq!(ids(&app), [19]);
    let _ = press(&mut app, KeyCode::Backspace.into());
    assert_eq!(app.list.filter, "channel !1");
    let _ = press(&mut app, KeyCode::Esc.into());
    assert_eq!((app.list.filter.as_str(), ids(&app)), ("chan", vec![18, 19]));
    let _ = press(&mut app, KeyCode::Esc.into());
    assert_eq!(ids(&app).len(), 5);
    types(&mut app, "/zzz");
    assert!(picture(&mut app, 80, 24).iter().any(|line| line == "no fiber has that in it"));
    assert_eq!(app.list.chosen_id(), None);
    let _ = press(&mut app, KeyCode::Enter.into());
    assert_eq!(press(&mut app, KeyCode::Enter.into()), Wish::Nothing, "there is nothing to look at");
}

#[test]
fn the_chosen_fiber_stays_chosen_wherever_it_moves() {
    let mut app = app(&samples::small());
    types(&mut app, "jj");
    assert_eq!(app.list.chosen_id(), Some(1));
    types(&mut app, "4");
    assert_eq!((app.list.chosen_id(), app.list.chosen()), (Some(1), 0));
    types(&mut app, "r");
    assert_eq!((app.list.chosen_id(), app.list.chosen()), (Some(1), 4));
    // When it ends, the row stays, if there is one.
    app.update(parse(&samples::deadlock()));
    assert_eq!((app.list.chosen_id(), app.list.chosen()), (Some(4), 1));
}

#[test]
fn the_window_follows_the_chosen_row_through_very_many() {
    let mut app = app(&samples::crowd());
    let rows = |app: &mut App| {
        let picture = picture(app, 80, 24);
        let is_row = |line: &&String| line.contains("client ");
        let first = |line: &String| line.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        picture.iter().filter(is_row).map(first).collect::<Vec<_>>()
    };
    let height = rows(&mut app).len() as u64;
    assert_eq!(rows(&mut app), (1..=height).collect::<Vec<_>>());
    let _ = press(&mut app, KeyCode::PageDown.into());
    assert_eq!(rows(&mut app), (height + 1..=2 * height).collect::<Vec<_>>());
    let _ = press(&mut app, KeyCode::End.into());
    assert_eq!(rows(&mut app), (samples::CROWD - height + 1..=samples::CROWD).collect::<Vec<_>>());
    let _ = press(&mut app, KeyCode::Up.into());
    assert_eq!(rows(&mut app).last(), Some(&samples::CROWD), "it moves only when it has to");
    let _ = press(&mut app, KeyCode::Home.into());
    assert_eq!(rows(&mut app).first(), Some(&1));
}

#[test]
fn enter_asks_for_a_fiber_and_escape_leads_back() {
    let mut app = app(&samples::small());
    types(&mut app, "jjj");
    assert_eq!(press(&mut app, KeyCode::Enter.into()), Wish::Ask);
    assert_eq!(app.view, View::Fiber(18));
    assert!(app.lacks_details());
    let _ = press(&mut app, KeyCode::Esc.into());
    assert_eq!((app.view, app.list.chosen_id()), (View::List, Some(18)));
}

#[test]
fn pausing_stops_it_and_going_on_asks_at_once() {
    let mut app = app(&samples::small());
    assert_eq!(types(&mut app, "p"), [Wish::Nothing]);
    assert!(app.paused && picture(&mut app, 80, 24)[0].ends_with(" PAUSED"));
    assert_eq!(types(&mut app, "p"), [Wish::Ask]);
    types(&mut app, "++-");
    assert_eq!(app.interval.as_secs(), 2);
}
