//! Where output goes: a descriptor, behind the lock that `std` has for it.
#![allow(unsafe_code, reason = "descriptors are borrowed by number, and poll is a C function")]

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// What is written at a time when the writer must not block: if a pipe has room at all, it has room for 4 KiB, of which `std`
/// may still have 1 KiB to write.
const PIECE: usize = 3 << 10;

/// See the [module](self).
pub(super) trait Sink: Send + Sync + 'static {
    /// What its thread is called.
    const THREAD: &'static str;

    fn descriptor(&self) -> RawFd;

    /// Calls `f` under the lock.
    fn locked<R>(&self, f: impl FnOnce(&mut dyn Write) -> R) -> R;
}

pub(super) struct Stdout;

impl Sink for Stdout {
    const THREAD: &'static str = "sisal-stdout";

    fn descriptor(&self) -> RawFd {
        libc::STDOUT_FILENO
    }

    fn locked<R>(&self, f: impl FnOnce(&mut dyn Write) -> R) -> R {
        f(&mut io::stdout().lock())
    }
}

pub(super) struct Stderr;

impl Sink for Stderr {
    const THREAD: &'static str = "sisal-stderr";

    fn descriptor(&self) -> RawFd {
        libc::STDERR_FILENO
    }

    fn locked<R>(&self, f: impl FnOnce(&mut dyn Write) -> R) -> R {
        f(&mut io::stderr().lock())
    }
}

/// Writes all, blocking if it must.
pub(super) fn write_all(out: &mut dyn Write, descriptor: RawFd, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        rest = &rest[insist(descriptor, || out.write(rest))?..];
    }
    insist(descriptor, || out.flush())
}

/// Writes as much as goes without blocking; returns how much that was.
pub(super) fn write_some(out: &mut dyn Write, descriptor: RawFd, text: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < text.len() && is_writable(descriptor, 0) {
        match out.write(piece(&text[written..])) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
        // At most 1 KiB of it is with `std`.
        insist(descriptor, || out.flush())?;
    }
    Ok(written)
}

/// For whom a write waits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// For nobody: a file, or what takes everything.
    Never,
    /// For room: a pipe or socket, which says when it has some.
    ForRoom,
    /// For whoever shows it, until that has taken all: a terminal says that it has room as soon as it has any.
    ForAll,
}

/// What the descriptor is.
pub(super) fn waits(descriptor: RawFd) -> Waits {
    let data = with_file(descriptor, |file| file.metadata());
    match data {
        Ok(data) if data.file_type().is_file() => Waits::Never,
        Ok(data) if data.file_type().is_char_device() => {
            if data.rdev() == libc::makedev(NULL.0, NULL.1) {
                Waits::Never
            } else {
                Waits::ForAll
            }
        }
        _ => Waits::ForRoom,
    }
}

/// The numbers of `/dev/null`.
const NULL: (libc::c_uint, libc::c_uint) = (1, 3);

/// Writes all without any lock, in the child of a fork, where nobody would ever free it.
pub(super) fn write_unlocked(descriptor: RawFd, text: &[u8]) {
    // There is nobody to tell of an error.
    let _ = with_file(descriptor, |file| write_all(file, descriptor, text));
}

fn with_file<R>(descriptor: RawFd, f: impl FnOnce(&mut File) -> R) -> R {
    // SAFETY: it is not closed here; and if somebody has closed it, all uses fail, which is fine.
    f(&mut ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) }))
}

/// What to write at a time: whole lines, if there are any.
fn piece(text: &[u8]) -> &[u8] {
    if text.len() <= PIECE {
        return text;
    }
    let most = &text[..PIECE];
    most.iter().rposition(|&byte| byte == b'\n').map_or(most, |newline| &most[..=newline])
}

/// Tries again after interruptions, and when a descriptor that does not block is ready.
fn insist<R: IsNothing>(descriptor: RawFd, mut write: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match write() {
            Ok(written) if written.is_nothing() => return Err(ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                is_writable(descriptor, -1);
            }
            result => return result,
        }
    }
}

/// Whether a write has done nothing at all.
trait IsNothing {
    fn is_nothing(&self) -> bool;
}

impl IsNothing for usize {
    fn is_nothing(&self) -> bool {
        *self == 0
    }
}

impl IsNothing for () {
    fn is_nothing(&self) -> bool {
        false
    }
}

/// Whether a write would not block, at the latest after so many milliseconds (-1: wait for it). An error that a write would
/// return counts as well; that a signal came in between does not.
fn is_writable(descriptor: RawFd, timeout: libc::c_int) -> bool {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, ours.
    match unsafe { libc::poll(&raw mut poll, 1, timeout) } {
        -1 => io::Error::last_os_error().kind() != ErrorKind::Interrupted,
        ready => ready > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_if_they_can_be() {
        assert_eq!(piece(b"short"), b"short");
        let lines = [&vec![b'a'; PIECE - 10][..], b"\nb\n", &[b'c'; 100]].concat();
        assert_eq!(piece(&lines).len(), PIECE - 7);
        assert_eq!(piece(&vec![b'a'; 2 * PIECE]).len(), PIECE);
    }
}
