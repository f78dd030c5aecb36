//! `sisal top` where there is no terminal: one look, as plain text.

use crate::program::{Directory, Program};
use crate::samples;
use crate::server::Server;

fn lines(program: Program) -> Vec<String> {
    String::from_utf8(program.output()).unwrap().lines().map(str::to_owned).collect()
}

/// The numbers of the fibers, in the order they are shown.
fn ids(lines: &[String]) -> Vec<u64> {
    let table = lines.iter().skip_while(|line| !line.trim_start().starts_with("ID")).skip(1);
    table.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

#[test]
fn all_is_printed_that_the_live_view_shows() {
    let (directory, server) = (Directory::new(), Server::small());
    let lines = lines(directory.sisal(&["top", &server.address()]));
    let expected = format!(
        "sisal top: sisal  pid 4242  up 1h02m  2 workers (1 added)  {}
fibers: 12 live: 1 running, 1 ready, 3 parked, 7 fresh; 100 spawned, 88 done

 WRK STATE         HOMED   QUEUED  RUNS
   0 running           2        3  #17 accept loop
   1 sleeping          3        0

  FIBERS  PARKED FOR
       2  receiving from a channel
       1  joining a fiber

   FRESH  SPAWNED AT
       7  src/main.rs:50:5

ID  STATE    WRK  SINCE      STACK  NAME            WAITS FOR                 AT              SPAWNED AT
17  running    0    1ms  4.0K/192K  accept loop     -                         -               main.rs:7:9
20  ready      1      -     -/192K  about to go on  asleep                    main.rs:40:5    main.rs:9:9
 1  parked     0  1m01s  8.0K/192K  main            joining a fiber           main.rs:30:9    main.rs:3:1
18  parked     1   5.2s   12K/192K  (main.rs:9:9)   receiving from a channel  worker.rs:12:5  main.rs:9:9
19  parked     1   4.0s  4.0K/192K  second          receiving from a channel  worker.rs:12:5  main.rs:9:9",
        server.address()
    );
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    assert_eq!(server.requests()[0].path, "/debug/fibers.json?traces=0");
}

#[test]
fn fibers_are_sorted_and_chosen_as_the_command_line_says() {
    let (directory, server) = (Directory::new(), Server::small());
    let look = |more: &[&str]| ids(&lines(directory.sisal(&[&["top", "--once", &server.address()], more].concat())));
    assert_eq!(look(&["--sort", "id"]), [1, 17, 18, 19, 20]);
    assert_eq!(look(&["--sort", "name"]), [20, 17, 1, 19, 18], "those without a name come last");
    assert_eq!(look(&["--sort", "since"]), [1, 18, 19, 17, 20]);
    assert_eq!(look(&["--sort", "worker"]), [1, 17, 18, 19, 20]);
    assert_eq!(look(&["--sort", "stack"]), [18, 1, 17, 19, 20]);
    assert_eq!(look(&["--filter", "CHANNEL"]), [18, 19]);
    assert_eq!(look(&["--filter", "channel !second"]), [18]);
    assert_eq!(look(&["--filter", "#17"]), [17]);
    assert_eq!(look(&["--filter", "nothing of the kind"]), [0; 0]);
}

#[test]
fn a_deadlock_is_told_with_its_cycle() {
    let (directory, server) = (Directory::new(), Server::of(samples::deadlock()));
    let lines = lines(directory.sisal(&["top", &server.address()]));
    let at = lines.iter().position(|line| line.starts_with("DEADLOCK")).unwrap();
    let cycle = [
        "DEADLOCK: cycle 1, each waits for the next",
        "  #3 left waits: locking a mutex: 501, mutex, held by fiber 4",
        "  #4 right waits: locking a mutex: 502, mutex, held by fiber 3",
        "  which is where #3 left comes in again",
    ];
    assert_eq!(lines[at..at + 4], cycle);
}

#[test]
fn very_many_fibers_are_all_printed() {
    let (directory, server) = (Directory::new(), Server::of(samples::crowd()));
    let ids = ids(&lines(directory.sisal(&["top", &server.address(), "--sort", "since"])));
    assert!(ids.into_iter().eq((1..=samples::CROWD).rev()));
}

#[test]
fn nothing_that_a_terminal_acts_on_is_printed() {
    let (directory, server) = (Directory::new(), Server::of(samples::hostile()));
    let said = String::from_utf8(directory.sisal(&["top", &server.address()]).output()).unwrap();
    let acts = |character: char| {
        (character.is_control() && character != '\n') || ('\u{200b}'..='\u{202e}').contains(&character)
    };
    assert!(!said.contains(acts), "{said:?}");
    assert!(said.contains("\\u{1b}[2J") && said.contains("\u{4f60}\u{597d}"), "{said}");
}
