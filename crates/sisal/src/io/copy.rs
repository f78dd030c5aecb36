//! Copying everything a reader has to a writer.

use std::io::{self, ErrorKind, Read, Write};

/// How much is read at once: as much as a pipe holds.
pub(crate) const COPY_BUFFER: usize = 64 << 10;

/// Copies everything `reader` gives until its end to `writer`; returns how many bytes that were.
///
/// The same as [`std::io::copy`], which works as well, but with a buffer that is large and not on the fiber's stack.
///
/// # Errors
/// The first of either. What was read before it and could not be written is lost.
///
/// ```
/// let mut all = Vec::new();
/// assert_eq!(sisal::io::copy(&mut &b"hello"[..], &mut all)?, 5);
/// assert_eq!(all, b"hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn copy<R, W>(reader: &mut R, writer: &mut W) -> io::Result<u64>
where
    R: Read + ?Sized,
    W: Write + ?Sized,
{
    let mut buffer = vec![0; COPY_BUFFER];
    let mut copied = 0;
    loop {
        let length = match reader.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        writer.write_all(&buffer[..length])?;
        copied += length as u64;
    }
}
