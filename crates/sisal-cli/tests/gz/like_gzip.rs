//! Messages, exit codes and tables: the same command is given to gzip, in a directory like ours.

use crate::program::{Directory, Program, Ran, SISAL, have};
use crate::samples::text;
use std::fs::{self, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// A directory with something of each kind.
fn prepare() -> Directory {
    let directory = Directory::new();
    directory.write("file", b"hello");
    directory.write("empty", b"");
    directory.write("plain", b"as it is");
    directory.write("taken", b"new");
    directory.write("taken.gz", b"old");
    directory.write("odd.suffix", b"bytes");
    directory.write("sticky", b"bytes");
    fs::set_permissions(directory.path("sticky"), fs::Permissions::from_mode(0o1644)).unwrap();
    directory.write("setuid", b"bytes");
    fs::set_permissions(directory.path("setuid"), fs::Permissions::from_mode(0o4644)).unwrap();
    directory.write("twice", b"bytes");
    fs::hard_link(directory.path("twice"), directory.path("again")).unwrap();
    symlink("file", directory.path("link")).unwrap();
    fs::create_dir(directory.path("folder")).unwrap();
    directory.write("folder/inside", b"bytes");
    fs::create_dir(directory.path("mixed")).unwrap();
    directory.write("mixed/plain", b"bytes");
    // Made by one of the two, so that both have the same.
    let packed = directory.gz(&["-n"]).input(&text(5_000, 1)).output();
    directory.write("packed.gz", &packed);
    directory.write("packed.tgz", &packed);
    directory.write("mixed/packed.gz", &packed);
    let dated = directory.gz(&[]).argument("-Nc").argument("file").output();
    directory.write("dated.gz", &dated);
    fs::create_dir(directory.path("pipes")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(directory.path("pipes/fifo.gz")).status().unwrap();
    assert!(status.success());
    directory.write("garbage.gz", &[&packed[..], b"garbage"].concat());
    directory.write("zeros.gz", &[&packed[..], &[0; 100]].concat());
    directory.write("short.gz", &packed[..100]);
    directory.write("empty.gz", b"");
    date_all(&directory.path(""));
    date(&directory.path("dated.gz"), 900_000_000);
    for (name, seconds) in [("ancient", 10 << 32), ("epoch", 0)] {
        directory.write(name, b"bytes");
        date(&directory.path(name), seconds);
    }
    directory
}

/// Says that a file was last changed then.
fn date(path: &Path, seconds: u64) {
    let times = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(seconds));
    fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// Gives all files the same time: it stands in what is compressed, and two directories may be made in two different seconds.
fn date_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            date_all(&entry.path());
        } else if kind.is_file() {
            date(&entry.path(), 1_000_000_000);
        }
    }
}

/// What can be compared.
fn outcome(directory: &Directory, ran: &Ran) -> (Option<i32>, String, String, Vec<String>) {
    // gzip begins many a message on a new line, whether there is something on the old one or not.
    let lines = ran.stderr.lines().filter(|line| !line.is_empty());
    let said = lines.map(|line| line.replace("sisal gz: ", "gzip: ") + "\n").collect();
    (ran.code, String::from_utf8_lossy(&ran.stdout).into_owned(), said, directory.names())
}

/// Where it is not like gzip: after a defect in one file the others are treated all the same.
#[test]
fn commands_do_and_say_what_those_of_gzip_do_and_say() {
    if !have("gzip") {
        return;
    }
    let commands = [
        "file",
        "-v file",
        "-kv file",
        "-kv empty",
        "-vc empty",
        "missing",
        "file missing",
        "-d missing",
        "-d missing.gz",
        "taken",
        "-q taken",
        "-f taken",
        "folder",
        "-r folder",
        "-q folder",
        "-kr file folder packed.gz",
        "packed.gz",
        "-q packed.gz",
        "-rv packed.gz",
        "-f packed.gz",
        "packed.tgz",
        "-d file",
        "-dq file",
        "-d packed.gz",
        "-dv packed.gz",
        "-dkv packed.gz",
        "-d packed",
        "-d packed.tgz",
        "-dk packed.gz",
        "-dc file",
        "-dcf file",
        "-dc packed.gz",
        "-dcv packed.gz",
        "-t packed.gz",
        "-tv packed.gz",
        "-t packed",
        "-t file",
        "-t short.gz",
        "-t empty.gz",
        "-tq garbage.gz",
        "-tf file",
        "-tf garbage.gz",
        "-tf short.gz",
        "-t folder",
        "-l packed.gz",
        "-l packed",
        "-l packed.gz packed.tgz",
        "-l file",
        "-lv packed.gz packed.tgz",
        "-lv dated.gz",
        "-lvN dated.gz",
        "-lvn dated.gz",
        "-d garbage.gz",
        "-d zeros.gz",
        "-d short.gz",
        "-d empty.gz",
        "link",
        "-f link",
        "twice",
        "-f twice",
        "-k twice",
        "sticky",
        "-f sticky",
        "setuid",
        "-f setuid",
        "-S .suffix file",
        "-S .suffix odd.suffix",
        "-d -S .suffix odd.suffix",
        "-S",
        "-S -gz -k file",
        "-S -z -k file",
        "-S-gz -k file",
        "-rc pipes",
        "-rt pipes",
        "-d -k -f packed.gz",
        "-dr folder",
        "-c folder",
        "-dkcv packed.gz",
        "-dkqv packed.gz",
        "-dkvq packed.gz",
        "--verb -k file",
        "--decomp packed.gz",
        "--unc packed.gz",
        "--silent taken",
        "--s file",
        "-ak file",
        "-akq file",
        "--asc -k file",
        "-k ancient",
        "-kq ancient",
        "-kn ancient",
        "-km ancient",
        "-k epoch",
        "--synchronous file",
        "-lq packed.gz",
        "-lvq packed.gz",
        "-lqv packed.gz",
        "-lq packed.gz packed.tgz",
        "-l packed.gz missing",
        "-l missing missing",
        "-rt mixed",
        "-rtv mixed",
        "-rt mixed/plain",
        "-rl mixed",
        "-rlv mixed",
        "-rdc mixed",
        "-rdcf mixed",
    ];
    let mut differences = Vec::new();
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        let (one, other) = (prepare(), prepare());
        let ours = one.gz(&arguments).run();
        let theirs = other.program("gzip", &arguments).run();
        let (ours, theirs) = (outcome(&one, &ours), outcome(&other, &theirs));
        if command == "-S" || command == "--s file" {
            // How the command line is used, everybody says in their own words.
            assert_eq!((ours.0, &ours.3), (theirs.0, &theirs.3), "{command}");
            continue;
        }
        if ours != theirs {
            differences.push(format!("{command}\n  here: {ours:?}\n  gzip: {theirs:?}\n"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.concat());
}

#[test]
fn bad_arguments_are_refused_with_a_reason() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    let commands = [
        ("-Q file", "-Q"),
        ("--nonsense file", "--nonsense"),
        ("-p 0 file", "0"),
        ("-p many file", "many"),
        ("-b 1 file", "invalid block size '1': it may be from 32K to 512M"),
        ("-b 12q file", "invalid block size '12q'"),
        ("--zlib --raw file", "cannot be used with"),
        ("-S / file", "invalid suffix '/'"),
        ("-S a/b file", "invalid suffix 'a/b'"),
    ];
    for (command, reason) in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        let ran = directory.gz(&arguments).run();
        assert_eq!((ran.code, ran.stdout.as_slice()), (Some(1), &b""[..]), "{command}");
        assert!(ran.stderr.contains(reason), "{command}: {}", ran.stderr);
        assert_eq!(directory.names(), ["file"], "{command}");
    }
    assert_eq!(directory.gz(&["-S", "", "file"]).run().stderr, "sisal gz: invalid suffix ''\n");
}

