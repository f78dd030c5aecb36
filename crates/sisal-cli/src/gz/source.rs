//! The file that is read: opening it, and whether it may be treated at all.

use super::input::Input;
use super::names;
use super::report::Report;
use super::settings::{Action, Settings};
use super::verbatim::verbatim;
use crate::inherited;
use crate::wording::plain;
use rustix::fs::OFlags;
use sisal::fs::{File, Metadata};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const STICKY: u32 = 0o1000;

/// Input.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    pub(super) metadata: Metadata,
    /// Where it was found; standard input has no path.
    pub(super) path: Option<PathBuf>,
}

/// What was found under a name.
pub(super) enum Found {
    File(Box<Source>),
    Directory,
    /// Nothing to treat, and that has been said.
    Nothing,
}

impl Source {
    /// Standard input.
    pub(super) fn stdin() -> io::Result<Source> {
        inherited::check_stdin()?;
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let metadata = file.metadata()?;
        Ok(Source { file, metadata, path: None })
    }

    /// Opens the file of that name, or one with a suffix more if there is none, and looks at it.
    pub(super) fn find(path: &Path, settings: &Settings, report: &Report) -> Found {
        let (path, opened) = match open(path, settings) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => complete(path, error, settings),
            opened => (path.to_owned(), opened),
        };
        let opened = opened.and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                report.error(format_args!("{}: {}", verbatim(&path), plain(&error)));
                return Found::Nothing;
            }
        };
        if metadata.is_dir() {
            return Found::Directory;
        }
        if settings.writes_files()
            && let Some(reason) = unfit(&metadata, settings.force)
        {
            report.warning(format_args!("{} {reason}", verbatim(&path)));
            return Found::Nothing;
        }
        Found::File(Box::new(Source { file, metadata, path: Some(path) }))
    }

    /// What it is read from.
    pub(super) fn input(&self) -> Input<'_> {
        Input::new(&self.file, self.metadata.is_file())
    }

    /// Its size, if that is known before it has been read.
    pub(super) fn size(&self) -> Option<u64> {
        self.metadata.is_file().then_some(self.metadata.len())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => verbatim(path).fmt(f),
            None => f.write_str("stdin"),
        }
    }
}

fn open(path: &Path, settings: &Settings) -> io::Result<File> {
    // A FIFO is opened without waiting for who writes it, and a terminal does not become ours.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if settings.writes_files() && !settings.force {
        flags |= OFlags::NOFOLLOW;
    }
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.file_type().is_fifo() {
        // Of a FIFO it is asked later whether anybody writes it.
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    }
    Ok(file)
}

/// Looks for the compressed file that is meant by a name without a suffix.
fn complete(path: &Path, not_found: io::Error, settings: &Settings) -> (PathBuf, io::Result<File>) {
    if settings.action == Action::Compress || names::without_suffix(path, &settings.suffix).is_some() {
        return (path.to_owned(), Err(not_found));
    }
    for candidate in names::completed(path, &settings.suffix) {
        match open(&candidate, settings) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return (candidate, opened),
        }
    }
    (names::with_suffix(path, &settings.suffix), Err(not_found))
}

/// Why a file is not replaced by another.
fn unfit(metadata: &Metadata, force: bool) -> Option<String> {
    let mode = metadata.mode();
    let others = metadata.nlink().saturating_sub(1);
    let reason = match () {
        () if !metadata.is_file() => "is not a directory or a regular file - ignored",
        () if mode & SET_USER_ID != 0 => "is set-user-ID on execution - ignored",
        () if mode & SET_GROUP_ID != 0 => "is set-group-ID on execution - ignored",
        () if force => return None,
        () if mode & STICKY != 0 => "has the sticky bit set - file ignored",
        () if others > 0 => {
            let plural = if others == 1 { "" } else { "s" };
            return Some(format!("has {others} other link{plural} -- file ignored"));
        }
        () => return None,
    };
    Some(reason.to_owned())
}
