//! Whole files at once. Each is one trip to a thread at most, however many calls of the kernel it takes.

use super::file::File;
use super::{cached, on_thread};
use crate::fiber::in_fiber;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// All that a file contains. As [`std::fs::read`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let status = sisal::run(|| sisal::fs::read("/proc/self/status"))?;
/// assert!(status.starts_with(b"Name:"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let mut bytes = Vec::new();
    if in_fiber()
        && let Some(file) = cached::open(path)
    {
        File::fresh(file).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    on_thread(|| {
        let mut file = fs::File::open(path)?;
        cached::learn(&file);
        file.read_to_end(&mut bytes)
    })?;
    Ok(bytes)
}

/// All that a file contains, as text. As [`std::fs::read_to_string`].
///
/// # Errors
/// As of `std`'s; of the kind `InvalidData` if it is not UTF-8.
///
/// ```
/// let status = sisal::run(|| sisal::fs::read_to_string("/proc/self/status"))?;
/// assert!(status.starts_with("Name:"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Makes a file that contains just this, or replaces what it contains. As [`std::fs::write`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let path = std::env::temp_dir().join("sisal-write");
/// sisal::run(|| sisal::fs::write(&path, "written"))?;
/// assert_eq!(std::fs::read(&path)?, b"written");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref(), contents.as_ref());
    on_thread(|| fs::write(path, contents))
}

/// Copies a file with its permissions; returns how many bytes it has. As [`std::fs::copy`].
///
/// # Errors
/// As of `std`'s.
///
/// ```
/// let to = std::env::temp_dir().join("sisal-copy");
/// sisal::fs::copy("/proc/self/status", &to)?;
/// assert!(sisal::fs::read(&to)?.starts_with(b"Name:"));
/// # sisal::fs::remove_file(&to)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref(), to.as_ref());
    on_thread(|| fs::copy(from, to))
}
