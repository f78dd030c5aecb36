//! What becomes of files: their names, times and modes.

use crate::program::{Directory, SISAL, have, skip};
use crate::samples::text;
use std::ffi::OsStr;
use std::fs::{self, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Some time in 2001, with nanoseconds.
const LONG_AGO: Duration = Duration::new(1_000_000_000, 123_456_789);
const SOMEBODY: u32 = 12_345;

fn set_time(path: &Path, since_epoch: Duration) {
    let times = FileTimes::new().set_accessed(UNIX_EPOCH + since_epoch).set_modified(UNIX_EPOCH + since_epoch);
    fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

fn modified(path: &Path) -> Duration {
    fs::metadata(path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap()
}

#[test]
fn a_file_is_replaced_and_comes_back_with_its_mode_and_times() {
    let directory = Directory::new();
    let path = directory.write("file", &text(500_000, 1));
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    set_time(&path, LONG_AGO);
    for (arguments, name) in [(&["file"][..], "file.gz"), (&["-d", "file.gz"], "file")] {
        directory.gz(arguments).output();
        assert_eq!(directory.names(), [name]);
        let metadata = fs::metadata(directory.path(name)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, 0o640);
        assert_eq!(modified(&directory.path(name)), LONG_AGO);
    }
    assert!(directory.read("file") == text(500_000, 1));
}

#[test]
fn the_owner_is_kept_by_root() {
    let directory = Directory::new();
    let path = directory.write("file", b"somebody's");
    if chown(&path, Some(SOMEBODY), Some(SOMEBODY)).is_err() {
        return skip("only root can give files away");
    }
    directory.gz(&["file"]).output();
    let metadata = fs::metadata(directory.path("file.gz")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (SOMEBODY, SOMEBODY));
}

#[test]
fn output_that_cant_have_the_mode_and_times_of_the_input_is_kept_with_a_warning() {
    let directory = Directory::new();
    let path = directory.write("file", b"somebody's");
    if chown(&path, Some(SOMEBODY), Some(SOMEBODY)).is_err() {
        return skip("only root can give files away");
    }
    if !have("setpriv") {
        return;
    }
    // One who may give files away, but not change those of others.
    let ran = directory.program("setpriv", &["--bounding-set", "-fowner", SISAL, "gz", "file"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), "sisal gz: file.gz: Operation not permitted\n"));
    assert_eq!(directory.names(), ["file.gz"]);
    assert_eq!(directory.gz(&["-dc", "file.gz"]).output(), b"somebody's");
}

#[test]
fn a_group_that_cant_be_kept_gets_no_rights_that_others_lack_and_takes_none_from_them() {
    if !have("setpriv") {
        return;
    }
    for (mode, becomes) in [(0o644, 0o644), (0o640, 0o600), (0o664, 0o644), (0o606, 0o600), (0o777, 0o777)] {
        let directory = Directory::new();
        let path = directory.write("file", b"of another group");
        if chown(&path, None, Some(SOMEBODY)).is_err() {
            return skip("only root can give files away");
        }
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        directory.program("setpriv", &["--bounding-set", "-chown", SISAL, "gz", "file"]).output();
        let metadata = fs::metadata(directory.path("file.gz")).unwrap();
        assert_ne!(metadata.gid(), SOMEBODY);
        assert_eq!(metadata.mode() & 0o7777, becomes, "{mode:o} became {:o}", metadata.mode());
    }
}

#[test]
fn an_empty_name_is_that_of_no_file_and_the_others_are_treated() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    let ran = directory.gz(&["", "file"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: : No such file or directory\n"));
    assert_eq!(directory.names(), ["file.gz"]);
}

#[test]
fn input_is_kept_if_that_is_asked_for_or_output_goes_to_stdout() {
    let directory = Directory::new();
    directory.write("file", b"kept");
    directory.gz(&["-k", "file"]).output();
    assert_eq!(directory.names(), ["file", "file.gz"]);
    assert_eq!(directory.gz(&["-dc", "file.gz"]).output(), b"kept");
    assert_eq!(directory.gz(&["-d", "--stdout", "file.gz", "file"]).run().stdout, b"kept");
    directory.gz(&["-c", "file"]).output();
    assert_eq!(directory.names(), ["file", "file.gz"]);
}

#[test]
fn an_existing_file_is_overwritten_only_by_force() {
    let directory = Directory::new();
    directory.write("file", b"new");
    directory.write("file.gz", b"old");
    let ran = directory.gz(&["file"]).run();
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "sisal gz: file.gz already exists;\tnot overwritten\n");
    assert_eq!((directory.read("file.gz"), directory.names().len()), (b"old".to_vec(), 2));
    directory.gz(&["-f", "file"]).output();
    assert_eq!(directory.gz(&["-dc", "file.gz"]).output(), b"new");
    assert_eq!(directory.names(), ["file.gz"]);
}

#[test]
fn names_and_times_are_stored_and_restored() {
    let directory = Directory::new();
    set_time(&directory.write("original", b"named"), LONG_AGO);
    directory.gz(&["original"]).output();
    fs::rename(directory.path("original.gz"), directory.path("other.gz")).unwrap();
    set_time(&directory.path("other.gz"), LONG_AGO * 2);
    directory.gz(&["-dk", "other.gz"]).output();
    assert_eq!(modified(&directory.path("other")), LONG_AGO * 2);
    directory.gz(&["-dkN", "other.gz"]).output();
    assert_eq!(directory.names(), ["original", "other", "other.gz"]);
    assert_eq!(modified(&directory.path("original")).as_secs(), LONG_AGO.as_secs());
    let listed = String::from_utf8(directory.gz(&["-lN", "other.gz"]).output()).unwrap();
    assert!(listed.ends_with(" original\n"), "{listed}");
}

#[test]
fn without_names_the_output_depends_on_the_bytes_only() {
    let directory = Directory::new();
    set_time(&directory.write("one", b"bytes"), LONG_AGO);
    directory.write("two", b"bytes");
    assert_eq!(directory.gz(&["-cn", "one"]).output(), directory.gz(&["-c", "--no-name", "two"]).output());
    assert_ne!(directory.gz(&["-c", "one"]).output(), directory.gz(&["-c", "two"]).output());
}

#[test]
fn times_are_left_out_without_names() {
    let directory = Directory::new();
    set_time(&directory.write("original", b"named"), LONG_AGO);
    let packed = directory.gz(&["-cm", "original"]).output();
    assert_eq!((&packed[4..8], &packed[10..19]), (&[0; 4][..], &b"original\0"[..]));
    assert_eq!(directory.gz(&["-cn", "--time", "original"]).output()[4..8], 1_000_000_000_u32.to_le_bytes());
    directory.gz(&["original"]).output();
    fs::rename(directory.path("original.gz"), directory.path("other.gz")).unwrap();
    set_time(&directory.path("other.gz"), LONG_AGO * 2);
    directory.gz(&["-dN", "--no-time", "other.gz"]).output();
    assert_eq!(directory.names(), ["original"]);
    assert_eq!(modified(&directory.path("original")), LONG_AGO * 2);
}

#[test]
fn a_stored_name_that_is_too_long_is_not_used() {
    let directory = Directory::new();
    let mut packed = directory.gz(&["-n"]).input(b"bytes").output();
    packed[3] = 8;
    packed.splice(10..10, [&[b'x'; 300][..], b"\0"].concat());
    directory.write("file.gz", &packed);
    directory.gz(&["-dN", "file.gz"]).output();
    assert_eq!(directory.names(), ["file"]);
}

#[test]
fn a_stored_name_leads_nowhere_else() {
    let directory = Directory::new();
    fs::create_dir(directory.path("inner")).unwrap();
    for (stored, becomes) in [("../../evil", "evil"), ("/tmp/evil", "evil"), ("..", "file"), ("x/", "file")] {
        let mut packed = directory.gz(&["-n"]).input(b"bytes").output();
        packed[3] = 8;
        packed.splice(10..10, [stored.as_bytes(), b"\0"].concat());
        directory.write("inner/file.gz", &packed);
        directory.gz(&["-dN", "inner/file.gz"]).output();
        assert_eq!(directory.read(&format!("inner/{becomes}")), b"bytes", "{stored}");
        fs::remove_file(directory.path(format!("inner/{becomes}"))).unwrap();
        assert_eq!(directory.names(), ["inner"]);
    }
}

#[test]
fn a_file_does_not_make_way_for_what_is_made_from_it() {
    let directory = Directory::new();
    directory.write("own.gz", b"bytes");
    let packed = directory.gz(&["-c", "own.gz"]).output();
    directory.write("own.gz", &packed);
    symlink("target.gz", directory.path("target")).unwrap();
    directory.write("target.gz", b"bytes");
    for (arguments, input, output) in [
        (&["-dN", "own.gz"][..], "own.gz", "own.gz"),
        (&["-dNf", "own.gz"], "own.gz", "own.gz"),
        (&["-f", "target"], "target", "target.gz"),
    ] {
        let ran = directory.gz(arguments).run();
        assert_eq!((ran.code, ran.stderr), (Some(1), format!("sisal gz: {input} and {output} are the same file\n")));
        assert_eq!(directory.names(), ["own.gz", "target", "target.gz"]);
    }
    assert!(directory.read("own.gz") == packed);
    assert_eq!(directory.read("target"), b"bytes");
}

#[test]
fn a_name_that_becomes_too_long_is_told() {
    let directory = Directory::new();
    let name = "x".repeat(253);
    directory.write(&name, b"bytes");
    let ran = directory.gz(&[&name]).run();
    assert_eq!((ran.code, ran.stderr), (Some(1), format!("sisal gz: {name}.gz: File name too long\n")));
    assert_eq!(directory.names(), [name]);
}

#[test]
fn directories_are_walked_if_that_is_asked_for() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path("a/b/c")).unwrap();
    let names = ["a/1", "a/b/2", "a/b/c/3"];
    names.iter().for_each(|name| drop(directory.write(name, name.as_bytes())));
    directory.gz(&["-r", "a"]).output();
    names
        .iter()
        .for_each(|name| assert!(!directory.path(name).exists() && directory.path(format!("{name}.gz")).exists()));
    // What is compressed already, or is not, is passed over.
    directory.gz(&["-r", "a"]).output();
    directory.write("a/b/plain", b"as it is");
    directory.gz(&["-dr", "a"]).output();
    names.iter().for_each(|name| assert_eq!(directory.read(name), name.as_bytes()));
}

