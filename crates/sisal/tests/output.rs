//! Output: lines that stay whole and in order, whoever writes them and however slowly they are read.
//!
//! Each test is a process of its own, whose standard output is a pipe.
#![allow(unsafe_code, reason = "pipe, dup2, poll and _exit are C functions")]

mod common;

use common::child;
use common::{LONG, fixed, rounds, until};
use sisal::{deadline, join_all, sleep, spawn, yield_now};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const STDOUT: RawFd = 1;
const STDERR: RawFd = 2;

/// Puts a pipe in the place of the standard output and returns the end to read from.
fn pipe_as_stdout() -> File {
    pipe_as(STDOUT)
}

fn pipe_as(number: RawFd) -> File {
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both are new and nobody else's; the writing end lives on under that number.
    let (reader, writer) = unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
    // SAFETY: both are open.
    assert_eq!(unsafe { libc::dup2(writer.as_raw_fd(), number) }, number);
    File::from(reader)
}

/// Puts a terminal in the place of the standard output and returns the side that shows it.
fn terminal_as_stdout() -> File {
    let (mut shown, mut terminal) = (0, 0);
    let (no_name, no_modes, no_size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: places for two descriptors, and nothing else.
    assert_eq!(unsafe { libc::openpty(&mut shown, &mut terminal, no_name, no_modes, no_size) }, 0);
    // SAFETY: both are open.
    assert_eq!(unsafe { libc::dup2(terminal, STDOUT) }, STDOUT);
    // SAFETY: it is new and nobody else's.
    unsafe { File::from_raw_fd(shown) }
}

/// Closes the only writing end, so that a reader comes to an end.
fn close_stdout() {
    // SAFETY: nothing is written afterwards.
    unsafe { libc::close(STDOUT) };
}

/// Whether a writer would have to wait for the reader.
fn stdout_is_full() -> bool {
    let mut descriptor = libc::pollfd { fd: STDOUT, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one record, and no waiting.
    unsafe { libc::poll(&mut descriptor, 1, 0) == 0 }
}

/// Ends the process without any of the work that is usually done then.
fn leave_at_once() -> ! {
    // SAFETY: ends it.
    unsafe { libc::_exit(0) }
}

/// Checks lines `writer line rest`, each whole, the lines of a writer in order and complete.
fn check(lines: impl Iterator<Item = String>, writers: usize, each: usize) {
    let mut next: HashMap<usize, usize> = HashMap::new();
    for text in lines {
        let Some(text) = text.strip_prefix("line ") else { continue };
        let words: Vec<_> = text.split(' ').collect();
        let &[writer, line, rest] = &words[..] else { panic!("{text:?}") };
        let (writer, line) = (writer.parse().unwrap(), line.parse::<usize>().unwrap());
        assert_eq!(rest, rest_of(line), "a whole line of {writer}");
        let expected = next.entry(writer).or_default();
        assert_eq!(line, *expected, "the next line of {writer}");
        *expected += 1;
    }
    assert_eq!(next.len(), writers);
    assert!(next.values().all(|lines| *lines == each));
}

/// What a line ends with: of many lengths, all different from their neighbours.
fn rest_of(line: usize) -> String {
    "x".repeat(line * 7 % 61) + "."
}

fn write_lines(writer: usize, count: usize) {
    for line in 0..count {
        sisal::println!("line {writer} {line} {}", rest_of(line));
    }
}

#[test]
fn a_hundred_lines_of_a_thousand_fibers_are_whole_and_in_order() {
    let fibers = rounds(1_000);
    let ended = child::run(|| {
        // The harness has begun a line of its own.
        sisal::println!();
        let run = fixed(2).run(|| {
            let writers = (0..fibers).map(|writer| {
                spawn(move || {
                    for line in 0..100 {
                        sisal::println!("line {writer} {line} {}", rest_of(line));
                        if line % 10 == writer % 10 {
                            yield_now();
                        }
                    }
                })
            });
            join_all(writers).into_iter().for_each(Result::unwrap);
        });
        run.unwrap();
    });
    let ended = ended.well();
    check(ended.stdout.lines().map(str::to_owned), fibers, 100);
}

#[test]
fn threads_and_fibers_write_to_the_same_output() {
    let ended = child::run(|| {
        sisal::println!();
        let threads: Vec<_> = (0..4).map(|writer| thread::spawn(move || write_lines(writer, 500))).collect();
        let run = fixed(2).run(|| {
            let writers = (4..24).map(|writer| spawn(move || write_lines(writer, 500)));
            join_all(writers).into_iter().for_each(Result::unwrap);
        });
        run.unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let ended = ended.well();
    check(ended.stdout.lines().map(str::to_owned), 24, 500);
}

#[test]
fn lines_longer_than_the_pipe_are_whole() {
    const LENGTH: usize = 200_000;
    let ended = child::run(|| {
        sisal::println!();
        let run = fixed(2).run(|| {
            let writers = (0..8).map(|writer| {
                spawn(move || {
                    for _ in 0..5 {
                        sisal::println!("long {}", writer.to_string().repeat(LENGTH));
                        sisal::println!("short");
                    }
                })
            });
            join_all(writers).into_iter().for_each(Result::unwrap);
        });
        run.unwrap();
    });
    let ended = ended.well();
    let long: Vec<_> = ended.stdout.lines().filter_map(|line| line.strip_prefix("long ")).collect();
    assert_eq!(long.len(), 40);
    assert!(long.iter().all(|line| line.len() == LENGTH && line.bytes().all(|byte| byte == line.as_bytes()[0])));
    assert_eq!(ended.stdout.lines().filter(|line| *line == "short").count(), 40);
}

#[test]
fn print_adds_to_the_line_and_println_ends_it() {
    let ended = child::run(|| {
        sisal::println!();
        fixed(1)
            .run(|| {
                sisal::print!("a");
                sisal::print!("{}", 'b');
                sisal::println!("{number:>3}", number = 7);
                sisal::println!();
                sisal::print!("two\nlines\n");
                sisal::print!("the end");
            })
            .unwrap();
    });
    let ended = ended.well();
    assert!(ended.stdout.contains("\nab  7\n\ntwo\nlines\nthe end"), "{ended:#?}");
}

#[test]
fn what_is_for_the_standard_error_goes_there_whole_and_in_order() {
    let ended = child::run(|| {
        let run = fixed(2).run(|| {
            let writers = (0..20).map(|writer| {
                spawn(move || {
                    for line in 0..50 {
                        sisal::eprintln!("line {writer} {line} {}", rest_of(line));
                    }
                })
            });
            join_all(writers).into_iter().for_each(Result::unwrap);
            sisal::eprint!("the ");
            sisal::eprint!("end");
        });
        run.unwrap();
    });
    let ended = ended.well();
    assert!(ended.stderr.contains("the end") && !ended.stdout.contains("line "), "{ended:#?}");
    check(ended.stderr.lines().map(str::to_owned), 20, 50);
}

#[test]
fn output_is_complete_when_the_process_exits_without_having_had_a_runtime() {
    let ended = child::run(|| {
        sisal::println!();
        write_lines(0, 2_000);
    });
    check(ended.well().stdout.lines().map(str::to_owned), 1, 2_000);
}

#[test]
fn output_is_complete_when_main_returns_with_fibers_that_wrote_at_last() {
    let ended = child::run(|| {
        sisal::println!();
        let run = fixed(2).run(|| {
            let started = Arc::new(AtomicUsize::new(0));
            for writer in 0..10 {
                let started = Arc::clone(&started);
                drop(spawn(move || {
                    started.fetch_add(1, Ordering::Relaxed);
                    // The end of the main fiber ends the sleep.
                    assert!(sleep(LONG).is_err());
                    write_lines(writer, 200);
                }));
            }
            until(|| started.load(Ordering::Relaxed) == 10);
        });
        run.unwrap();
    });
    check(ended.well().stdout.lines().map(str::to_owned), 10, 200);
}

#[test]
fn output_is_complete_after_a_flush_however_the_process_ends() {
    let ended = child::run(|| {
        sisal::println!();
        let run = fixed(2).run(|| {
            let writers = (0..10).map(|writer| spawn(move || write_lines(writer, 200)));
            join_all(writers).into_iter().for_each(Result::unwrap);
            sisal::output::flush().unwrap();
            leave_at_once();
        });
        run.unwrap();
    });
    check(ended.well().stdout.lines().map(str::to_owned), 10, 200);
}

#[test]
fn a_reader_that_does_not_read_stops_no_other_fiber() {
    let ended = child::run(|| {
        let reader = pipe_as_stdout();
        let reading = fixed(1)
            .run(|| {
                let writers: Vec<_> = (0..4).map(|writer| spawn(move || write_lines(writer, 5_000))).collect();
                until(stdout_is_full);
                // Nobody reads yet, and all writers are held up or are about to be; the only worker has time for others.
                for _ in 0..100 {
                    spawn(|| sleep(Duration::from_micros(100))).join().unwrap().unwrap();
                }
                assert!(stdout_is_full());
                let reading = thread::spawn(|| BufReader::new(reader).lines().map(Result::unwrap).collect::<Vec<_>>());
                join_all(writers).into_iter().for_each(Result::unwrap);
                reading
            })
            .unwrap();
        sisal::output::flush().unwrap();
        close_stdout();
        check(reading.join().unwrap().into_iter(), 4, 5_000);
    });
    ended.well();
}

#[test]
fn a_slow_reader_gets_everything() {
    let ended = child::run(|| {
        let reader = pipe_as_stdout();
        let all_is_written = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&all_is_written);
        let reading = thread::spawn(move || {
            // Again and again it does not go on before the writers have to wait for it.
            let slowly = |line: usize| {
                if line.is_multiple_of(500) {
                    until(|| stdout_is_full() || flag.load(Ordering::Relaxed));
                }
            };
            let lines = BufReader::with_capacity(512, reader).lines().map(Result::unwrap);
            lines.enumerate().inspect(|(line, _)| slowly(*line)).map(|(_, text)| text).collect::<Vec<_>>()
        });
        let run = fixed(2).run(|| {
            let writers = (0..20).map(|writer| spawn(move || write_lines(writer, 500)));
            join_all(writers).into_iter().for_each(Result::unwrap);
            all_is_written.store(true, Ordering::Relaxed);
        });
        run.unwrap();
        sisal::output::flush().unwrap();
        close_stdout();
        check(reading.join().unwrap().into_iter(), 20, 500);
    });
    ended.well();
}

#[test]
fn lines_written_when_the_time_is_up_or_in_a_panic_are_not_lost() {
    struct WriteOnDrop;
    impl Drop for WriteOnDrop {
        fn drop(&mut self) {
            write_lines(1, 3_000);
        }
    }
    let ended = child::run(|| {
        let reader = pipe_as_stdout();
        let may_read = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&may_read);
        let reading = thread::spawn(move || {
            until(|| flag.load(Ordering::Relaxed));
            BufReader::new(reader).lines().map(Result::unwrap).collect::<Vec<_>>()
        });
        let run = fixed(2).run(|| {
            let late = spawn(|| deadline(Instant::now(), || write_lines(0, 3_000)));
            let panicking = spawn(|| {
                let _write = WriteOnDrop;
                panic!("on purpose");
            });
            until(stdout_is_full);
            may_read.store(true, Ordering::Relaxed);
            late.join().unwrap();
            assert!(panicking.join().is_err());
        });
        run.unwrap();
        sisal::output::flush().unwrap();
        close_stdout();
        check(reading.join().unwrap().into_iter(), 2, 3_000);
    });
    ended.well();
}

#[test]
fn output_is_complete_at_the_end_of_a_run() {
    let ended = child::run(|| {
        let reader = pipe_as_stdout();
        let may_read = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&may_read);
        // More than the pipe holds, and less than what writers wait for.
        let lines = 2_200;
        let reading = thread::spawn(move || {
            until(|| flag.load(Ordering::Relaxed));
            BufReader::new(reader).lines().map(Result::unwrap).take(lines).collect::<Vec<_>>()
        });
        let run = fixed(2).run(|| {
            write_lines(0, lines);
            assert!(stdout_is_full());
            may_read.store(true, Ordering::Relaxed);
        });
        run.unwrap();
        // What has not been written by now never will be.
        close_stdout();
        check(reading.join().unwrap().into_iter(), 1, lines);
    });
    ended.well();
}

#[test]
fn a_panic_that_nobody_reads_of_is_given_to_whoever_joins() {
    let ended = child::run(|| {
        drop(pipe_as(STDERR));
        let run = sisal::Runtime::builder().workers(2).stats(true).verbose(true).run(|| {
            assert!(spawn(|| panic!("on purpose")).join().is_err());
        });
        run.unwrap();
        sisal::println!("still here");
    });
    let ended = ended.well();
    assert!(ended.stdout.contains("still here"), "{ended:#?}");
}

#[test]
fn a_reader_that_has_gone_hangs_and_aborts_nobody() {
    let ended = child::run(|| {
        drop(pipe_as_stdout());
        let run = fixed(2).run(|| {
            let writers = (0..10).map(|writer| spawn(move || drop(catch_unwind(|| write_lines(writer, 1_000)))));
            join_all(writers).into_iter().for_each(Result::unwrap);
        });
        run.unwrap();
        let _ = catch_unwind(AssertUnwindSafe(sisal::output::flush));
        std::eprintln!("still here");
    });
    ended.well().saying("still here");
}

#[test]
fn a_reader_that_goes_while_writers_are_held_up_lets_them_end() {
    let ended = child::run(|| {
        let reader = pipe_as_stdout();
        let run = fixed(1).run(|| {
            let writers: Vec<_> =
                (0..4).map(|writer| spawn(move || drop(catch_unwind(|| write_lines(writer, 5_000))))).collect();
            until(stdout_is_full);
            drop(reader);
            join_all(writers).into_iter().for_each(Result::unwrap);
        });
        run.unwrap();
        std::eprintln!("still here");
    });
    ended.well().saying("still here");
}

#[test]
fn a_terminal_that_shows_nothing_keeps_no_worker() {
    let ended = child::run(|| {
        let mut shown = terminal_as_stdout();
        let run = fixed(1).run(move || {
            let printer = spawn(|| (0..10_000).for_each(|line| sisal::println!("{line} {}", "x".repeat(50))));
            // The only worker goes on: it gets here again and again.
            while !stdout_is_full() {
                yield_now();
            }
            (0..100).for_each(|_| yield_now());
            assert!(!printer.is_finished());
            thread::spawn(move || std::io::copy(&mut shown, &mut std::io::sink()));
            printer.join().unwrap();
        });
        run.unwrap();
    });
    ended.well();
}
