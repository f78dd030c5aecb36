//! Opening a file without waiting: one whose path is in the kernel's caches, on a file system that needs nothing more to open it.
//!
//! The kernel is asked (`openat2` with `RESOLVE_CACHED`) to give up rather than to wait for a directory to be read. But opening the file
//! itself can wait as well: a FIFO for its other end, a file on a server for that server. So
//! 1. the path is resolved to a handle that opens nothing (`O_PATH`),
//! 2. it is looked at: it has to be a regular file, on a file system that is known to be *local*,
//! 3. it is opened, with `O_NONBLOCK`, in case it is no longer what it was.
//!
//! Whether a file system is local is asked when a file of it has been opened on a thread, since the question itself may go to a server.
//! (When one is unmounted and another gets its number, the answer is wrong until the end of the process. Then a worker may wait.)

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// The file systems that have been looked at, by their device, and whether they are local.
static KNOWN: RwLock<Vec<(u64, bool)>> = RwLock::new(Vec::new());

/// The kernel can't do this.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The kinds that open a file whose path is known without asking anybody: ext2 to 4, XFS, Btrfs, F2FS, tmpfs, ramfs, and overlays, as
/// containers have them.
const LOCAL: [u64; 7] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x8584_58F6, 0x794C_7630];

/// Opens `path` to read it, if that needs no wait, as far as can be said. None says nothing. It does not block, which for a regular file
/// means nothing: see [`settle`].
pub(super) fn open(path: &Path) -> Option<fs::File> {
    if REFUSED.load(Ordering::Relaxed) || path.as_os_str().as_encoded_bytes().contains(&0) {
        return None;
    }
    let handle = open_with(path, OFlags::PATH)?;
    if !is_regular_and_local(&handle) {
        return None;
    }
    let file = open_with(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    is_regular_and_local(&file).then_some(file)
}

fn open_with(path: &Path, flags: OFlags) -> Option<fs::File> {
    match rustix::fs::openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::CACHED) {
        Ok(file) => Some(file.into()),
        Err(error) => {
            if matches!(error, Errno::NOSYS | Errno::INVAL) {
                REFUSED.store(true, Ordering::Relaxed);
            }
            None
        }
    }
}

/// Makes an opened file one like all others, for those who look at its flags.
pub(super) fn settle(file: fs::File) -> Option<fs::File> {
    let flags = rustix::fs::fcntl_getfl(&file).ok()?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK).ok()?;
    Some(file)
}

fn is_regular_and_local(file: &fs::File) -> bool {
    let Some(device) = device_of_regular(file) else { return false };
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().any(|&(known, is_local)| known == device && is_local)
}

/// The device of its file system, if it is a regular file.
pub(super) fn device_of_regular(file: &fs::File) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let stat = rustix::fs::statx(file.as_fd(), c"", flags, StatxFlags::TYPE).ok()?;
    let is_regular = rustix::fs::FileType::from_raw_mode(stat.stx_mode.into()) == rustix::fs::FileType::RegularFile;
    is_regular.then(|| u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor))
}

/// Learns of the file system of a file that was opened where one may wait.
pub(super) fn learn(file: &fs::File) {
    let Some(device) = device_of_regular(file) else { return };
    let is_known = |known: &[(u64, bool)]| known.iter().any(|&(known, _)| known == device);
    if is_known(&KNOWN.read().unwrap_or_else(PoisonError::into_inner)) {
        return;
    }
    let Ok(system) = rustix::fs::fstatfs(file) else { return };
    let is_local = LOCAL.contains(&(system.f_type.cast_unsigned() & u64::from(u32::MAX)));
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if !is_known(&known) {
        known.push((device, is_local));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_opened_at_once_when_its_file_system_is_known() {
        let path = std::env::temp_dir().join(format!("sisal-cached-{}", std::process::id()));
        fs::write(&path, "text").unwrap();
        let file = fs::File::open(&path).unwrap();
        learn(&file);
        learn(&file);
        let device = device_of_regular(&file).unwrap();
        let known: Vec<_> = KNOWN.read().unwrap().iter().filter(|known| known.0 == device).copied().collect();
        assert_eq!(known.len(), 1);
        if known[0].1 && !REFUSED.load(Ordering::Relaxed) {
            let again = settle(open(&path).unwrap()).unwrap();
            assert_eq!(rustix::fs::fcntl_getfl(&again).unwrap(), rustix::fs::fcntl_getfl(&file).unwrap());
        }
        fs::remove_file(&path).unwrap();
        assert!(open(&path).is_none());
        assert!(open(Path::new("/dev/null")).is_none(), "not a regular file");
        assert!(open(Path::new("a\0b")).is_none());
        assert!(open(Path::new("")).is_none());
        assert!(!REFUSED.load(Ordering::Relaxed) || open(Path::new("/")).is_none());
    }
}