#[test]
fn directories_may_be_deep() {
    const LEVELS: usize = 1000;
    let directory = Directory::new();
    let deepest = "d/".repeat(LEVELS);
    fs::create_dir_all(directory.path(&deepest)).unwrap();
    directory.write(&format!("{deepest}file"), b"bytes");
    let on_a_small_stack = "ulimit -s 512; exec \"$0\" gz -r d";
    directory.program("bash", &["-c", on_a_small_stack, SISAL]).output();
    assert!(directory.path(format!("{deepest}file.gz")).exists());
    // Level by level: to remove all at once takes a descriptor for each.
    fs::remove_file(directory.path(format!("{deepest}file.gz"))).unwrap();
    (1..=LEVELS).rev().for_each(|level| fs::remove_dir(directory.path("d/".repeat(level))).unwrap());
}

#[test]
fn suffixes_may_be_others() {
    let directory = Directory::new();
    for (arguments, packed) in
        [(&["-S", ".xyz"][..], "file.xyz"), (&["-z"], "file.zz"), (&["--raw"], "file.deflate"), (&["-S.z"], "file.z")]
    {
        directory.write("file", b"bytes");
        directory.gz(&[arguments, &["file"]].concat()).output();
        assert_eq!(directory.names(), [packed]);
        directory.gz(&[&["-d"], arguments, &[packed]].concat()).output();
        assert_eq!(directory.read("file"), b"bytes");
    }
    directory.gz(&["-S", ".xyz", "file"]).output();
    directory.gz(&["-d", "-S", ".xyz", "file"]).output();
    assert_eq!(directory.names(), ["file"]);
}

