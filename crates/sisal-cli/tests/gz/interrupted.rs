//! What ends it early: signals, full disks, readers that go away. Nothing half written is left.

use crate::process::is_still;
use crate::program::{Directory, Program, Ran, Running, SISAL, have, skip};
use crate::samples::{random, text};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Signal, kill_process};
use std::fs;
use std::io::{ErrorKind, PipeReader, PipeWriter, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Waits until there is an output of this size at least.
fn wait_for_output(running: &mut Running, directory: &Directory, output: &str, size: u64) {
    while !fs::metadata(directory.path(output)).is_ok_and(|metadata| metadata.len() >= size) {
        assert!(!running.has_ended(), "it was to be interrupted while it writes");
        thread::yield_now();
    }
}

/// Waits until something of the output is there, and sends the signal.
fn interrupt(mut running: Running, directory: &Directory, output: &str, signal: Signal) -> Ran {
    wait_for_output(&mut running, directory, output, 1);
    running.send(signal);
    running.wait()
}

/// `sisal gz` with all signals as they are by default, whatever this process was started to ignore.
fn gz(directory: &Directory, arguments: &[&str]) -> Running {
    directory.program("env", &[&["--default-signal", SISAL, "gz"], arguments].concat()).start()
}

#[test]
fn a_signal_while_compressing_leaves_the_input_and_no_output() {
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1), (Signal::XCPU, 24)] {
        let directory = Directory::new();
        // More than can be compressed before it is interrupted, and nothing on the disk.
        fs::File::create(directory.path("file")).unwrap().set_len(16 << 30).unwrap();
        let running = gz(&directory, &["-9", "file"]);
        let ran = interrupt(running, &directory, "file.gz", signal);
        assert_eq!((ran.signal, ran.stderr.as_str()), (Some(number), ""));
        assert_eq!(directory.names(), ["file"]);
    }
}

#[test]
fn a_signal_while_expanding_leaves_the_input_and_no_output() {
    for (signal, number) in [(Signal::INT, 2), (Signal::HUP, 1)] {
        let directory = Directory::new();
        let member = directory.gz(&["-n"]).input(&vec![0; 4 << 20]).output();
        directory.write("file.gz", &member.repeat(1024));
        let running = gz(&directory, &["-d", "file.gz"]);
        let ran = interrupt(running, &directory, "file", signal);
        assert_eq!((ran.signal, ran.stderr.as_str()), (Some(number), ""));
        assert_eq!(directory.names(), ["file.gz"]);
    }
}

#[test]
fn signals_do_nothing_to_one_that_was_started_to_ignore_them() {
    let ignoring = [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM), ("XCPU", Signal::XCPU)];
    for (name, signal) in ignoring {
        let directory = Directory::new();
        // Of which much is still to be written when there is something.
        directory.write("file", &random(16 << 20, 11));
        let running = directory.program("env", &[&format!("--ignore-signal={name}"), SISAL, "gz", "file"]).start();
        let ran = interrupt(running, &directory, "file.gz", signal);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{name}");
        assert_eq!(directory.names(), ["file.gz"], "{name}");
    }
}

/// Sends a signal again and again, until the program has ended.
fn insist(running: Running, signal: Signal) -> Ran {
    let pid = running.pid();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) && kill_process(pid, signal).is_ok() {
                thread::yield_now();
            }
        });
        let ran = running.wait();
        has_ended.store(true, Ordering::Relaxed);
        ran
    })
}

#[test]
fn a_second_signal_leaves_no_output_either() {
    let directory = Directory::new();
    // In one block, which takes a while.
    fs::File::create(directory.path("file")).unwrap().set_len(256 << 20).unwrap();
    let mut running = gz(&directory, &["-9", "-b", "256M", "file"]);
    wait_for_output(&mut running, &directory, "file.gz", 0);
    let ran = insist(running, Signal::INT);
    assert_eq!((ran.signal, ran.stderr.as_str()), (Some(2), ""));
    assert_eq!(directory.names(), ["file"]);
}

/// A pipe that takes no more. Whoever writes to it waits, as long as the other end is there.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    // In the end byte by byte: what is larger may be refused while a little still fits.
    for size in [1 << 16, 1] {
        let bytes = vec![0; size];
        let error = std::iter::repeat_with(|| writer.write(&bytes)).find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

/// Waits until it has answered what was sent, and only somebody else can get it on.
fn wait_until_still(running: &mut Running) {
    while !is_still(running.pid()) {
        assert!(!running.has_ended(), "it was to hang");
        thread::yield_now();
    }
}

#[test]
fn a_second_signal_does_not_wait_for_a_write_that_hangs() {
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15)] {
        let directory = Directory::new();
        let mut packed = directory.gz(&["-n"]).input(&text(1 << 20, 8)).output();
        let end = packed.len();
        packed[end - 8] ^= 1;
        directory.write("file.gz", &packed);
        // It wants to tell that this is damaged, which nobody reads, and has not removed what it has made of it so far.
        let (_reader, full) = full_pipe();
        let gz = directory.program("env", &["--default-signal", SISAL, "gz", "-d", "file.gz"]);
        let mut running = gz.errors_to(full).start();
        wait_for_output(&mut running, &directory, "file", 1);
        wait_until_still(&mut running);
        running.send(signal);
        wait_until_still(&mut running);
        assert_eq!(directory.names(), ["file", "file.gz"]);
        running.send(signal);
        let ran = running.wait();
        assert_eq!(ran.signal, Some(number));
        assert_eq!(directory.names(), ["file.gz"]);
    }
}

