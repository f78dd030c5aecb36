//! What is different on a terminal.

use crate::program::{Directory, Ran, SISAL, have};
use crate::samples::text;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread;

/// Runs a shell command on a terminal, at which somebody types.
fn on_a_terminal(directory: &Directory, command: &str, typed: impl AsRef<[u8]>) -> Option<Ran> {
    // It is told the program's name by the environment, as it takes nothing but the command.
    let command = command.replace("gz ", &format!("{SISAL} gz "));
    have("script").then(|| {
        let script = directory.program("script", &["-qec", &command, "/dev/null"]);
        script.variable("TERM", "xterm").variable("SHELL", "/bin/bash").input(typed.as_ref()).run()
    })
}

#[test]
fn compressed_data_is_not_written_to_a_terminal() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    for command in ["gz -c file", "gz < file"] {
        let Some(ran) = on_a_terminal(&directory, command, "") else { return };
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(said.contains("compressed data not written to a terminal. Use -f to force compression."), "{said}");
        assert_eq!(ran.code, Some(1));
    }
    let Some(ran) = on_a_terminal(&directory, "gz -cf file", "") else { return };
    assert_eq!(ran.code, Some(0));
}

#[test]
fn an_existing_file_is_overwritten_if_somebody_agrees() {
    let answers: [(&[u8], bool, i32); 4] =
        [(b"y\n", true, 0), (b"n\n", false, 2), (b"\n", false, 2), (b"\xff\xfe\n", false, 2)];
    for (typed, is_overwritten, code) in answers {
        let directory = Directory::new();
        directory.write("file", b"new");
        directory.write("file.gz", b"old");
        let Some(ran) = on_a_terminal(&directory, "gz -k file", typed) else { return };
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(said.contains("file.gz already exists; do you wish to overwrite (y or n)? "), "{said}");
        assert_eq!(ran.code, Some(code), "{said}");
        assert_eq!(directory.read("file.gz") != b"old", is_overwritten, "{typed:?}");
    }
}

#[test]
fn a_signal_at_the_question_ends_it_and_leaves_the_old_file() {
    if !have("script") {
        return;
    }
    let directory = Directory::new();
    directory.write("file", b"new");
    directory.write("file.gz", b"old");
    let command = format!("echo $$ > pid; exec env --default-signal {SISAL} gz file");
    let mut running = directory.program("script", &["-qfec", &command, "said"]).input_stays_open().start();
    while !fs::read_to_string(directory.path("said")).is_ok_and(|said| said.contains("do you wish to overwrite")) {
        assert!(!running.has_ended(), "it was to ask");
        thread::yield_now();
    }
    let pid = String::from_utf8(directory.read("pid")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::INT).unwrap();
    assert_eq!(running.wait().code, Some(128 + Signal::INT.as_raw()));
    assert_eq!((directory.read("file"), directory.read("file.gz")), (b"new".to_vec(), b"old".to_vec()));
}

/// A directory with a file that takes a single worker long enough for a bar, wherever this is run.
fn with_a_long_file(name: &str) -> Directory {
    let directory = Directory::new();
    let file = fs::File::create(directory.path(name)).unwrap();
    file.set_len(256 << 20).unwrap();
    directory
}

#[test]
fn a_bar_is_shown_on_a_terminal_and_nowhere_else() {
    let directory = with_a_long_file("file");
    let Some(ran) = on_a_terminal(&directory, "gz -p1 -k9 file", "") else { return };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("file [") && said.contains("MB/s"), "{said}");
    assert!(said.ends_with("\r\x1b[K"), "the bar is erased: {said}");
    let Some(ran) = on_a_terminal(&directory, "gz -tq file.gz", "") else { return };
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "");
    directory.write("text", &text(1_000_000, 1));
    assert_eq!(directory.gz(&["-kf", "text"]).run().stderr, "");
}

#[test]
fn no_bar_is_shown_where_it_would_be_in_the_way() {
    let directory = with_a_long_file("file");
    let commands = [
        // Whoever reads may show something, too.
        "gz -p1 -9c file | cat > file.gz",
        "gz -dc file.gz | cat > /dev/null",
        // Somebody else has the terminal.
        "set -m; gz -p1 -9kf file & wait",
        "TERM=dumb gz -p1 -9kf file",
    ];
    for command in commands {
        let Some(ran) = on_a_terminal(&directory, command, "") else { return };
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.code == Some(0) && !said.contains("MB/s"), "{command}: {said}");
    }
    let Some(ran) = on_a_terminal(&directory, "gz -p1 -9c file > copy", "") else { return };
    assert!(String::from_utf8_lossy(&ran.stdout).contains("MB/s"), "a file keeps it to itself");
}

#[test]
fn a_bar_is_no_wider_than_the_terminal() {
    let name = "x".repeat(200);
    let directory = with_a_long_file(&name);
    let Some(ran) = on_a_terminal(&directory, &format!("stty cols 60; gz -p1 -9k {name}"), "") else { return };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let lines: Vec<&str> = said.split("\r\x1b[K").collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() < 60), "{said}");
}