#[test]
fn links_are_followed_only_by_force_or_to_stdout() {
    let directory = Directory::new();
    directory.write("file", b"bytes");
    symlink("file", directory.path("link")).unwrap();
    let ran = directory.gz(&["-k", "link"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: link: Too many levels of symbolic links\n"));
    directory.gz(&["-c", "link"]).output();
    directory.gz(&["-kf", "link"]).output();
    assert_eq!(directory.names(), ["file", "link", "link.gz"]);
}

#[test]
fn what_is_not_compressed_is_copied_by_force() {
    let directory = Directory::new();
    for bytes in [b"".to_vec(), b"x".to_vec(), b"x^2 begins like zlib".to_vec(), text(1_000_000, 8)] {
        assert!(directory.gz(&["-dcf"]).input(&bytes).output() == bytes);
    }
}

#[test]
fn what_is_not_compressed_is_copied_by_force_behind_members_too() {
    let directory = Directory::new();
    let packed = directory.gz(&[]).input(b"expanded ").output();
    let rests = [&b"plain text"[..], b"x", b"\x1f", b"\0\0\0", b"\0", b"\0\0text", b"", &text(300_000, 9)];
    for rest in rests {
        for members in [1, 3] {
            let input = [packed.repeat(members), rest.to_vec()].concat();
            let expanded = [b"expanded ".repeat(members), rest.to_vec()].concat();
            assert!(directory.gz(&["-dcf"]).input(&input).output() == expanded, "{members} and {} bytes", rest.len());
            if have("gzip") {
                assert!(directory.program("gzip", &["-dcf"]).input(&input).output() == expanded);
            }
        }
    }
    // What begins as a member has to be one.
    let ran = directory.gz(&["-dcf"]).input(&[&packed[..], b"\x1f\x8b"].concat()).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "sisal gz: stdin: unexpected end of file\n"));
}

