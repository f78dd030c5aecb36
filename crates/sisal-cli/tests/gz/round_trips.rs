//! What is compressed here is expanded by everybody, and the other way round.

use crate::program::{Directory, Program, Watchdog, have, skip};
use crate::samples::{BLOCK, corpus, random, text};
use rustix::process::Pid;
use std::io::Read;
use std::process::Stdio;

/// Python that expands its input by what the argument says.
const PYTHON_EXPANDS: &str = "import sys, zlib, gzip
data, how = sys.stdin.buffer.read(), sys.argv[1]
if how == 'gzip': out = gzip.decompress(data)
elif how == 'one': out = zlib.decompress(data, 31)
elif how == 'zlib': out = zlib.decompress(data)
elif how == 'members':
    parts, at = [], 0
    while at < len(data):
        member = zlib.decompressobj(31)
        while not member.eof:
            part = data[at:at + 4096]
            assert part, 'the last member is cut short'
            parts.append(member.decompress(part))
            at += len(part) - len(member.unused_data)
    out = b''.join(parts)
else: out = zlib.decompress(data, -15)
sys.stdout.buffer.write(out)";

/// Python that compresses its input in the format the argument says.
const PYTHON_COMPRESSES: &str = "import sys, zlib
bits = {'gzip': 31, 'zlib': 15, 'raw': -15}[sys.argv[1]]
packer = zlib.compressobj(9, zlib.DEFLATED, bits)
sys.stdout.buffer.write(packer.compress(sys.stdin.buffer.read()) + packer.flush())";

#[track_caller]
fn same(one: &[u8], other: &[u8], what: &str) {
    assert!(one == other, "{what}: {} bytes have become {}", other.len(), one.len());
}

#[test]
fn everything_comes_back_whatever_the_options() {
    let directory = Directory::new();
    let ways: [&[&str]; 14] = [
        &[],
        &["-1"],
        &["-3"],
        &["-9"],
        &["-p", "1"],
        &["-p7"],
        &["-b", "32"],
        &["-b1M"],
        &["-R"],
        &["-R", "-b", "32"],
        &["-i"],
        &["-z"],
        &["--raw"],
        &["-n"],
    ];
    for (name, bytes) in corpus() {
        for way in ways {
            let packed = directory.gz(&[&["-c"], way].concat()).input(&bytes).output();
            let format: &[&str] = if way == ["--raw"] { &["-d", "--raw"] } else { &["-d"] };
            same(&directory.gz(format).input(&packed).output(), &bytes, &format!("{name} {way:?}"));
        }
    }
}

#[test]
fn what_is_compressed_does_not_depend_on_the_number_of_workers() {
    let directory = Directory::new();
    directory.write("file", &text(40 * BLOCK + 5, 9));
    let one = directory.gz(&["-cn", "-p1", "file"]).output();
    for workers in ["-p2", "-p3", "-p8"] {
        same(&directory.gz(&["-cn", workers, "file"]).output(), &one, workers);
    }
}

#[test]
fn others_expand_what_is_compressed_here() {
    let directory = Directory::new();
    let programs: [(&str, &[&str]); 3] = [("gzip", &["-dc"]), ("pigz", &["-dc"]), ("zcat", &[])];
    for (program, arguments) in programs {
        if !have(program) {
            continue;
        }
        for (name, bytes) in corpus() {
            for way in [&[][..], &["-1", "-R"], &["-9", "-i"]] {
                let packed = directory.gz(way).input(&bytes).output();
                same(
                    &directory.program(program, arguments).input(&packed).output(),
                    &bytes,
                    &format!("{program} {name} {way:?}"),
                );
            }
        }
    }
}

#[test]
fn pythons_zlib_expands_what_is_compressed_here() {
    if !have("python3") {
        return;
    }
    let directory = Directory::new();
    let ways: [(&[&str], &str); 4] = [(&[], "gzip"), (&[], "one"), (&["--zlib"], "zlib"), (&["--raw"], "raw")];
    for (name, bytes) in corpus() {
        for (way, how) in ways {
            let packed = directory.gz(way).input(&bytes).output();
            let expanded = directory.program("python3", &["-c", PYTHON_EXPANDS, how]).input(&packed).output();
            same(&expanded, &bytes, &format!("{name} {how}"));
        }
    }
}

