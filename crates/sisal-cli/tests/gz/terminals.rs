//! What is different on a terminal.

use crate::program::{Directory, Ran, SISAL, have};
use crate::samples::text;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread;

/// Runs a shell command on a terminal, at which somebody types.
fn on_a_terminal(directory: &Directory, command: &str, typed: &str) -> Option<Ran> {
    // It is told the program's name by the environment, as it takes nothing but the command.
    let command = command.replace("gz ", &format!("{SISAL} gz "));
    have("script").then(|| directory.program("script", &["-qec", &command, "/dev/null"]).input(typed.as_bytes()).run())
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
    for (typed, is_overwritten, code) in [("y\n", true, 0), ("n\n", false, 2), ("\n", false, 2)] {
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

#[test]
fn a_bar_is_shown_on_a_terminal_and_nowhere_else() {
    let directory = Directory::new();
    // Takes long enough for a bar, wherever it is run.
    let file = fs::File::create(directory.path("file")).unwrap();
    file.set_len(1 << 30).unwrap();
    let Some(ran) = on_a_terminal(&directory, "gz -k9 file", "") else { return };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains("file [") && said.contains("MB/s"), "{said}");
    assert!(said.ends_with("\r\x1b[K"), "the bar is erased: {said}");
    let Some(ran) = on_a_terminal(&directory, "gz -tq file.gz", "") else { return };
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "");
    directory.write("text", &text(1_000_000, 1));
    assert_eq!(directory.gz(&["-kf", "text"]).run().stderr, "");
}
