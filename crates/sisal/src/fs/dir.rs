//! Directories.

use super::on_thread;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, DirEntryExt};
use std::path::{Path, PathBuf};

/// How many entries are fetched at once.
const BATCH: usize = 128;

/// The entries of a directory, in no order, without `.` and `..`. As [`std::fs::read_dir`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// sisal::run(|| {
///     let names: Vec<_> = sisal::fs::read_dir("/proc/self")?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<_>>()?;
///     assert!(names.iter().any(|name| name == "status"));
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref();
    let mut entries = on_thread(|| {
        let mut entries = ReadDir { rest: Some(fs::read_dir(path)?), fetched: VecDeque::new() };
        entries.fetch();
        Ok::<_, io::Error>(entries)
    })?;
    entries.fetched.shrink_to_fit();
    Ok(entries)
}

/// The entries of a directory: see [`read_dir`]. They are fetched in batches.
///
/// ```
/// let mut entries: sisal::fs::ReadDir = sisal::fs::read_dir("/proc/self")?;
/// assert!(entries.next().is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ReadDir {
    /// None at the end.
    rest: Option<fs::ReadDir>,
    fetched: VecDeque<io::Result<fs::DirEntry>>,
}

impl ReadDir {
    /// Fetches a batch, where that may take its time.
    fn fetch(&mut self) {
        if let Some(rest) = &mut self.rest {
            self.fetched.extend(rest.take(BATCH));
            if self.fetched.len() < BATCH {
                self.rest = None;
            }
        }
    }
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<io::Result<DirEntry>> {
        if self.fetched.is_empty() && self.rest.is_some() {
            on_thread(|| self.fetch());
        }
        self.fetched.pop_front().map(|entry| entry.map(DirEntry))
    }
}

/// One entry of a directory, as [`std::fs::DirEntry`].
///
/// ```
/// for entry in sisal::fs::read_dir("/proc/self")? {
///     let entry = entry?;
///     if entry.file_name() == "status" {
///         assert_eq!(entry.path(), std::path::Path::new("/proc/self/status"));
///         assert!(entry.file_type()?.is_file() && entry.metadata()?.is_file());
///         assert_ne!(entry.ino(), 0);
///     }
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DirEntry(fs::DirEntry);

impl DirEntry {
    /// Its path: that of the directory as it was given, and the name.
    ///
    /// ```
    /// let entry = sisal::fs::read_dir("/proc/self")?.next().unwrap()?;
    /// assert_eq!(entry.path(), std::path::Path::new("/proc/self").join(entry.file_name()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn path(&self) -> PathBuf {
        self.0.path()
    }

    /// Its name.
    ///
    /// ```
    /// let mut entries = sisal::fs::read_dir("/proc/self")?;
    /// assert!(entries.any(|entry| entry.unwrap().file_name() == "status"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn file_name(&self) -> OsString {
        self.0.file_name()
    }

    /// What is known of it, or of the link itself if it is a symbolic one.
    ///
    /// # Errors
    /// See [`std::fs::DirEntry::metadata`].
    ///
    /// ```
    /// let mut entries = sisal::fs::read_dir("/proc/self")?.map(Result::unwrap);
    /// let status = entries.find(|entry| entry.file_name() == "status").unwrap();
    /// assert!(status.metadata()?.is_file());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        on_thread(|| self.0.metadata())
    }

    /// What kind of file it is. Mostly the directory itself says that.
    ///
    /// # Errors
    /// See [`std::fs::DirEntry::file_type`].
    ///
    /// ```
    /// let mut entries = sisal::fs::read_dir("/proc/self")?.map(Result::unwrap);
    /// let directory = entries.find(|entry| entry.file_name() == "cwd").unwrap();
    /// assert!(directory.file_type()?.is_symlink());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn file_type(&self) -> io::Result<FileType> {
        on_thread(|| self.0.file_type())
    }

    /// The number of its inode.
    ///
    /// ```
    /// use std::os::unix::fs::MetadataExt;
    /// let path = std::env::temp_dir().join(format!("sisal-ino-{}", std::process::id()));
    /// sisal::fs::create_dir_all(path.join("inner"))?;
    /// let entry = sisal::fs::read_dir(&path)?.next().unwrap()?;
    /// assert_eq!(entry.ino(), sisal::fs::metadata(path.join("inner"))?.ino());
    /// sisal::fs::remove_dir_all(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ino(&self) -> u64 {
        self.0.ino()
    }
}