#[test]
fn help_is_complete_and_no_error() {
    let directory = Directory::new();
    let help = String::from_utf8(directory.gz(&["--help"]).output()).unwrap();
    for option in [
        "-d",
        "-c",
        "-k",
        "-f",
        "-r",
        "-l",
        "-t",
        "-1",
        "-9",
        "-p",
        "-b",
        "--rsyncable",
        "-n",
        "-N",
        "-v",
        "-q",
        "-S",
        "--zlib",
        "--raw",
        "-0",
        "-m",
        "-V",
        "-L",
        "--synchronous",
        "from 32K to 512M",
        "from 1 to 1024",
        "GZIP",
    ] {
        assert!(help.contains(option), "{option} is missing in\n{help}");
    }
    assert!(!directory.program(SISAL, &["--version"]).output().is_empty());
}

#[test]
fn version_and_license_are_told() {
    let directory = Directory::new();
    let version = format!("sisal gz {}\n", env!("CARGO_PKG_VERSION"));
    for option in ["-V", "--version"] {
        assert_eq!(String::from_utf8(directory.gz(&[option]).output()).unwrap(), version);
    }
    for option in ["-L", "--license"] {
        let said = String::from_utf8(directory.gz(&[option, "missing"]).output()).unwrap();
        assert!(said.starts_with(&version) && said.contains("Apache") && said.contains("MIT"), "{said}");
    }
}

#[test]
fn what_is_asked_for_and_cant_be_told_is_an_error() {
    let directory = Directory::new();
    for option in ["--help", "-h", "--version", "--license"] {
        let ran = directory.gz(&[option]).output_to("/dev/full");
        assert_eq!(ran.code, Some(1), "{option}");
        assert!(ran.stderr.ends_with(": stdout: No space left on device\n"), "{option}: {}", ran.stderr);
        let closed = directory.program("bash", &["-c", "exec \"$0\" gz \"$1\" >&-", SISAL, option]).run();
        assert_eq!(closed.code, Some(1), "{option}");
    }
}

#[test]
fn there_are_totals_if_several_files_were_named() {
    let directory = prepare();
    directory.write("mixed/another.gz", &directory.read("packed.gz"));
    for (command, has_totals) in [("-rl mixed", false), ("-l packed.gz file", true), ("-rl mixed packed.gz", true)] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let ours = String::from_utf8(directory.gz(&arguments).run().stdout).unwrap();
        assert_eq!(ours.contains("(totals)"), has_totals, "{command}: {ours}");
        if have("gzip") {
            let theirs = String::from_utf8(directory.program("gzip", &arguments).run().stdout).unwrap();
            assert_eq!(theirs.contains("(totals)"), has_totals, "{command}: {theirs}");
        }
    }
}

#[test]
fn times_in_tables_are_local() {
    let directory = prepare();
    let list = |program: Program| {
        String::from_utf8(program.variable("TZ", "America/New_York").variable("TZDIR", "/usr/share/zoneinfo").output())
    };
    let ours = list(directory.gz(&["-lv", "packed.gz"])).unwrap();
    let strange = directory.gz(&["-lv", "packed.gz"]).variable("TZ", "XXX-5:17").output();
    assert_ne!(String::from_utf8(strange).unwrap(), ours);
    if have("gzip") {
        assert_eq!(ours, list(directory.program("gzip", &["-lv", "packed.gz"])).unwrap());
    }
}
