use crate::{Folder, everywhere};
use sisal::fs::{self, File, FileTimes, OpenOptions, TryLockError};
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

#[test]
fn what_is_written_is_read_back() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"hello, ").unwrap();
        assert_eq!((&file).write(b"world").unwrap(), 5);
        assert_eq!(file.write_vectored(&[IoSlice::new(b"!"), IoSlice::new(b"\n")]).unwrap(), 2);
        file.flush().unwrap();
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello, world!\n");

        let mut file = File::open(&path).unwrap();
        let (mut five, mut rest) = ([0; 5], [0; 20]);
        file.read_exact(&mut five).unwrap();
        let count = file.read_vectored(&mut [IoSliceMut::new(&mut [0; 2]), IoSliceMut::new(&mut rest)]).unwrap();
        assert_eq!((&five, count, &rest[..7]), (b"hello", 9, b"world!\n".as_slice()));
        assert_eq!(file.read(&mut five).unwrap(), 0, "the end");
        assert_eq!(file.read(&mut []).unwrap(), 0);
        assert_eq!(
            file.write(b"no").unwrap_err().kind(),
            std::fs::File::open(&path).unwrap().write(b"no").unwrap_err().kind()
        );
    });
}

#[test]
fn a_file_has_one_position_as_the_kernel_has() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let mut file = File::create_new(&path).unwrap();
        assert_eq!(File::create_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        file.write_all(b"0123456789").unwrap();
        assert_eq!(file.stream_position().unwrap(), 10);
        assert_eq!(file.seek(SeekFrom::Start(2)).unwrap(), 2);
        let mut clone = file.try_clone().unwrap();
        let mut byte = [0];
        clone.read_exact(&mut byte).unwrap();
        assert_eq!((byte, file.stream_position().unwrap()), (*b"2", 3));
        assert_eq!(file.seek(SeekFrom::Current(2)).unwrap(), 5);
        assert_eq!(clone.seek(SeekFrom::End(-1)).unwrap(), 9);
        assert!(file.seek(SeekFrom::Current(-100)).is_err());
        // And it is seen by others who have the descriptor.
        let mut other = std::fs::File::from(file.as_fd().try_clone_to_owned().unwrap());
        assert_eq!(other.stream_position().unwrap(), 9);
        other.rewind().unwrap();
        let mut text = String::from("> ");
        assert_eq!(file.read_to_string(&mut text).unwrap(), 10);
        assert_eq!(text, "> 0123456789");
        assert_eq!(file.read_to_end(&mut Vec::new()).unwrap(), 0);
    });
}

#[test]
fn reading_and_writing_at_an_offset_leaves_the_position() {
    everywhere(|| {
        let folder = Folder::new();
        let mut file = File::create_new(folder.join("file")).unwrap();
        file.write_all_at(b"0123456789", 0).unwrap();
        assert_eq!(file.write_at(b"ab", 4).unwrap(), 2);
        let mut four = [0; 4];
        file.read_exact_at(&mut four, 3).unwrap();
        assert_eq!(&four, b"3ab6");
        assert_eq!(file.read_at(&mut four, 8).unwrap(), 2);
        assert_eq!(file.read_at(&mut four, 100).unwrap(), 0);
        assert_eq!(file.read_exact_at(&mut four, 8).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert!(file.read_at(&mut four, u64::MAX).is_err(), "not an offset, and not the position");
        assert_eq!(FileExt::read_at(&file, &mut four, 0).unwrap(), 4);
        assert_eq!(file.stream_position().unwrap(), 0);
    });
}

#[test]
fn sizes_times_and_permissions_change_as_in_std() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let file = File::create(&path).unwrap();
        file.set_len(12_345).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 12_345);
        assert_eq!(fs::read(&path).unwrap(), vec![0; 12_345]);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        file.set_modified(long_ago).unwrap();
        assert_eq!(file.metadata().unwrap().modified().unwrap(), long_ago);
        file.set_times(FileTimes::new().set_accessed(long_ago)).unwrap();
        assert_eq!(file.metadata().unwrap().accessed().unwrap(), long_ago);
        file.set_permissions(fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(file.metadata().unwrap().ino(), std::fs::metadata(&path).unwrap().ino());
    });
}

#[test]
fn options_are_those_of_std() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let missing = OpenOptions::new().read(true).open(&path).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert_eq!(OpenOptions::new().open(&path).unwrap_err().kind(), ErrorKind::InvalidInput);
        let mut options = File::options();
        options.write(true).create(true).mode(0o600);
        options.open(&path).unwrap().write_all(b"12345").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        File::options().append(true).open(&path).unwrap().write_all(b"67").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1234567");
        File::options().write(true).truncate(true).open(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        let directory = i32::try_from(rustix::fs::OFlags::DIRECTORY.bits()).unwrap();
        let refused = File::options().read(true).custom_flags(directory).open(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotADirectory);
        File::options().write(true).create_new(true).open(&path).unwrap_err();
        OpenOptions::from(std::fs::File::options().read(true).clone()).open(&path).unwrap();
    });
}

