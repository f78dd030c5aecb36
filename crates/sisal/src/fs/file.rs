//! An open file, and what is known of it. Its bytes are read and written in `stream` and `offset`, and it is locked in `lock`.
#![allow(unsafe_code, reason = "a number is taken over as a descriptor, which is unsafe in std too")]

use super::nowait::Nowait;
use super::on_thread;
use super::open::OpenOptions;
use super::position::Position;
use std::fmt;
use std::fs::{self, FileTimes, Metadata, Permissions};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::SystemTime;

/// An open file, as [`std::fs::File`].
///
/// Reads of what is in the page cache are done at once; all else is done by the kernel, or by a thread, while the fiber waits. Several fibers
/// may use one file; it has one position, which reads, writes and seeks move, and [`read_at`](Self::read_at) and
/// [`write_at`](Self::write_at) don't. Whoever else has the open file, here or in another process, moves it too, and nothing that one of them
/// writes is lost; but once a descriptor has been given away, or if it came from elsewhere, threads do what is not in memory.
///
/// Dropping it closes it right here. That is quick, but for files on servers, and for large ones whose last name was removed.
///
/// ```
/// use sisal::fs::{self, File};
/// use std::io::{Read, Seek, Write};
///
/// sisal::run(|| {
///     let path = std::env::temp_dir().join(format!("sisal-file-{}", std::process::id()));
///     let mut file = File::options().read(true).write(true).create(true).open(&path)?;
///     file.write_all(b"hello, file")?;
///     file.rewind()?;
///     let mut text = String::new();
///     file.read_to_string(&mut text)?;
///     assert_eq!(text, "hello, file");
///     fs::remove_file(&path)
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct File {
    pub(super) inner: fs::File,
    pub(super) opened: Arc<Opened>,
}

/// What all clones of a file have in common, as the kernel sees it.
pub(super) struct Opened {
    pub(super) position: Position,
    pub(super) nowait: Nowait,
}