#[test]
fn what_others_compress_is_expanded_here() {
    let directory = Directory::new();
    let programs: [(&str, &[&str], &[&str]); 7] = [
        ("gzip", &["-c"], &[]),
        ("gzip", &["-c1"], &[]),
        ("pigz", &["-c"], &[]),
        ("pigz", &["-cz"], &[]),
        ("python3", &["-c", PYTHON_COMPRESSES, "gzip"], &[]),
        ("python3", &["-c", PYTHON_COMPRESSES, "zlib"], &["--zlib"]),
        ("python3", &["-c", PYTHON_COMPRESSES, "raw"], &["--raw"]),
    ];
    for (program, arguments, way) in programs {
        if !have(program) {
            continue;
        }
        for (name, bytes) in corpus() {
            let packed = directory.program(program, arguments).input(&bytes).output();
            let expanded = directory.gz(&[&["-dc"], way].concat()).input(&packed).output();
            same(&expanded, &bytes, &format!("{program} {arguments:?} {name}"));
        }
    }
}

#[test]
fn compressing_twice_and_expanding_twice_changes_nothing() {
    let directory = Directory::new();
    let bytes = text(1_000_000, 11);
    let once = directory.gz(&[]).input(&bytes).output();
    let twice = directory.gz(&[]).input(&once).output();
    same(&directory.gz(&["-d"]).input(&directory.gz(&["-d"]).input(&twice).output()).output(), &bytes, "text");
}

/// Thousands of small members, of which each was made by itself; what is in them, and they.
fn small_members(count: usize, pack: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let parts: Vec<Vec<u8>> = vec![Vec::new(), b"x".to_vec(), text(100, 1), random(1_000, 2)];
    let packed: Vec<Vec<u8>> = parts.iter().map(|part| pack(part)).collect();
    let mut random = fastrand::Rng::with_seed(3);
    let (mut whole, mut members) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let number = random.usize(..parts.len());
        whole.extend(&parts[number]);
        members.extend(&packed[number]);
    }
    (whole, members)
}

#[test]
fn thousands_of_small_members_are_one_file() {
    let directory = Directory::new();
    let (whole, members) = small_members(20_000, |part| directory.gz(&["-n"]).input(part).output());
    same(&directory.gz(&["-d"]).input(&members).output(), &whole, "mixed members");
    let empty = directory.gz(&["-n"]).output().repeat(100_000);
    same(&directory.gz(&["-d"]).input(&empty).output(), b"", "empty members");
    directory.write("members.gz", &members);
    let listed = String::from_utf8(directory.gz(&["-l", "members.gz"]).output()).unwrap();
    assert!(listed.contains(&format!(" {} ", whole.len())), "{listed}");
}

#[test]
fn others_expand_thousands_of_small_members_that_were_made_here() {
    let directory = Directory::new();
    let (whole, members) = small_members(5_000, |part| directory.gz(&["-n"]).input(part).output());
    let programs: [(&str, &[&str]); 4] = [
        ("gzip", &["-dc"]),
        ("pigz", &["-dc"]),
        ("python3", &["-c", PYTHON_EXPANDS, "gzip"]),
        ("python3", &["-c", PYTHON_EXPANDS, "members"]),
    ];
    for (program, arguments) in programs.into_iter().filter(|(program, _)| have(program)) {
        let expanded = directory.program(program, arguments).input(&members).output();
        same(&expanded, &whole, &format!("{program} {arguments:?}"));
    }
}

#[test]
fn thousands_of_small_members_that_gzip_has_made_are_expanded_here() {
    if !have("gzip") {
        return;
    }
    let directory = Directory::new();
    let (whole, members) = small_members(20_000, |part| directory.program("gzip", &["-nc"]).input(part).output());
    same(&directory.gz(&["-dc"]).input(&members).output(), &whole, "one by one");
    // By a single call, each member with a name and a time.
    let names: Vec<String> = (0..3_000).map(|number| format!("file {number}")).collect();
    let contents: Vec<Vec<u8>> = (0..).zip(&names).map(|(seed, _)| text(seed as usize % 500, seed)).collect();
    names.iter().zip(&contents).for_each(|(name, content)| _ = directory.write(name, content));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let members = directory.program("gzip", &[&["-c"], &names[..]].concat()).output();
    same(&directory.gz(&["-dc"]).input(&members).output(), &contents.concat(), "many files");
}

