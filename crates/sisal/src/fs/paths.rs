//! What is done with the names of files.

use super::on_thread;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// What is known of a file, through symbolic links. As [`std::fs::metadata`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert!(sisal::fs::metadata("/")?.is_dir());
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref();
    on_thread(|| fs::metadata(path))
}

/// What is known of a file, or of a symbolic link itself. As [`std::fs::symlink_metadata`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert!(sisal::fs::symlink_metadata("/")?.is_dir());
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    let path = path.as_ref();
    on_thread(|| fs::symlink_metadata(path))
}

/// Whether there is something of that name. As [`std::fs::exists`].
///
/// # Errors
/// If that can't be said.
///
/// ```
/// assert!(sisal::fs::exists("/")?);
/// assert!(!sisal::fs::exists("/no such thing")?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn exists(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    on_thread(|| fs::exists(path))
}

/// The path without symbolic links and dots. As [`std::fs::canonicalize`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert_eq!(sisal::fs::canonicalize("/../.")?, std::path::Path::new("/"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref();
    on_thread(|| fs::canonicalize(path))
}

/// Gives a file another name. As [`std::fs::rename`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let (from, to) = (std::env::temp_dir().join("sisal-rename-a"), std::env::temp_dir().join("sisal-rename-b"));
/// sisal::fs::write(&from, "moved")?;
/// sisal::fs::rename(&from, &to)?;
/// assert_eq!(sisal::fs::read(&to)?, b"moved");
/// # sisal::fs::remove_file(&to)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    on_thread(|| fs::rename(from, to))
}

/// Takes a name off a file; the file goes with its last name. As [`std::fs::remove_file`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let path = std::env::temp_dir().join("sisal-remove-file");
/// sisal::fs::write(&path, "")?;
/// sisal::fs::remove_file(&path)?;
/// assert!(!sisal::fs::exists(&path)?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::remove_file(path))
}

/// Makes `link` another name of the file `original`. As [`std::fs::hard_link`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let (a, b) = (std::env::temp_dir().join("sisal-hard-a"), std::env::temp_dir().join("sisal-hard-b"));
/// sisal::fs::write(&a, "one file")?;
/// sisal::fs::hard_link(&a, &b)?;
/// sisal::fs::remove_file(&a)?;
/// assert_eq!(sisal::fs::read(&b)?, b"one file");
/// # sisal::fs::remove_file(&b)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    on_thread(|| fs::hard_link(original, link))
}

/// Makes `link` a symbolic link to `original`. As [`std::os::unix::fs::symlink`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let link = std::env::temp_dir().join(format!("sisal-symlink-{}", std::process::id()));
/// sisal::fs::symlink("/proc", &link)?;
/// assert_eq!(sisal::fs::read_link(&link)?, std::path::Path::new("/proc"));
/// # sisal::fs::remove_file(&link)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    on_thread(|| std::os::unix::fs::symlink(original, link))
}

/// Gives a file to another user, another group, or both. As [`std::os::unix::fs::chown`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// use std::os::unix::fs::MetadataExt;
/// let path = std::env::temp_dir().join(format!("sisal-chown-{}", std::process::id()));
/// sisal::fs::write(&path, "mine")?;
/// let own = sisal::fs::metadata(&path)?;
/// sisal::fs::chown(&path, Some(own.uid()), Some(own.gid()))?;
/// # sisal::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn chown(path: impl AsRef<Path>, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| std::os::unix::fs::chown(path, uid, gid))
}

/// As [`chown`], for a file that is open. As [`std::os::unix::fs::fchown`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let file = sisal::fs::File::open("/dev/null")?;
/// sisal::fs::fchown(&file, None, None)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn fchown(file: impl AsFd, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let fd = file.as_fd();
    on_thread(|| std::os::unix::fs::fchown(fd, uid, gid))
}

/// As [`chown`], of a symbolic link itself. As [`std::os::unix::fs::lchown`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let link = std::env::temp_dir().join(format!("sisal-lchown-{}", std::process::id()));
/// sisal::fs::symlink("/nowhere", &link)?;
/// sisal::fs::lchown(&link, None, None)?;
/// assert!(sisal::fs::chown(&link, None, None).is_err(), "what it leads to is not there");
/// # sisal::fs::remove_file(&link)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn lchown(path: impl AsRef<Path>, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| std::os::unix::fs::lchown(path, uid, gid))
}

/// Makes a symbolic link. As [`std::fs::soft_link`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// # #![allow(deprecated)]
/// let path = std::env::temp_dir().join(format!("sisal-soft-link-{}", std::process::id()));
/// sisal::fs::soft_link("/proc", &path)?;
/// sisal::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[deprecated(note = "its name is `symlink`")]
#[track_caller]
pub fn soft_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref(), link.as_ref());
    on_thread(|| std::os::unix::fs::symlink(original, link))
}

/// Where a symbolic link leads. As [`std::fs::read_link`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert!(sisal::fs::read_link("/proc/self/exe")?.is_absolute());
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let path = path.as_ref();
    on_thread(|| fs::read_link(path))
}

/// Changes what may be done with a file. As [`std::fs::set_permissions`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let path = std::env::temp_dir().join("sisal-permissions");
/// sisal::fs::write(&path, "")?;
/// let mut permissions = sisal::fs::metadata(&path)?.permissions();
/// permissions.set_readonly(true);
/// sisal::fs::set_permissions(&path, permissions)?;
/// assert!(sisal::fs::metadata(&path)?.permissions().readonly());
/// # sisal::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::set_permissions(path, permissions))
}
