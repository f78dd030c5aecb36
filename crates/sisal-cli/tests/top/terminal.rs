//! `sisal top` on a real terminal.

use crate::samples;
use crate::server::{Server, ok};
use crate::tmux::Tmux;
use crate::wait::until;
use std::path::Path;

/// `sisal top` in a terminal of this size, as soon as it shows fibers.
fn top(width: u16, height: u16, server: &Server, more: &str) -> Option<Tmux> {
    let tmux = Tmux::open(width, height)?;
    tmux.run(&format!("{more} sisal top -d 0.1 {}; echo ended with $?", server.address()));
    tmux.shows(&["sisal top: ", "WAITS FOR", "quit"]);
    Some(tmux)
}

/// Checks that the shell has its terminal back: its own screen, with a cursor, and what is typed is seen.
#[track_caller]
pub(crate) fn has_it_back(tmux: &Tmux, ended: &str) {
    let screen = tmux.shows(&[&format!("ended with {ended}")]);
    assert!(!screen.contains("WAITS FOR"), "{screen}");
    assert_eq!(tmux.knows("#{alternate_on} #{cursor_flag}"), "0 1");
    tmux.run("stty -a | tr ';' '\\n' | grep -ow -e '-*icanon' -e '-*echo'; echo $((20+3))");
    let screen = tmux.shows(&["\nicanon", "\necho", "\n23"]);
    assert!(screen.contains("stty -a"), "typing is not echoed: {screen}");
}

#[test]
fn it_shows_the_same_at_80x24_and_at_200x50() {
    let server = Server::small();
    let seen =
        ["pid 4242", "up 1h02m", "12 live", "#17 accept loop", "receiving from a channel", "(main.rs:9:9)", "1m01s"];
    for (width, height) in [(80, 24), (200, 50)] {
        let Some(tmux) = top(width, height, &server, "") else { return };
        let screen = tmux.shows(&seen);
        assert_eq!(screen.lines().count(), usize::from(height));
        assert_eq!(screen.contains("SPAWNED AT"), width == 200, "{screen}");
        tmux.keys(&["q"]);
        has_it_back(&tmux, "0");
    }
}

#[test]
fn it_follows_the_size_of_the_terminal() {
    let server = Server::small();
    let Some(tmux) = top(80, 24, &server, "") else { return };
    // Several in a row: it can't be told which of them finds it drawing, and which waiting.
    for size in 0..20 {
        tmux.resize(81 + size, 25);
    }
    tmux.resize(200, 50);
    tmux.until("the wide list", |screen| screen.contains("SPAWNED AT") && screen.lines().count() == 50);
    tmux.resize(40, 8);
    tmux.until("the narrow list", |screen| !screen.contains("SPAWNED AT") && screen.contains("ID"));
    tmux.resize(80, 24);
    tmux.shows(&["#17 accept loop", "WRK", "quit"]);
    tmux.keys(&["C-c"]);
    has_it_back(&tmux, "0");
}

#[test]
fn keys_sort_filter_and_look_into_a_fiber() {
    let server = Server::small();
    let Some(tmux) = top(80, 24, &server, "") else { return };
    tmux.keys(&["/"]);
    tmux.keys(&["-l", "channel"]);
    tmux.shows(&["filter: channel"]);
    tmux.keys(&["Enter"]);
    let screen = tmux.until("the two that receive", |screen| screen.contains("2 of 5 with channel"));
    assert!(!screen.contains("about to go on"), "{screen}");
    tmux.keys(&["Enter"]);
    tmux.shows(&["fiber 18: (main.rs:9:9)", "channel, 0 of 8, open", "app::worker::serve"]);
    tmux.keys(&["Escape"]);
    tmux.shows(&["2 of 5 with channel"]);
    tmux.keys(&["Escape"]);
    // The fiber that was chosen still is.
    tmux.shows(&["4 of 5", "about to go on"]);
    tmux.keys(&["4"]);
    tmux.until("the longest wait first", |screen| screen.contains("SINCE↓"));
    tmux.keys(&["r"]);
    tmux.shows(&["SINCE↑"]);
    tmux.keys(&["?"]);
    tmux.shows(&["reverse the order"]);
    tmux.keys(&["x", "g"]);
    tmux.shows(&["no cycle of fibers", "901: channel, 0 of 8, open"]);
    tmux.keys(&["q"]);
    has_it_back(&tmux, "0");
}

#[test]
fn what_is_new_is_shown_unless_it_is_paused() {
    let server = Server::small();
    let Some(tmux) = top(80, 24, &server, "") else { return };
    tmux.keys(&["p"]);
    tmux.shows(&["PAUSED"]);
    server.says(|_| ok("application/json", &samples::deadlock()));
    tmux.keys(&["Down"]);
    tmux.shows(&["2 of 5"]);
    tmux.keys(&["p"]);
    tmux.shows(&["DEADLOCK", "locking a mutex"]);
    tmux.keys(&["g"]);
    tmux.shows(&["#3 left waits: locking a mutex", "which is where #3 left comes in again"]);
    tmux.keys(&["q"]);
    has_it_back(&tmux, "0");
}

