//! Any terminal will do, and any text.

use super::{app, picture, samples, types};
use crate::top::app::{App, View};

/// Every view of a process.
fn views(json: &str) -> Vec<App> {
    let keys = ["", "g", "?", "/a"].map(|keys| {
        let mut app = app(json);
        types(&mut app, keys);
        app
    });
    let mut fiber = app(json);
    fiber.show(View::Fiber(1));
    fiber.update_details(1, fiber.snapshot.fiber(1).cloned());
    let mut gone = app(json);
    gone.gone = Some("for a reason".to_owned());
    keys.into_iter().chain([fiber, gone]).collect()
}

#[test]
fn every_size_of_terminal_can_be_drawn_on() {
    for json in [samples::deadlock(), samples::hostile()] {
        for mut app in views(&json) {
            for width in [1, 2, 9, 59, 60, 110, 150] {
                for height in [1, 2, 3, 5, 13, 14, 24] {
                    picture(&mut app, width, height);
                }
            }
        }
    }
}

#[test]
fn names_can_not_move_anything() {
    for (width, height) in [(80, 24), (200, 50)] {
        for mut app in views(&samples::hostile()) {
            let picture = picture(&mut app, width, height);
            let text = picture.join("");
            assert!(!text.contains(|character: char| character.is_control() || character == '\u{202e}'), "{text:?}");
            assert!(picture[0].starts_with("sisal top: \\u{1b}[2J\\u{1b}[31mred\\u{7}"), "{picture:#?}");
        }
    }
}

#[test]
fn wide_names_leave_the_columns_behind_them_where_they_are() {
    let mut app = app(&samples::hostile());
    let lines = picture(&mut app, 200, 50);
    let (wide, plain) = (&lines[8 + 3], &lines[8 + 6]);
    assert!(wide.contains("\u{4f60}\u{597d}"), "{wide}");
    let columns_before = |line: &str| {
        let at = line.find("18446").or_else(|| line.find("16E/1")).unwrap();
        unicode_width::UnicodeWidthStr::width(&line[..at])
    };
    assert_eq!(columns_before(wide), columns_before(plain));
}