impl File {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// See [`std::fs::File::open`].
    ///
    /// ```
    /// use std::io::Read;
    /// let mut status = String::new();
    /// sisal::fs::File::open("/proc/self/status")?.read_to_string(&mut status)?;
    /// assert!(status.starts_with("Name:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().read(true).open(path)
    }

    /// Opens a file to write it. It is made, or else what it contains is thrown away.
    ///
    /// # Errors
    /// See [`std::fs::File::create`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("sisal-create-{}", std::process::id()));
    /// File::create(&path)?.write_all(b"new")?;
    /// assert_eq!(fs::read(&path)?, b"new");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().write(true).create(true).truncate(true).open(path)
    }

    /// Makes a file, to read and write it; it must not be there.
    ///
    /// # Errors
    /// See [`std::fs::File::create_new`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-create-new-{}", std::process::id()));
    /// let file = File::create_new(&path)?;
    /// assert_eq!(File::create_new(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<File> {
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// How to open a file.
    ///
    /// ```
    /// let file = sisal::fs::File::options().read(true).open("/proc/self/status")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Waits until all that was written is on the disk, and what is known of the file.
    ///
    /// # Errors
    /// See [`std::fs::File::sync_all`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("sisal-sync-all-{}", std::process::id()));
    /// let mut file = File::create(&path)?;
    /// file.write_all(b"for good")?;
    /// file.sync_all()?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn sync_all(&self) -> io::Result<()> {
        on_thread(|| self.inner.sync_all())
    }

    /// Waits until all that was written is on the disk.
    ///
    /// # Errors
    /// See [`std::fs::File::sync_data`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("sisal-sync-data-{}", std::process::id()));
    /// let mut file = File::create(&path)?;
    /// file.write_all(b"for good")?;
    /// file.sync_data()?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn sync_data(&self) -> io::Result<()> {
        on_thread(|| self.inner.sync_data())
    }

    /// Cuts it, or fills it up with zeros.
    ///
    /// # Errors
    /// See [`std::fs::File::set_len`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-set-len-{}", std::process::id()));
    /// File::create(&path)?.set_len(3)?;
    /// assert_eq!(fs::read(&path)?, [0; 3]);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn set_len(&self, size: u64) -> io::Result<()> {
        on_thread(|| self.inner.set_len(size))
    }

    /// What is known of it.
    ///
    /// # Errors
    /// See [`std::fs::File::metadata`].
    ///
    /// ```
    /// assert!(sisal::fs::File::open("/proc/self/status")?.metadata()?.is_file());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        on_thread(|| self.inner.metadata())
    }

    /// Another descriptor of the same open file: both move one position.
    ///
    /// # Errors
    /// See [`std::fs::File::try_clone`].
    ///
    /// ```
    /// use std::io::{Read, Seek};
    /// let mut file = sisal::fs::File::open("/proc/self/status")?;
    /// file.try_clone()?.read_exact(&mut [0; 5])?;
    /// assert_eq!(file.stream_position()?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<File> {
        Ok(File { inner: self.inner.try_clone()?, opened: Arc::clone(&self.opened) })
    }

    /// Changes what may be done with it.
    ///
    /// # Errors
    /// See [`std::fs::File::set_permissions`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-permissions-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// let mut permissions = file.metadata()?.permissions();
    /// permissions.set_readonly(true);
    /// file.set_permissions(permissions)?;
    /// assert!(file.metadata()?.permissions().readonly());
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        on_thread(|| self.inner.set_permissions(permissions))
    }

    /// Changes when it was read and written.
    ///
    /// # Errors
    /// See [`std::fs::File::set_times`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-times-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// let time = std::time::SystemTime::UNIX_EPOCH;
    /// file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time))?;
    /// assert_eq!(file.metadata()?.accessed()?, time);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn set_times(&self, times: FileTimes) -> io::Result<()> {
        on_thread(|| self.inner.set_times(times))
    }

    /// Changes when it was written.
    ///
    /// # Errors
    /// See [`std::fs::File::set_modified`].
    ///
    /// ```
    /// use sisal::fs::{self, File};
    /// let path = std::env::temp_dir().join(format!("sisal-modified-{}", std::process::id()));
    /// let file = File::create(&path)?;
    /// file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
    /// assert_eq!(file.metadata()?.modified()?, std::time::SystemTime::UNIX_EPOCH);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time))
    }
}

impl File {
    fn new(inner: fs::File, position: Position) -> File {
        File { inner, opened: Arc::new(Opened { position, nowait: Nowait::new() }) }
    }

    /// One that was opened just now, so that nobody else has it.
    pub(super) fn fresh(inner: fs::File) -> File {
        File::new(inner, Position::own())
    }

    /// Whether it is a terminal. As [`IsTerminal`], which can't be implemented outside of `std`.
    ///
    /// ```
    /// assert!(!sisal::fs::File::open("/dev/null")?.is_terminal());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_terminal(&self) -> bool {
        self.inner.is_terminal()
    }

    /// The file below, for somebody else.
    fn share(&self) -> &fs::File {
        self.opened.position.share();
        &self.inner
    }
}

/// As `std`'s: the descriptor, its path, and what it is open for.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl From<fs::File> for File {
    fn from(inner: fs::File) -> File {
        File::new(inner, Position::shared())
    }
}

impl From<File> for fs::File {
    fn from(file: File) -> fs::File {
        file.share();
        file.inner
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> File {
        fs::File::from(fd).into()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> OwnedFd {
        fs::File::from(file).into()
    }
}

impl From<File> for Stdio {
    fn from(file: File) -> Stdio {
        fs::File::from(file).into()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.share().as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.share().as_raw_fd()
    }
}

impl FromRawFd for File {
    unsafe fn from_raw_fd(fd: RawFd) -> File {
        // SAFETY: the caller gives an open descriptor away, as is asked for here.
        unsafe { OwnedFd::from_raw_fd(fd) }.into()
    }
}

impl IntoRawFd for File {
    fn into_raw_fd(self) -> RawFd {
        fs::File::from(self).into_raw_fd()
    }
}