#[test]
fn files_after_the_one_that_was_interrupted_are_left_alone() {
    let directory = Directory::new();
    fs::File::create(directory.path("1")).unwrap().set_len(16 << 30).unwrap();
    directory.write("2", b"more");
    let ran = interrupt(gz(&directory, &["1", "2"]), &directory, "1.gz", Signal::TERM);
    assert_eq!(ran.signal, Some(15));
    assert_eq!(directory.names(), ["1", "2"]);
}

/// As `gz`, with its standard output in the file `output`.
fn gz_into_output(directory: &Directory, arguments: &[&str], input: &[u8]) -> Running {
    let shell = ["--default-signal", "bash", "-c", "exec \"$0\" gz \"$@\" > output", SISAL];
    directory.program("env", &[&shell, arguments].concat()).input(input).input_stays_open().start()
}

#[test]
fn a_signal_ends_one_that_waits_for_standard_input() {
    let input = random(1 << 20, 6);
    let packed = Directory::new().gz(&[]).input(&input).output();
    for (arguments, input) in [(&[][..], &input), (&["-"], &input), (&["-d"], &packed)] {
        for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
            let directory = Directory::new();
            let running = gz_into_output(&directory, arguments, input);
            let ran = interrupt(running, &directory, "output", signal);
            assert_eq!((ran.signal, ran.stderr.as_str()), (Some(number), ""), "{arguments:?}");
        }
    }
}

#[test]
fn a_signal_ends_one_that_waits_for_standard_input_after_a_file() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    let running = gz_into_output(&directory, &["file", "-"], &random(1 << 20, 9));
    let ran = interrupt(running, &directory, "output", Signal::INT);
    assert_eq!((ran.signal, ran.stderr.as_str()), (Some(2), ""));
    assert_eq!(directory.names(), ["file.gz", "output"]);
}

#[test]
fn a_file_that_changes_its_size_meanwhile_is_told_and_kept() {
    let directory = Directory::new();
    let file = fs::File::create(directory.path("file")).unwrap();
    file.set_len(16 << 30).unwrap();
    let mut running = gz(&directory, &["file"]);
    wait_for_output(&mut running, &directory, "file.gz", 1);
    file.set_len(1).unwrap();
    let ran = running.wait();
    let warning = "sisal gz: file: file size changed while zipping -- not removed\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), warning));
    assert_eq!(directory.names(), ["file", "file.gz"]);
    // As in gzip, it is no more than told if the file is to stay anyway. The size of this one is always wrong.
    let ran = directory.gz(&["-c", "/proc/cpuinfo"]).run();
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "sisal gz: /proc/cpuinfo: file size changed while zipping\n");
}

/// A small file system, until it is dropped.
struct SmallDisk(Directory);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let directory = Directory::new();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(directory.path("")).output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk(directory)),
            _ => {
                skip("a small disk can be mounted only by root");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l"]).arg(self.0.path("")).output();
    }
}

