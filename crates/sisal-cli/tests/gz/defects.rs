//! Input that is not as it should be: fails as it does with gzip, and leaves nothing half written.

use crate::program::{Directory, Ran, have};
use crate::samples::{random, text};

/// Expands `packed` as a file, with this program.
fn expand(directory: &Directory, packed: &[u8], gzip: bool) -> Ran {
    directory.write("file.gz", packed);
    let arguments = ["-dk", "file.gz"];
    let ran = if gzip { directory.program("gzip", &arguments).run() } else { directory.gz(&arguments).run() };
    let expected: &[&str] = if ran.code == Some(1) { &["file.gz"] } else { &["file", "file.gz"] };
    assert_eq!(directory.names(), expected, "{ran:?}");
    let _ = std::fs::remove_file(directory.path("file"));
    ran
}

/// What both say, without who says it.
fn said(ran: &Ran) -> String {
    ran.stderr.replace("sisal gz: ", "").replace("gzip: ", "").trim_start().to_owned()
}

/// Expands it here, and with gzip if that is there: the same has to come of it.
#[track_caller]
fn as_gzip_does(packed: &[u8], what: &str) -> Ran {
    let directory = Directory::new();
    let ours = expand(&directory, packed, false);
    if have("gzip") {
        let theirs = expand(&directory, packed, true);
        assert_eq!((ours.code, said(&ours)), (theirs.code, said(&theirs)), "{what}");
    }
    ours
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    Directory::new().gz(&["-n"]).input(bytes).output()
}

#[test]
fn a_truncated_file_is_told_from_a_whole_one() {
    let whole = packed(&text(300_000, 1));
    for length in [0, 1, 2, 3, 9, 10, 11, 100, whole.len() / 2, whole.len() - 9, whole.len() - 8, whole.len() - 1] {
        let ran = as_gzip_does(&whole[..length], &format!("{length} bytes of {}", whole.len()));
        assert_eq!(ran.code, Some(1));
        assert_eq!(ran.stderr, "sisal gz: file.gz: unexpected end of file\n");
    }
}

#[test]
fn what_is_behind_the_last_member_is_ignored_aloud() {
    let whole = packed(b"what counts");
    let with = |rest: &[u8]| [&whole, rest].concat();
    assert_eq!(as_gzip_does(&with(b"garbage"), "garbage").code, Some(2));
    assert_eq!(as_gzip_does(&with(&[0; 1000]), "zeros").code, Some(0));
    assert_eq!(as_gzip_does(&with(&[0]), "a zero").code, Some(0));
    assert_eq!(as_gzip_does(&with(b"\0\0x"), "zeros and garbage").code, Some(2));
    assert_eq!(as_gzip_does(&with(b"x"), "one byte").code, Some(1));
    assert_eq!(as_gzip_does(&with(b"\x1f"), "half a magic number").code, Some(1));
    assert_eq!(as_gzip_does(&with(b"\x1f\x8b\x08"), "a beginning").code, Some(1));
    assert_eq!(as_gzip_does(&with(b"\x1f\x8b\x09\0\0\0\0\0\0\0\0"), "another method").code, Some(1));
}

#[test]
fn sums_and_lengths_that_do_not_fit_are_told() {
    let whole = packed(&text(300_000, 2));
    let end = whole.len();
    for (place, reason) in [(end - 8, "crc"), (end - 1, "length")] {
        let mut broken = whole.clone();
        broken[place] ^= 1;
        let ran = as_gzip_does(&broken, reason);
        assert_eq!(ran.stderr, format!("sisal gz: file.gz: invalid compressed data--{reason} error\n"));
    }
    let directory = Directory::new();
    let mut zlib = directory.gz(&["-z"]).input(b"some text").output();
    let end = zlib.len();
    zlib[end - 1] ^= 1;
    let ran = directory.gz(&["-d"]).input(&zlib).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdin: invalid compressed data--crc error\n"));
}

#[test]
fn what_is_not_compressed_is_not_expanded() {
    for (bytes, what) in [(text(100_000, 3), "text"), (random(1000, 4), "random"), (b"\0\0\0".to_vec(), "zeros")] {
        let ran = as_gzip_does(&bytes, what);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: file.gz: not in gzip format\n"));
    }
    let directory = Directory::new();
    for way in ["--zlib", "--raw"] {
        assert_eq!(directory.gz(&["-d", way]).input(&random(1000, 5)).run().code, Some(1));
    }
}

#[test]
fn data_in_which_a_byte_is_another_fails_or_not_as_with_gzip() {
    let mut random = fastrand::Rng::with_seed(11);
    let whole = packed(&text(20_000, 6));
    for round in 0..40 {
        let mut broken = whole.clone();
        let place = random.usize(10..broken.len());
        broken[place] ^= 1 << random.u8(..8);
        let directory = Directory::new();
        let ours = expand(&directory, &broken, false);
        assert_eq!(ours.code, Some(1), "round {round}, byte {place}: {ours:?}");
        if have("gzip") {
            assert_eq!(expand(&directory, &broken, true).code, ours.code, "round {round}, byte {place}");
        }
    }
}