#[test]
fn locks_keep_others_out() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let (one, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        one.lock().unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(matches!(other.try_lock_shared(), Err(TryLockError::WouldBlock)));
        one.unlock().unwrap();
        one.lock_shared().unwrap();
        other.try_lock_shared().unwrap();
        assert!(matches!(one.try_lock(), Err(TryLockError::WouldBlock)));
        other.unlock().unwrap();
        one.try_lock().unwrap();
    });
}

#[test]
fn files_become_std_files_and_descriptors_and_come_back() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        fs::write(&path, "text").unwrap();
        let file = File::open(&path).unwrap();
        let std: std::fs::File = file.into();
        let owned: OwnedFd = File::from(std).into();
        let mut text = String::new();
        File::from(owned).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    });
}

#[test]
fn text_that_is_none_is_an_error_and_changes_nothing() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        fs::write(&path, b"\xff\xfe").unwrap();
        let mut text = String::from("before");
        let error = File::open(&path).unwrap().read_to_string(&mut text).unwrap_err();
        assert_eq!((error.kind(), text.as_str()), (ErrorKind::InvalidData, "before"));
        assert_eq!(fs::read_to_string(&path).unwrap_err().kind(), ErrorKind::InvalidData);
    });
}

#[test]
fn files_whose_size_nobody_knows_are_read_to_their_end() {
    everywhere(|| {
        for path in ["/proc/self/maps", "/proc/self/status"] {
            let mut text = String::new();
            File::open(path).unwrap().read_to_string(&mut text).unwrap();
            assert!(text.ends_with('\n') && text.lines().count() > 10, "{path}: {text}");
        }
    });
}

/// The position of an open file is one for all who have it, in this process or another: what each writes comes after what was written before.
#[test]
fn who_else_has_the_open_file_loses_nothing() {
    const LINES: usize = 500;
    type Give = fn(&Path) -> (File, std::fs::File);
    let ways: [Give; 4] = [
        |path| {
            let file = std::fs::File::create(path).unwrap();
            (File::from(file.try_clone().unwrap()), file)
        },
        |path| {
            let file = File::create(path).unwrap();
            let given = file.try_clone().unwrap().into();
            (file, given)
        },
        |path| {
            let file = File::create(path).unwrap();
            let given = OwnedFd::from(file.try_clone().unwrap()).into();
            (file, given)
        },
        |path| {
            let file = File::create(path).unwrap();
            let given = file.as_fd().try_clone_to_owned().unwrap().into();
            (file, given)
        },
    ];
    everywhere(|| {
        let folder = Folder::new();
        for (way, give) in ways.iter().enumerate() {
            let path = folder.join(way.to_string());
            let (mut ours, mut theirs) = give(&path);
            let other = thread::spawn(move || (0..LINES).for_each(|_| theirs.write_all(b"theirs\n").unwrap()));
            (0..LINES).for_each(|_| ours.write_all(b"ours\n").unwrap());
            sisal::blocking(|| other.join().unwrap());
            let text = std::fs::read_to_string(&path).unwrap();
            let count = |line| text.lines().filter(|other| *other == line).count();
            assert_eq!((count("ours"), count("theirs"), text.lines().count()), (LINES, LINES, 2 * LINES), "way {way}");
        }
    });
}

#[test]
#[allow(unsafe_code, reason = "a number is taken over as a descriptor")]
fn a_file_is_made_of_a_number_and_is_no_terminal() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        fs::write(&path, "text").unwrap();
        let number = File::open(&path).unwrap().into_raw_fd();
        // SAFETY: it was given away just now.
        let mut file = unsafe { File::from_raw_fd(number) };
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), file.is_terminal()), ("text", false));
        // Each is a terminal for those who have the other end.
        if let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/ptmx") {
            assert!(terminal.is_terminal());
        }
    });
}

/// As many wait for a lock as there are threads to wait on.
#[test]
fn a_lock_is_given_back_though_all_threads_wait_for_it() {
    crate::common::watchdog::guarded(|| {
        let runtime = sisal::Runtime::builder().workers(1).max_workers(1).max_blocking_threads(1).build().unwrap();
        let folder = Folder::new();
        let path = folder.join("file");
        runtime.run(|| {
            let (holder, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
            let third = File::open(&path).unwrap();
            holder.lock().unwrap();
            let waiter = sisal::spawn(move || other.lock().unwrap());
            (0..100).for_each(|_| sisal::yield_now());
            assert!(matches!(third.try_lock(), Err(TryLockError::WouldBlock)));
            assert!(!waiter.is_finished());
            // On the thread.
            holder.sync_all().unwrap();
            holder.unlock().unwrap();
            waiter.join().unwrap();
        });
    });
}

#[test]
fn the_wait_for_a_lock_can_be_cancelled() {
    everywhere(|| {
        let folder = Folder::new();
        let path = folder.join("file");
        let (holder, other) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        holder.lock().unwrap();
        if sisal::in_fiber() {
            let waited = sisal::timeout(Duration::from_millis(3), || other.lock());
            assert!(sisal::is_cancelled(&waited.unwrap_err()));
        }
        holder.unlock().unwrap();
        other.lock().unwrap();
    });
}
