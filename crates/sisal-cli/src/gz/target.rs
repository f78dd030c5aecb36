//! The file that is written, and removed again unless it becomes whole.

use super::PROGRAM;
use super::report::say;
use super::unfinished::{Unfinished, UnfinishedGuard};
use super::verbatim::verbatim;
use sisal::fs::{File, FileTimes, Metadata, Permissions};
use std::fs::OpenOptions;
use std::io::{self, BufRead, ErrorKind, IsTerminal, stdin};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::SystemTime;

/// Nobody else is to read what is not finished.
const UNFINISHED: u32 = 0o600;
const PERMISSIONS: u32 = 0o777;

/// A file that is removed when this is dropped before it is [kept](Target::keep).
#[derive(Debug)]
pub(super) struct Target<'a> {
    file: File,
    guard: UnfinishedGuard<'a>,
}

impl<'a> Target<'a> {
    /// Makes it. It must not be there.
    pub(super) fn create(path: &Path, unfinished: &'a Unfinished) -> io::Result<Target<'a>> {
        let (file, guard) =
            unfinished.create(path, OpenOptions::new().write(true).create_new(true).mode(UNFINISHED))?;
        Ok(Target { file: file.into(), guard })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file the owner, mode and times of the one it was made from; or the time that a header tells.
    ///
    /// The owner can be given away only by root: if not, the file belongs to who made it.
    ///
    /// # Errors
    /// If it can't have the mode or the times. It then has what it can have.
    pub(super) fn make_like(&self, like: &Metadata, modified: Option<SystemTime>) -> io::Result<()> {
        let mut mode = like.mode() & PERMISSIONS;
        let is_ours = self.file.metadata()?;
        let same_owner = (is_ours.uid(), is_ours.gid()) == (like.uid(), like.gid());
        if !same_owner && fchown(&self.file, Some(like.uid()), Some(like.gid())).is_err() {
            let has_group = fchown(&self.file, None, Some(like.gid())).is_ok();
            mode = if has_group { mode } else { without_group(mode) };
        }
        let has_mode = self.file.set_permissions(Permissions::from_mode(mode));
        let times = FileTimes::new().set_accessed(like.accessed()?).set_modified(modified.map_or(like.modified(), Ok)?);
        has_mode.and(self.file.set_times(times))
    }

    /// Waits until the file, and that it is called `path`, is on the disk.
    pub(super) fn store(&self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match File::open(folder.unwrap_or(Path::new("."))) {
            Ok(folder) => folder.sync_all(),
            // One may write into it, and not look.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Keeps the file.
    ///
    /// # Errors
    /// If what was written can't be stored. The file is removed then.
    pub(super) fn keep(self) -> io::Result<()> {
        close(self.file)?;
        self.guard.finish();
        Ok(())
    }
}

/// A mode for a file that is of another group than the one this was made for. Who was in one of them may now be among the others, and the other way
/// round: both may do what both might.
fn without_group(mode: u32) -> u32 {
    let both = mode >> 3 & mode & 0o007;
    mode & 0o700 | both << 3 | both
}

/// Closes a file: the last time to hear that what was written can't be stored.
#[allow(unsafe_code, reason = "a file that is dropped keeps to itself what went wrong")]
pub(super) fn close(file: File) -> io::Result<()> {
    let descriptor = file.into_raw_fd();
    sisal::blocking(|| {
        // SAFETY: it is open, in no other hands, and not used after this.
        unsafe { rustix::io::try_close(descriptor) }.map_err(io::Error::from)
    })
}

/// Whether a file of some name can be made.
pub(super) enum Way {
    /// There is none, or none any more.
    Free,
    /// There is one, which may not be overwritten, and that has been said.
    Taken,
    /// That is what the new file is to be made from.
    Source,
}

/// Makes way for a file of that name, made from another: if there is one that may be overwritten, it is removed.
///
/// # Errors
/// If nobody can tell whether there is one, or it can't be removed.
pub(super) fn make_way(path: &Path, source: &Metadata, force: bool) -> io::Result<Way> {
    let present = match sisal::fs::symlink_metadata(path) {
        Ok(present) => present,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Way::Free),
        Err(error) => return Err(error),
    };
    if (present.dev(), present.ino()) == (source.dev(), source.ino()) {
        return Ok(Way::Source);
    }
    if !force && !ask(path)? {
        return Ok(Way::Taken);
    }
    sisal::fs::remove_file(path).map(|()| Way::Free)
}

/// Asks whoever sits at the terminal whether a file may be overwritten; without a terminal it may not.
fn ask(path: &Path) -> io::Result<bool> {
    const REFUSAL: &str = "\tnot overwritten\n";
    let question = format!("{PROGRAM}: {} already exists;", verbatim(&path));
    if !stdin().is_terminal() {
        say(question + REFUSAL);
        return Ok(false);
    }
    say(question + " do you wish to overwrite (y or n)? ");
    let mut answer = Vec::new();
    sisal::blocking(|| stdin().lock().read_until(b'\n', &mut answer))?;
    let agrees = matches!(answer.trim_ascii_start().first(), Some(b'y' | b'Y'));
    if !agrees {
        say(REFUSAL);
    }
    Ok(agrees)
}