#[test]
fn output_for_rsync_differs_only_near_the_change() {
    let directory = Directory::new();
    let before = text(30 * BLOCK, 5);
    let mut after = before.clone();
    after.insert(2 * BLOCK + 100, b'!');
    let pack = |bytes: &[u8], way: &[&str]| {
        let mut packed = directory.gz(way).input(bytes).output();
        packed.truncate(packed.len() - 8);
        packed
    };
    let common = |way: &[&str]| {
        let (one, other) = (pack(&before, way), pack(&after, way));
        let ends = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
        ends as f64 / one.len() as f64
    };
    let (followed, plain) = (common(&["-nR"]), common(&["-n"]));
    assert!(followed > 0.8 && plain < 0.1, "{followed} of the output are the same, and {plain} without the option");
}

#[test]
fn lengths_beyond_32_bits_are_told_modulo_2_32() {
    if std::env::var_os("SISAL_BIG").is_none() {
        return skip("SISAL_BIG is not set: no file of more than 4 GiB");
    }
    const LENGTH: u64 = (4 << 30) + 5;
    let directory = Directory::new();
    let file = std::fs::File::create(directory.path("big")).unwrap();
    file.set_len(LENGTH).unwrap();
    directory.gz(&["-1k", "big"]).output();
    let packed = directory.read("big.gz");
    assert_eq!(packed[packed.len() - 4..], 5_u32.to_le_bytes());
    directory.gz(&["-t", "big.gz"]).output();
    let listed = String::from_utf8(directory.gz(&["-l", "big.gz"]).output()).unwrap();
    assert!(listed.contains(&format!(" {LENGTH} ")), "{listed}");
    assert_eq!(zeros_of(directory.gz(&["-dc", "big.gz"])), LENGTH);
    for program in ["gzip", "pigz"].into_iter().filter(|program| have(program)) {
        assert_eq!(zeros_of(directory.program(program, &["-dc", "big.gz"])), LENGTH, "{program}");
    }
}

/// How much a program writes, which are all zeros, and are kept by nobody.
fn zeros_of(program: Program) -> u64 {
    const AT_ONCE: usize = 1 << 16;
    let mut child = program.pipe(Stdio::null());
    let watchdog = Watchdog::over(Pid::from_child(&child));
    let (mut output, mut bytes, mut length) = (child.stdout.take().unwrap(), vec![0; AT_ONCE], 0);
    loop {
        let count = output.read(&mut bytes).unwrap();
        if count == 0 {
            break;
        }
        assert!(bytes[..count] == [0; AT_ONCE][..count], "after {length} bytes");
        length += count as u64;
    }
    let status = child.wait().unwrap();
    drop(watchdog);
    assert!(status.success(), "{status}");
    length
}

#[test]
fn level_0_stores() {
    let directory = Directory::new();
    for way in [&["-0"][..], &["-0", "-i"], &["-0R"], &["-0z"], &["-0", "--raw"]] {
        let format = if way.contains(&"--raw") { &["-d", "--raw"][..] } else { &["-d"] };
        for (name, bytes) in corpus() {
            let packed = directory.gz(way).input(&bytes).output();
            assert!(packed.len() >= bytes.len(), "{name} {way:?}");
            same(&directory.gz(format).input(&packed).output(), &bytes, &format!("{name} {way:?}"));
        }
    }
    if have("gzip") {
        let bytes = text(1_000_000, 12);
        let packed = directory.gz(&["-0"]).input(&bytes).output();
        assert!(packed.len() < bytes.len() + bytes.len() / 100);
        same(&directory.program("gzip", &["-d"]).input(&packed).output(), &bytes, "gzip");
    }
}