#[test]
fn a_full_disk_is_told_and_the_partial_output_removed() {
    let Some(disk) = SmallDisk::mount() else { return };
    let directory = &disk.0;
    directory.write("file", &random(2 << 20, 1));
    let ran = directory.gz(&["file"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: file.gz: No space left on device\n"));
    assert_eq!(directory.names(), ["file"]);

    let packed = Directory::new().gz(&[]).input(&text(8 << 20, 2)).output();
    fs::remove_file(directory.path("file")).unwrap();
    directory.write("text.gz", &packed[..]);
    let ran = directory.gz(&["-d", "text.gz"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: text: No space left on device\n"));
    assert_eq!(directory.names(), ["text.gz"]);
}

#[test]
fn a_file_that_may_not_become_so_large_is_told_and_removed() {
    let directory = Directory::new();
    directory.write("file", &random(2 << 20, 10));
    let limited = "ulimit -f 1000; exec \"$0\" gz file";
    let ran = directory.program("env", &["--default-signal", "bash", "-c", limited, SISAL]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: file.gz: File too large\n"));
    assert_eq!(directory.names(), ["file"]);
}

/// `sisal gz`, in which system calls that concern this file go wrong; none where that can't be arranged.
fn gz_with_fault(directory: &Directory, file: &str, fault: &str, arguments: &[&str]) -> Option<Program> {
    if !have("strace") {
        return None;
    }
    if directory.program("strace", &["-o", "/dev/null", "true"]).run().code != Some(0) {
        skip("system calls can't be traced");
        return None;
    }
    let (path, fault) = (directory.path(file), format!("inject={fault}"));
    let strace = ["-f", "-qq", "-o", "/dev/null", "-P", path.to_str().unwrap(), "-e", &fault, SISAL, "gz"];
    Some(directory.program("strace", &[&strace, arguments].concat()))
}

#[test]
fn output_that_cant_be_closed_is_not_taken_for_whole() {
    for (arguments, input, output) in [(&["file"][..], "file", "file.gz"), (&["-d", "file.gz"], "file.gz", "file")] {
        let directory = Directory::new();
        directory.write("file", b"bytes");
        directory.gz(&["-k", "file"]).output();
        fs::remove_file(directory.path(output)).unwrap();
        let Some(gz) = gz_with_fault(&directory, output, "close:error=EIO", arguments) else { return };
        let ran = gz.run();
        assert_eq!((ran.code, ran.stderr), (Some(1), format!("sisal gz: {output}: Input/output error\n")));
        assert_eq!(directory.names(), [input]);
    }
    let directory = Directory::new();
    directory.write("file", b"bytes");
    directory.write("stream", b"");
    // The last but one: the program's own goes with the process.
    let Some(gz) = gz_with_fault(&directory, "stream", "close:error=ENOSPC:when=1", &["-c", "file"]) else { return };
    let ran = gz.output_to(directory.path("stream").to_str().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdout: No space left on device\n"));
}

#[test]
fn synchronous_output_is_on_the_disk_with_its_name_before_the_input_is_removed() {
    // The file, and the directory that knows its name.
    for what in ["file.gz", "."] {
        let directory = Directory::new();
        directory.write("file", b"bytes");
        let place =
            if what == "." { directory.path("file").parent().unwrap().to_owned() } else { directory.path(what) };
        let (place, arguments) = (place.to_str().unwrap(), ["--synchronous", "file"]);
        let Some(gz) = gz_with_fault(&directory, place, "fsync:error=EIO", &arguments) else { return };
        let ran = gz.run();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: file.gz: Input/output error\n"), "{what}");
        assert_eq!(directory.names(), ["file"], "{what}");
    }
    let directory = Directory::new();
    directory.write("file", b"bytes");
    directory.gz(&["-Y", "file"]).output();
    assert_eq!(directory.names(), ["file.gz"]);
}

#[test]
fn standard_output_that_takes_no_more_is_told() {
    let directory = Directory::new();
    directory.write("file", &random(3_000_000, 3));
    directory.gz(&["-k", "file"]).output();
    for arguments in [["-c", "file"], ["-dc", "file.gz"], ["-l", "file.gz"]] {
        let ran = directory.gz(&arguments).output_to("/dev/full");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdout: No space left on device\n"));
    }
}

#[test]
fn standard_output_that_takes_no_more_is_told_once() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    directory.gz(&["-k", "file"]).output();
    fs::create_dir(directory.path("folder")).unwrap();
    for name in ["folder/1", "folder/2"] {
        directory.write(name, b"bytes");
    }
    for arguments in
        [&["-c", "file", "file"][..], &["-dc", "file.gz", "file.gz"], &["-l", "file.gz", "file.gz"], &["-rc", "folder"]]
    {
        let ran = directory.gz(arguments).output_to("/dev/full");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdout: No space left on device\n"));
    }
}

#[test]
fn a_failure_is_told_though_more_input_may_come() {
    let directory = Directory::new();
    let mut packed = directory.gz(&[]).input(&text(1_000_000, 5)).output();
    let end = packed.len();
    packed[end - 8] ^= 1;
    // So that it is seen that the member ends.
    packed.extend(b"xy");
    let ran = directory.gz(&["-d"]).input(&packed).input_stays_open().run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdin: invalid compressed data--crc error\n"));
}

#[test]
fn what_comes_behind_garbage_is_not_waited_for() {
    let directory = Directory::new();
    let bytes = text(1_000_000, 7);
    let packed = directory.gz(&[]).input(&bytes).output();
    let ran = directory.gz(&["-d"]).input(&[&packed[..], b"xy"].concat()).input_stays_open().run();
    let warning = "sisal gz: stdin: decompression OK, trailing garbage ignored\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), warning));
    assert!(ran.stdout == bytes);
}

#[test]
fn who_reads_no_further_ends_it_silently() {
    const SIGPIPE: i32 = 13;
    let directory = Directory::new();
    directory.write("file", &random(10_000_000, 4));
    directory.gz(&["-k", "file"]).output();
    let many = "file.gz ".repeat(100);
    for arguments in ["-c file", "-dc file.gz", &format!("-l {many}")] {
        let script = format!("\"$0\" gz {arguments} | head -c 1000 > taken; echo ${{PIPESTATUS[0]}}");
        let ran = directory.program("bash", &["-c", &script, SISAL]).run();
        assert_eq!(
            (String::from_utf8(ran.stdout).unwrap(), ran.stderr),
            (format!("{}\n", 128 + SIGPIPE), String::new())
        );
    }
}