#[test]
fn pigz_restores_what_is_stored_here() {
    if !have("pigz") {
        return;
    }
    let directory = Directory::new();
    directory.write("original", b"named");
    directory.gz(&["original"]).output();
    fs::rename(directory.path("original.gz"), directory.path("other.gz")).unwrap();
    directory.program("pigz", &["-dN", "other.gz"]).output();
    assert_eq!(directory.names(), ["original"]);
}

#[test]
fn names_are_printed_byte_by_byte_whatever_they_are() {
    const MARKS: &str = "\u{10ff00}\u{10ffe9}";
    let directory = Directory::new();
    let commands = ["-kv NAME", "-lN NAME.gz", "-tv NAME.gz", "-d NAME", "-kv NAME", "NAME.missing", "NAME.gz"];
    for name in [&b"caf\xe9"[..], b"\xff\xfe whole \xc3\xa9 and half \xc3", MARKS.as_bytes()] {
        let name = OsStr::from_bytes(name);
        fs::write(directory.path(name), b"bytes").unwrap();
        for command in commands {
            let command = format!("\"$0\" gz {} > said 2>&1", command.replace("NAME", "\"$1\""));
            directory.program("bash", &["-c", &command, SISAL]).argument(name).run();
            let said = directory.read("said");
            assert!(said.windows(name.len()).any(|part| part == name.as_bytes()), "{command}: {said:?}");
        }
        fs::remove_file(directory.path(name)).unwrap();
        fs::remove_file(directory.path(OsStr::from_bytes(&[name.as_bytes(), b".gz"].concat()))).unwrap();
    }
}
