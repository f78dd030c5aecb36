//! How a file is to be opened.

use super::file::File;
use super::{cached, on_thread};
use crate::fiber::in_fiber;
use crate::park;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::Location;
use std::path::Path;

/// How a file is to be opened, as [`std::fs::OpenOptions`].
///
/// ```
/// use sisal::fs::{self, OpenOptions};
/// use std::io::Write;
///
/// let path = std::env::temp_dir().join(format!("sisal-log-{}", std::process::id()));
/// let mut log = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
/// writeln!(log, "started")?;
/// OpenOptions::new().write(true).truncate(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
/// let empty = OpenOptions::new().read(true).open(&path)?;
/// assert_eq!(empty.metadata()?.len(), 0);
/// assert!(OpenOptions::new().write(true).create_new(true).open(&path).is_err(), "it is there");
/// fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    inner: fs::OpenOptions,
    is_read: bool,
    /// Whether anything else is set. If not, the file may be opened without a thread.
    is_special: bool,
}

impl OpenOptions {
    /// Nothing is set: see [`std::fs::OpenOptions::new`].
    ///
    /// ```
    /// use sisal::fs::OpenOptions;
    /// assert!(OpenOptions::new().read(true).open("/proc/self/status").is_ok());
    /// assert!(OpenOptions::new().open("/proc/self/status").is_err(), "neither to be read nor to be written");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[expect(clippy::new_without_default, reason = "std's has none either")]
    pub fn new() -> OpenOptions {
        OpenOptions { inner: fs::OpenOptions::new(), is_read: false, is_special: false }
    }

    fn set(&mut self, set: impl FnOnce(&mut fs::OpenOptions) -> &mut fs::OpenOptions) -> &mut OpenOptions {
        self.is_special = true;
        set(&mut self.inner);
        self
    }

    /// Whether it is to be read.
    ///
    /// ```
    /// use std::io::Read;
    /// let mut text = String::new();
    /// sisal::fs::OpenOptions::new().read(true).open("/proc/self/status")?.read_to_string(&mut text)?;
    /// assert!(text.starts_with("Name:"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.is_read = read;
        self.inner.read(read);
        self
    }

    /// Whether it is to be written.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("sisal-write-{}", std::process::id()));
    /// fs::write(&path, "to be")?;
    /// OpenOptions::new().write(true).open(&path)?.write_all(b"us")?;
    /// assert_eq!(fs::read_to_string(&path)?, "us be");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.set(|options| options.write(write))
    }

    /// Whether every write goes to its end.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// use std::io::Write;
    /// let path = std::env::temp_dir().join(format!("sisal-append-{}", std::process::id()));
    /// fs::write(&path, "to be")?;
    /// OpenOptions::new().append(true).open(&path)?.write_all(b" or not")?;
    /// assert_eq!(fs::read_to_string(&path)?, "to be or not");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.set(|options| options.append(append))
    }

    /// Whether what it contains is to be thrown away.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// let path = std::env::temp_dir().join(format!("sisal-truncate-{}", std::process::id()));
    /// fs::write(&path, "to be")?;
    /// OpenOptions::new().write(true).truncate(true).open(&path)?;
    /// assert_eq!(fs::read_to_string(&path)?, "");
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.set(|options| options.truncate(truncate))
    }

    /// Whether it is to be made if there is none.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// let path = std::env::temp_dir().join(format!("sisal-create-{}", std::process::id()));
    /// assert!(OpenOptions::new().write(true).open(&path).is_err(), "there is none");
    /// OpenOptions::new().write(true).create(true).open(&path)?;
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.set(|options| options.create(create))
    }

    /// Whether it is to be made, and must not be there.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// use std::io::ErrorKind;
    /// let path = std::env::temp_dir().join(format!("sisal-create-new-{}", std::process::id()));
    /// OpenOptions::new().write(true).create_new(true).open(&path)?;
    /// let again = OpenOptions::new().write(true).create_new(true).open(&path);
    /// assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.set(|options| options.create_new(create_new))
    }

    /// The permissions of a file that is made, before the umask: 0o666 if not set.
    ///
    /// ```
    /// use sisal::fs::{self, OpenOptions};
    /// use std::os::unix::fs::PermissionsExt;
    /// let path = std::env::temp_dir().join(format!("sisal-mode-{}", std::process::id()));
    /// let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    /// assert_eq!(file.metadata()?.permissions().mode() & 0o077, 0);
    /// fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        self.set(|options| options.mode(mode))
    }

    /// More flags for `open`: see [`std::os::unix::fs::OpenOptionsExt::custom_flags`].
    ///
    /// ```
    /// use sisal::fs::OpenOptions;
    /// let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open("/proc/self/exe");
    /// assert!(opened.is_err(), "it is a link");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        self.set(|options| options.custom_flags(flags))
    }

    /// Opens it.
    ///
    /// # Errors
    /// See [`std::fs::OpenOptions::open`].
    ///
    /// ```
    /// use sisal::fs::OpenOptions;
    /// sisal::run(|| {
    ///     let mut options = OpenOptions::new();
    ///     options.read(true);
    ///     assert!(options.open("/proc/self/status")?.metadata()?.is_file());
    ///     assert!(options.open("/no such file").is_err());
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        if self.is_read
            && !self.is_special
            && in_fiber()
            && let Some(file) = cached::open(path).and_then(cached::settle)
        {
            park::pay_fuel_for_system_call(Location::caller());
            return Ok(File::fresh(file));
        }
        let opened = on_thread(|| {
            let file = self.inner.open(path)?;
            cached::learn(&file);
            Ok::<_, io::Error>(file)
        });
        opened.map(File::fresh)
    }
}

/// For code that is generic in it.
///
/// ```
/// use std::os::unix::fs::OpenOptionsExt;
/// fn private(options: &mut impl OpenOptionsExt) {
///     options.mode(0o600);
/// }
/// private(&mut sisal::fs::OpenOptions::new());
/// ```
impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, mode: u32) -> &mut OpenOptions {
        OpenOptions::mode(self, mode)
    }

    fn custom_flags(&mut self, flags: i32) -> &mut OpenOptions {
        OpenOptions::custom_flags(self, flags)
    }
}

impl From<fs::OpenOptions> for OpenOptions {
    fn from(options: fs::OpenOptions) -> OpenOptions {
        OpenOptions { inner: options, is_read: false, is_special: true }
    }
}
