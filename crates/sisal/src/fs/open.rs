//! How a file is to be opened.

use super::file::File;
use super::on_thread;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How a file is to be opened, as [`std::fs::OpenOptions`].
///
/// ```
/// use sisal::fs::{self, OpenOptions};
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("sisal-log-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).open(&path)?;
/// writeln!(log, "started")?;
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions(fs::OpenOptions);

impl OpenOptions {
    /// Nothing is set: see [`std::fs::OpenOptions::new`].
    #[expect(clippy::new_without_default, reason = "std's has none either")]
    pub fn new() -> OpenOptions {
        OpenOptions(fs::OpenOptions::new())
    }

    /// Whether it is to be read.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.0.read(read);
        self
    }

    /// Whether it is to be written.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.0.write(write);
        self
    }

    /// Whether every write goes to its end.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.0.append(append);
        self
    }

    /// Whether what it contains is to be thrown away.
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.0.truncate(truncate);
        self
    }

    /// Whether it is to be made if there is none.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.0.create(create);
        self
    }

    /// Whether it is to be made, and must not be there.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.0.create_new(create_new);
        self
    }

    /// The permissions of a file that is made, before the umask: 0o666 if not set.
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.0.mode(mode);
        self
    }

    /// More flags for `open`: see [`std::os::unix::fs::OpenOptionsExt::custom_flags`].
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.0.custom_flags(flags);
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// See [`std::fs::OpenOptions::open`].
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        on_thread(|| self.0.open(path)).map(File::from)
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> OpenOptions {
        OpenOptions(options)
    }
}