#[test]
fn a_process_that_goes_away_leaves_its_last_state_and_may_come_back() {
    let server = Server::small();
    let Some(tmux) = top(80, 24, &server, "") else { return };
    let port = server.port();
    drop(server);
    tmux.shows(&["GONE, asking on: ", "Connection refused", "#17 accept loop"]);
    let server = Server::at(port, |_| ok("application/json", &samples::deadlock()));
    let screen = tmux.shows(&["left", "right", "locking a mutex"]);
    assert!(!screen.contains("GONE"), "{screen}");
    drop(server);
    tmux.shows(&["GONE"]);
    tmux.keys(&["q"]);
    has_it_back(&tmux, "0");
}

#[test]
fn a_process_that_does_not_answer_holds_up_neither_keys_nor_the_end() {
    let server = Server::small();
    let _stalled;
    let Some(tmux) = top(80, 24, &server, "") else { return };
    _stalled = server.stalls(b"HTTP/1.1 200 OK\r\n");
    let asked = server.requests().len();
    until(|| if server.requests().len() > asked { Ok(()) } else { Err("it asks no more".to_owned()) });
    tmux.keys(&["Down", "g"]);
    tmux.shows(&["objects are waited for"]);
    tmux.keys(&["q"]);
    has_it_back(&tmux, "0");
}

#[test]
fn signals_give_the_terminal_back_and_end_it_as_they_should() {
    for (signal, ended) in [("TERM", "143"), ("INT", "130"), ("HUP", "129")] {
        let server = Server::small();
        let Some(tmux) = Tmux::open(80, 24) else { return };
        tmux.run(&format!("bash -c 'echo $$ > pid; exec sisal top {}'", server.address()));
        tmux.shows(&["WAITS FOR", "#17"]);
        tmux.signal(signal);
        // Not on the same line: after an interrupt a shell does nothing more of that.
        tmux.until("the shell", |screen| screen.matches("ready>").count() == 2);
        tmux.run("echo ended with $?");
        has_it_back(&tmux, ended);
    }
}

#[test]
fn it_ends_when_the_terminal_goes_away() {
    let server = Server::small();
    let Some(tmux) = Tmux::open(80, 24) else { return };
    tmux.run(&format!("bash -c 'echo $$ > pid; exec sisal top {}'", server.address()));
    tmux.shows(&["WAITS FOR", "#17"]);
    let process = format!("/proc/{}", tmux.process());
    drop(tmux);
    until(|| if Path::new(&process).exists() { Err(format!("{process} is still there")) } else { Ok(()) });
}

#[test]
fn names_do_nothing_to_the_terminal() {
    let server = Server::of(samples::hostile());
    for (width, height) in [(80, 24), (200, 50)] {
        let Some(tmux) = top(width, height, &server, "") else { return };
        let screen = tmux.shows(&["\\u{1b}[2J", "\u{4f60}\u{597d}"]);
        assert!(screen.lines().next().unwrap().starts_with("sisal top: \\u{1b}[2J"), "{screen}");
        assert!(screen.trim_end().lines().last().unwrap().contains("quit"), "{screen}");
        tmux.keys(&["q"]);
        has_it_back(&tmux, "0");
    }
}

#[test]
fn there_are_colours_unless_they_are_unwanted_and_never_a_background() {
    let server = Server::small();
    let colours = |more: &str| {
        let tmux = top(80, 24, &server, more)?;
        tmux.shows(&["#17"]);
        Some(tmux.colours())
    };
    let Some(plain) = colours("NO_COLOR=1") else { return };
    let Some(coloured) = colours("") else { return };
    let numbers = |screen: &str| -> Vec<u32> {
        let sequences = screen.split("\x1b[").skip(1).filter_map(|rest| rest.split_once('m'));
        sequences
            .flat_map(|(numbers, _)| numbers.split(';').filter_map(|number| number.parse().ok()).collect::<Vec<_>>())
            .collect()
    };
    let is_colour = |number: &u32| matches!(number, 30..=38 | 90..=97);
    assert!(numbers(&coloured).iter().any(is_colour), "{coloured:?}");
    assert!(!numbers(&plain).iter().any(is_colour), "{plain:?}");
    assert!(!numbers(&coloured).iter().any(|number| matches!(number, 40..=48 | 100..=107)), "{coloured:?}");
}

#[test]
fn very_many_fibers_can_be_moved_through() {
    let server = Server::of(samples::crowd());
    let Some(tmux) = top(80, 24, &server, "") else { return };
    tmux.shows(&["1 of 20000", "client 1 "]);
    tmux.keys(&["End"]);
    tmux.shows(&["20000 of 20000", "client 20000"]);
    tmux.keys(&["4", "Home"]);
    tmux.shows(&["1 of 20000", "20s"]);
    tmux.keys(&["q"]);
    has_it_back(&tmux, "0");
}
