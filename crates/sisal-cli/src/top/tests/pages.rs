//! The pages beside the list: one fiber, the wait graph, the help.

use super::{app, parse, picture, samples, types};
use crate::top::app::{App, View};
use crate::top::keys::{HELP, press};
use ratatui::crossterm::event::KeyCode;

/// The page of a fiber of the small process, with its stack.
fn looking_at(id: u64) -> App {
    let mut app = app(&samples::small());
    app.show(View::Fiber(id));
    app.update_details(id, parse(&samples::one(id)).fibers.pop());
    app
}

#[test]
fn a_fiber_is_shown_with_its_wait_its_company_and_its_stack() {
    let page = picture(&mut looking_at(18), 80, 40);
    let expected = "\
fiber 18: (main.rs:9:9)
  name        -
  state       parked, for 5.2s
  waits       receiving from a channel
  at          src/deep/er/worker.rs:12:5
  worker      1
  spawned at  src/main.rs:9:9
  spawned by  #17 accept loop
  nursery     700
  stack       12K of 192K used at most

waits for object 901
  is          channel, 0 of 8, open
  also there  2
              #19 second (receiving from a channel)
              thread outside (sending to a channel at src/out.rs:1:1 for 10ns)

stack, innermost call first
    0  sisal::park::park
         at park/mod.rs:7
    1  app::worker::serve
         at src/deep/er/worker.rs:12
    2  0x5700";
    let expected: Vec<_> = expected.lines().collect();
    assert_eq!(page[2..2 + expected.len()], expected);
}

#[test]
fn a_fiber_that_has_ended_is_shown_as_it_was_last() {
    let mut app = looking_at(18);
    app.update_details(18, None);
    let page = picture(&mut app, 80, 40).join("\n");
    assert!(page.contains("this fiber has ended; what was known of it last:") && page.contains("app::worker::serve"));
    // What comes late of another changes nothing.
    app.update_details(17, parse(&samples::one(17)).fibers.pop());
    assert!(picture(&mut app, 80, 40).join("\n").contains("fiber 18: "));
}

#[test]
fn a_fiber_without_a_stack_trace_says_why() {
    let mut app = app(&samples::small());
    app.show(View::Fiber(19));
    assert!(picture(&mut app, 80, 40).join("\n").contains("asking for it"));
    app.update_details(19, app.snapshot.fiber(19).cloned());
    assert!(picture(&mut app, 80, 40).join("\n").contains("the feature `stack-traces`"));
}

#[test]
fn a_long_page_is_scrolled_and_no_further_than_its_end() {
    let mut app = looking_at(18);
    let whole = picture(&mut app, 80, 40);
    let whole: Vec<_> = whole[2..39].iter().filter(|line| !line.is_empty()).cloned().collect();
    assert_eq!(picture(&mut app, 80, 12)[2], "fiber 18: (main.rs:9:9)");
    let _ = press(&mut app, KeyCode::Down.into());
    assert_eq!(picture(&mut app, 80, 12)[2], "  name        -");
    let _ = press(&mut app, KeyCode::End.into());
    assert_eq!(picture(&mut app, 80, 12)[10], *whole.last().unwrap());
    let _ = press(&mut app, KeyCode::Down.into());
    let _ = picture(&mut app, 80, 12);
    let _ = press(&mut app, KeyCode::Up.into());
    assert_eq!(
        picture(&mut app, 80, 12)[10],
        whole[whole.len() - 2],
        "scrolling beyond the end leaves nothing to undo"
    );
}

#[test]
fn the_graph_shows_cycles_first_and_then_who_waits_for_what() {
    let mut deadlocked = app(&samples::deadlock());
    types(&mut deadlocked, "g");
    let page = picture(&mut deadlocked, 80, 24);
    let expected = "\
cycle 1: each waits for the next
  #3 left waits: locking a mutex: 501, mutex, held by fiber 4
  #4 right waits: locking a mutex: 502, mutex, held by fiber 3
  which is where #3 left comes in again

2 objects are waited for
501: mutex, held by fiber 4
  <- #3 left (locking a mutex)
502: mutex, held by fiber 3
  <- #4 right (locking a mutex)";
    let expected: Vec<_> = expected.lines().collect();
    assert_eq!(page[3..3 + expected.len()], expected);

    let mut small = app(&samples::small());
    types(&mut small, "g");
    let page = picture(&mut small, 80, 24).join("\n");
    let object = "901: channel, 0 of 8, open\n  <- #18 (main.rs:9:9) (receiving from a channel)";
    assert!(page.contains("no cycle") && page.contains(object), "{page}");
    assert!(page.contains("7 not begun, spawned at src/main.rs:50:5"), "{page}");
}

#[test]
fn the_graph_of_very_many_is_bounded() {
    let mut app = app(&samples::crowd());
    types(&mut app, "g");
    let _ = press(&mut app, KeyCode::End.into());
    let page = picture(&mut app, 80, 24);
    assert_eq!(page[22], "and 19500 more objects");
}

#[test]
fn all_keys_are_in_the_help() {
    let mut app = app(&samples::small());
    types(&mut app, "?");
    let page = picture(&mut app, 80, 24).join("\n");
    assert!(HELP.iter().all(|(keys, what)| page.contains(keys) && page.contains(what)), "{page}");
}
