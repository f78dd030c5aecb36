//! Standard output.

use super::runtime::Trouble;
use crate::inherited;
use crate::wording::plain;
use std::io::{ErrorKind, Write, stdout};

/// Writes all of it on standard output, and nothing else.
pub(crate) fn write_all(bytes: &[u8]) -> Result<(), Trouble> {
    // Whoever reads may take time; meanwhile no worker is held up.
    let written = sisal::blocking(|| {
        inherited::check_stdout()?;
        let mut stdout = stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe if !inherited::ignores_broken_pipes() => Trouble::NobodyReads,
        _ => Trouble::Other(format!("stdout: {}", plain(&error))),
    })
}
