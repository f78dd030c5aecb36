//! The list as it should look.

use super::{app, cells, parse, picture, samples};
use crate::top::palette::Palette;
use ratatui::style::Color;

#[test]
fn a_small_process_at_80x24() {
    let picture = picture(&mut app(&samples::small()), 80, 24);
    let expected = [
        "sisal top: sisal  pid 4242  up 1h02m  2 workers (1 added)  127.0.0.1:6… every 1s",
        "fibers: 12 live: 1 running, 1 ready, 3 parked, 7 fresh; 100 spawned, 88 done",
        "WRK STATE     HOMED QUEUED RUNS              PARKED FOR               FIBERS",
        "  0 running       2      3 #17 accept loop   receiving from a channel      2 ███",
        "  1+sleeping      3      0                   joining a fiber               1 █",
        "  ID STATE↓   WRK  SINCE  STACK NAME               WAITS FOR",
        "  17 running    0    1ms   4.0K accept loop        -",
        "  20 ready      1      -      - about to go on     asleep",
        "   1 parked     0  1m01s   8.0K main               joining a fiber",
        "  18 parked     1   5.2s    12K (main.rs:9:9)      receiving from a channel",
        "  19 parked     1   4.0s   4.0K second             receiving from a channel",
    ];
    assert_eq!(picture[..expected.len()], expected);
    assert!(picture[expected.len()..23].iter().all(String::is_empty));
    assert_eq!(picture[23], "1 of 5  q quit  ? help  / filter  s sort  Enter look  g graph  p pause");
}

#[test]
fn a_small_process_at_200x50() {
    let picture = picture(&mut app(&samples::small()), 200, 50);
    assert!(picture[0].ends_with("every 1s"));
    assert!(picture[0].contains("2 workers (1 added)  127.0.0.1:6060 "), "{}", picture[0]);
    for title in ["ID", "STATE↓", "WRK", "SINCE", "STACK", "NAME", "WAITS FOR", "AT", "SPAWNED AT"] {
        assert!(picture[5].split_whitespace().collect::<Vec<_>>().join(" ").contains(title), "{}", picture[5]);
    }
    let row = picture.iter().find(|line| line.trim_start().starts_with("18 ")).unwrap();
    let words: Vec<_> = row.split_whitespace().collect();
    let expected = "18 parked 1 5.2s 12K/192K (main.rs:9:9) receiving from a channel worker.rs:12:5 main.rs:9:9";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn a_deadlock_is_seen_at_once() {
    let picture = picture(&mut app(&samples::deadlock()), 80, 24);
    assert_eq!(picture[2], "DEADLOCK: fibers wait for each other in a cycle; press g");
}

#[test]
fn a_process_that_is_gone_keeps_its_last_state_below_a_line_that_says_so() {
    let mut app = app(&samples::small());
    app.gone = Some("127.0.0.1:6060: can't connect: Connection refused".to_owned());
    let lines = picture(&mut app, 80, 24);
    assert!(lines[0].ends_with(" GONE"), "{}", lines[0]);
    assert_eq!(lines[2], "GONE, asking on: 127.0.0.1:6060: can't connect: Connection refused");
    assert!(lines.iter().any(|line| line.contains("accept loop")));
    app.update(parse(&samples::small()));
    assert!(!picture(&mut app, 80, 24).join("\n").contains("GONE"));
}

#[test]
fn more_workers_and_reasons_than_lines_are_counted() {
    let mut app = app(&samples::crowd());
    let picture = picture(&mut app, 80, 24);
    assert!(picture.iter().any(|line| line.contains("and 59 more: 0 running, 0 stuck, 0 queued")), "{picture:#?}");
    // Those that do something are not among the rest.
    app.snapshot.workers[40].running = Some(7);
    let picture = super::picture(&mut app, 80, 24);
    assert!(picture[3].starts_with(" 40 sleeping    312      0 #7 client 7"), "{picture:#?}");
}

#[test]
fn a_process_without_fibers_says_so() {
    let mut app = app(r#"{"version":1,"runtime":"idle","workers":[],"counts":{"live":0},"fibers":[]}"#);
    let picture = picture(&mut app, 80, 24).join("\n");
    assert!(picture.contains("no fiber has begun and not ended") && picture.contains("0 of 0"), "{picture}");
}

#[test]
fn only_the_terminals_own_colours_are_used_and_no_background() {
    let styles = |palette| {
        let buffer = cells(&mut app(&samples::deadlock()), 80, 24, palette);
        buffer.content.iter().map(|cell| (cell.fg, cell.bg)).collect::<Vec<_>>()
    };
    let coloured = styles(Palette::new(true));
    assert!(coloured.iter().any(|(front, _)| *front != Color::Reset));
    assert!(
        coloured
            .iter()
            .all(|(front, back)| !matches!(front, Color::Rgb(..) | Color::Indexed(_)) && *back == Color::Reset)
    );
    assert!(styles(Palette::new(false)).iter().all(|colours| *colours == (Color::Reset, Color::Reset)));
}