/// For code that is generic in it.
impl DirEntryExt for DirEntry {
    fn ino(&self) -> u64 {
        DirEntry::ino(self)
    }
}

impl From<fs::DirEntry> for DirEntry {
    fn from(entry: fs::DirEntry) -> DirEntry {
        DirEntry(entry)
    }
}

impl From<DirEntry> for fs::DirEntry {
    fn from(entry: DirEntry) -> fs::DirEntry {
        entry.0
    }
}

/// Makes directories, as [`std::fs::DirBuilder`].
///
/// ```
/// use sisal::fs::{self, DirBuilder};
///
/// let path = std::env::temp_dir().join(format!("sisal-dirs-{}", std::process::id()));
/// DirBuilder::new().recursive(true).mode(0o700).create(path.join("a/b"))?;
/// assert!(fs::metadata(path.join("a/b"))?.is_dir());
/// fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct DirBuilder(fs::DirBuilder);

impl DirBuilder {
    /// Makes one directory, with the permissions 0o777 before the umask.
    ///
    /// ```
    /// use sisal::fs::{self, DirBuilder};
    /// let path = std::env::temp_dir().join(format!("sisal-dir-new-{}", std::process::id()));
    /// DirBuilder::new().create(&path)?;
    /// assert!(DirBuilder::new().create(&path).is_err(), "it is there");
    /// fs::remove_dir(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[expect(clippy::new_without_default, reason = "std's has none either")]
    pub fn new() -> DirBuilder {
        DirBuilder(fs::DirBuilder::new())
    }

    /// Whether those above it are made as well, and it may be there already.
    ///
    /// ```
    /// use sisal::fs::{self, DirBuilder};
    /// let path = std::env::temp_dir().join(format!("sisal-dir-recursive-{}", std::process::id()));
    /// DirBuilder::new().recursive(true).create(path.join("a/b"))?;
    /// DirBuilder::new().recursive(true).create(path.join("a/b"))?;
    /// assert!(fs::metadata(path.join("a/b"))?.is_dir());
    /// fs::remove_dir_all(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recursive(&mut self, recursive: bool) -> &mut DirBuilder {
        self.0.recursive(recursive);
        self
    }

    /// With which permissions, before the umask.
    ///
    /// ```
    /// use sisal::fs::{self, DirBuilder};
    /// use std::os::unix::fs::PermissionsExt;
    /// let path = std::env::temp_dir().join(format!("sisal-dir-mode-{}", std::process::id()));
    /// DirBuilder::new().mode(0o700).create(&path)?;
    /// assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o077, 0);
    /// fs::remove_dir(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        self.0.mode(mode);
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// See [`std::fs::DirBuilder::create`].
    ///
    /// ```
    /// use sisal::fs::{self, DirBuilder};
    /// let path = std::env::temp_dir().join(format!("sisal-dir-create-{}", std::process::id()));
    /// assert!(DirBuilder::new().create(path.join("a/b")).is_err(), "there is nothing above it");
    /// DirBuilder::new().create(&path)?;
    /// fs::remove_dir(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        on_thread(|| self.0.create(path))
    }
}

/// For code that is generic in it.
///
/// ```
/// use std::os::unix::fs::DirBuilderExt;
/// fn private(builder: &mut impl DirBuilderExt) {
///     builder.mode(0o700);
/// }
/// private(&mut sisal::fs::DirBuilder::new());
/// ```
impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, mode: u32) -> &mut DirBuilder {
        DirBuilder::mode(self, mode)
    }
}

/// Makes a directory. As [`std::fs::create_dir`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let path = std::env::temp_dir().join(format!("sisal-create-dir-{}", std::process::id()));
/// sisal::fs::create_dir(&path)?;
/// sisal::fs::remove_dir(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::create_dir(path))
}

/// Makes a directory and those above it. As [`std::fs::create_dir_all`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let path = std::env::temp_dir().join(format!("sisal-create-dirs-{}", std::process::id()));
/// sisal::fs::create_dir_all(path.join("a/b"))?;
/// sisal::fs::remove_dir_all(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::create_dir_all(path))
}

/// Removes an empty directory. As [`std::fs::remove_dir`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert!(sisal::fs::remove_dir("/no such directory").is_err());
/// ```
#[track_caller]
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::remove_dir(path))
}

/// Removes a directory and all that is in it, without following symbolic links. As [`std::fs::remove_dir_all`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// assert!(sisal::fs::remove_dir_all("/no such directory").is_err());
/// ```
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    on_thread(|| fs::remove_dir_all(path))
}
