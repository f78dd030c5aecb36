//! How much memory it takes: as much for a long input as for a short one, and no more if nobody takes what it writes.

use crate::process::{is_still, most_memory};
use crate::program::{Directory, SISAL, Watchdog};
use crate::samples::{random, text};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Pid;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

/// How much more memory a run may take than another: what is under way at once varies, and so does what allocators keep.
const MARGIN: u64 = 8 << 20;

/// A few times what is under way at once, and much more.
fn lengths() -> [u64; 2] {
    if std::env::var_os("SISAL_BIG").is_some() { [32 << 20, 512 << 20] } else { [8 << 20, 64 << 20] }
}

/// How much memory an input of such a length takes.
type Memory = fn(u64) -> u64;

/// `sisal gz`, between pipes. With two workers, on any machine.
struct Gz {
    child: Child,
    watchdog: Watchdog,
}

impl Gz {
    fn start(arguments: &[&str], input: Stdio) -> Gz {
        let child = Directory::new().gz(&[&["-p", "2"], arguments].concat()).pipe(input);
        let watchdog = Watchdog::over(Pid::from_child(&child));
        Gz { child, watchdog }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    fn output(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    fn ends_well(mut self) {
        let status = self.child.wait().unwrap();
        drop(self.watchdog);
        assert!(status.success(), "{status}");
    }
}

/// Writes so many bytes, the same again and again.
fn feed(input: &mut ChildStdin, bytes: &[u8], mut length: u64) {
    while length > 0 {
        let count = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        input.write_all(&bytes[..count]).unwrap();
        length -= count as u64;
    }
}

fn drain(output: &mut impl Read) -> u64 {
    io::copy(output, &mut io::sink()).unwrap()
}

/// The most memory it takes to compress so much text, but for what is in the pipe at the end.
fn memory_to_compress(length: u64) -> u64 {
    let mut gz = Gz::start(&["-1"], Stdio::piped());
    let (mut input, mut output) = (gz.input(), gz.output());
    let reader = thread::spawn(move || drain(&mut output));
    feed(&mut input, &text(1 << 20, 1), length);
    // It waits for more.
    let most = most_memory(gz.pid());
    drop(input);
    gz.ends_well();
    assert!(reader.join().unwrap() > length / 10);
    most
}

/// The most memory it takes to expand so much text, but for the last of it.
fn memory_to_expand(length: u64) -> u64 {
    // More than a pipe holds, so that it has not ended.
    const LAST: u64 = 2 << 20;
    let mut packer = Gz::start(&["-1"], Stdio::piped());
    let (mut input, packed) = (packer.input(), packer.output());
    let mut gz = Gz::start(&["-d"], packed.into());
    let mut output = gz.output();
    let writer = thread::spawn(move || feed(&mut input, &text(1 << 20, 1), length));
    let first = drain(&mut output.by_ref().take(length - LAST));
    let most = most_memory(gz.pid());
    assert_eq!(first + drain(&mut output), length);
    writer.join().unwrap();
    packer.ends_well();
    gz.ends_well();
    most
}

#[test]
fn a_long_input_takes_no_more_memory_than_a_short_one() {
    let ways = [("compressing", memory_to_compress as Memory), ("expanding", memory_to_expand)];
    for (way, memory) in ways {
        let [short, long] = lengths().map(memory);
        eprintln!("{way}: {} KiB for a short input, {} KiB for a long one", short >> 10, long >> 10);
        assert!(long <= short + MARGIN, "{way}: {short} bytes for a short input, {long} for a long one");
    }
}

/// Writes the same again and again until it is no longer read. Returns how much that was.
fn feed_until_it_waits(gz: &Gz, input: &mut ChildStdin, bytes: &[u8], most: usize) -> usize {
    fcntl_setfl(&*input, fcntl_getfl(&*input).unwrap() | OFlags::NONBLOCK).unwrap();
    let mut taken = 0;
    loop {
        match input.write(&bytes[taken % bytes.len()..]) {
            Ok(count) => taken += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock && is_still(gz.pid()) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
        assert!(taken <= most, "it reads on, though nobody takes what it writes");
    }
    fcntl_setfl(&*input, fcntl_getfl(&*input).unwrap() - OFlags::NONBLOCK).unwrap();
    taken
}

#[test]
fn it_reads_no_further_than_its_output_is_taken() {
    let [short, _] = lengths();
    // What becomes no smaller; and what becomes a thousand times as large.
    let noise = random(1 << 20, 2);
    let zeros = Directory::new().gz(&["-n"]).input(&vec![0; 4 << 20]).output();
    let ways =
        [("-1", &noise, memory_to_compress as Memory, 16 << 20), ("-d", &zeros, memory_to_expand as Memory, 2 << 20)];
    for (argument, bytes, memory, most_taken) in ways {
        let mut gz = Gz::start(&[argument], Stdio::piped());
        let (mut input, mut output) = (gz.input(), gz.output());
        let taken = feed_until_it_waits(&gz, &mut input, bytes, most_taken);
        let (most, usual) = (most_memory(gz.pid()), memory(short));
        eprintln!("{argument}: {} KiB read, {} KiB of memory, usually {} KiB", taken >> 10, most >> 10, usual >> 10);
        assert!(most <= usual + MARGIN, "{argument}: {most} bytes of memory, usually {usual}");
        // When its output is taken, it goes on to the end.
        let reader = thread::spawn(move || drain(&mut output));
        input.write_all(&bytes[taken % bytes.len()..]).unwrap();
        drop(input);
        assert!(reader.join().unwrap() > (taken as u64 / 2));
        gz.ends_well();
    }
}

#[test]
fn large_blocks_are_not_as_many() {
    const BLOCK: usize = 16 << 20;
    // Four under way, one that is to follow and one that is being written; and what is in the pipe, which is less than one.
    const MOST: usize = 7 * BLOCK;
    let mut gz = Gz::start(&["-1", "-b", "16M"], Stdio::piped());
    let (mut input, mut output) = (gz.input(), gz.output());
    let taken = feed_until_it_waits(&gz, &mut input, &random(1 << 20, 3), MOST);
    drop(input);
    assert!(drain(&mut output) > taken as u64 / 2);
    gz.ends_well();
}

#[test]
fn blocks_too_large_for_the_memory_there_is_are_told_and_leave_no_output() {
    // Of which the first block is read well, and there is no room for the second; or none for what becomes of it; or not even for one.
    for (size, limit) in [(400, 500_000), (400, 800_000), (400, 300_000)] {
        let directory = Directory::new();
        File::create(directory.path("file")).unwrap().set_len(size << 20).unwrap();
        let limited = format!("ulimit -v {limit}; exec \"$0\" gz -p 2 -b 300M file");
        let ran = directory.program("bash", &["-c", &limited, SISAL]).run();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: file: out of memory\n"), "{limit} KiB");
        assert_eq!(directory.names(), ["file"], "{limit} KiB");
    }
}