#[test]
fn headers_in_which_bytes_are_others_are_read_as_gzip_reads_them() {
    if !have("gzip") {
        return;
    }
    let directory = Directory::new();
    directory.write("a name", b"what is compressed");
    let whole = directory.gz(&["-ck", "a name"]).output();
    const HEADER: usize = 17;
    let mut random = fastrand::Rng::with_seed(12);
    let expand = |bytes: &[u8], gzip: bool| {
        let program = if gzip { directory.program("gzip", &["-dc"]) } else { directory.gz(&["-dc"]) };
        program.input(bytes).run()
    };
    for round in 0..150 {
        let mut broken = whole.clone();
        for _ in 0..random.usize(1..4) {
            let place = random.usize(2..HEADER);
            broken[place] = if random.bool() { random.u8(..) } else { broken[place] ^ 1 << random.u8(..8) };
        }
        broken.truncate(if random.u8(..) < 50 { random.usize(..HEADER) } else { broken.len() });
        let (ours, theirs) = (expand(&broken, false), expand(&broken, true));
        let what = format!("round {round}: {broken:02x?}: {ours:?}, {theirs:?}");
        assert_eq!(ours.code, theirs.code, "{what}");
        // If the header says that the data begins elsewhere, there is more than one way not to make sense of it.
        if !ours.stderr.contains("invalid compressed data") {
            assert_eq!((said(&ours), &ours.stdout), (said(&theirs), &theirs.stdout), "{what}");
        }
    }
}

/// What a header may have beside the ten bytes that all have, by its flag.
const HAS_SUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;

/// A header with these.
fn header(flags: u8) -> Vec<u8> {
    let mut header = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
    let parts: [(u8, &[u8]); 3] =
        [(HAS_EXTRA, b"\x08\0ab\x04\0four"), (HAS_NAME, b"a name\0"), (HAS_COMMENT, b"a comment\0")];
    for (_, part) in parts.into_iter().filter(|(flag, _)| flags & flag != 0) {
        header.extend(part);
    }
    if flags & HAS_SUM != 0 {
        let sum = zlib_rs::crc32::crc32(0, &header);
        header.extend(&sum.to_le_bytes()[..2]);
    }
    header
}

/// Some bytes of a header are others, or one is gone or came, or the file ends in it.
fn spoil(random: &mut fastrand::Rng, header: &[u8], data: &[u8]) -> Vec<u8> {
    let mut spoiled = header.to_vec();
    for _ in 0..random.usize(1..4) {
        let place = random.usize(..spoiled.len());
        match random.u8(..8) {
            0 => _ = spoiled.remove(place),
            1 => spoiled.insert(place, random.u8(..)),
            2 | 3 => spoiled[place] = random.u8(..),
            4 => spoiled[place] = 0,
            _ => spoiled[place] ^= 1 << random.u8(..8),
        }
    }
    match random.u8(..8) {
        0 => spoiled.truncate(random.usize(..spoiled.len())),
        _ => spoiled.extend(data),
    }
    spoiled
}

#[test]
fn spoiled_headers_are_refused_or_accepted_as_gzip_does() {
    const SEEDS: [u64; 4] = [1, 20, 300, 4000];
    const ROUNDS: usize = 4;
    // The ten bytes before it are its header.
    let data = packed(b"what is compressed").split_off(10);
    let directory = Directory::new();
    let test = |bytes: &[u8], what: &str| {
        // Leaves all or nothing.
        let expanded = expand(&directory, bytes, false);
        let tested = directory.gz(&["-t", "file.gz"]).run();
        assert!(matches!(tested.code, Some(0..=2)), "{what}: {tested:?}");
        assert_eq!((expanded.code, &expanded.stderr), (tested.code, &tested.stderr), "{what}");
        if have("gzip") {
            let theirs = directory.program("gzip", &["-t", "file.gz"]).run();
            assert_eq!(tested.code, theirs.code, "{what}: {tested:?}, {theirs:?}");
        }
        tested.code
    };
    for flags in (0..32).filter(|flags| flags & 1 == 0) {
        let whole = header(flags);
        assert_eq!(test(&[&whole[..], &data].concat(), &format!("flags {flags}")), Some(0));
        for seed in SEEDS {
            let mut random = fastrand::Rng::with_seed(seed ^ u64::from(flags) << 32);
            for round in 0..ROUNDS {
                let spoiled = spoil(&mut random, &whole, &data);
                test(&spoiled, &format!("flags {flags}, seed {seed}, round {round}: {spoiled:02x?}"));
            }
        }
    }
}

#[test]
fn a_file_that_fails_does_not_keep_the_next_from_being_expanded() {
    let directory = Directory::new();
    directory.write("bad.gz", b"nonsense");
    directory.write("good.gz", &packed(b"fine"));
    let ran = directory.gz(&["-d", "bad.gz", "good.gz", "missing"]).run();
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr, "sisal gz: bad.gz: not in gzip format\nsisal gz: missing.gz: No such file or directory\n");
    assert_eq!(directory.names(), ["bad.gz", "good"]);
}
