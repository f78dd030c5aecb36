//! A frame of a stack trace.

use std::fmt;

/// One call in a stack trace, also if it was inlined.
///
/// Which function it is, and where, is known as far as the program has debug information: with `debug = "line-tables-only"` in its profile
/// all of it is, without any only the functions that were not inlined, and of a program that was stripped nothing but addresses.
///
/// ```
/// use sisal::inspect::Frame;
///
/// fn is_mine(frame: &Frame) -> bool {
///     frame.function.starts_with("my_crate::")
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Frame {
    /// The function, with its path; `<unknown>` if there is no name.
    pub function: String,
    /// The file that the call stands in.
    pub file: Option<String>,
    /// The line in that file.
    pub line: Option<u32>,
    /// The address that is returned to. The same for a function and for those that were inlined into it.
    pub address: usize,
}

/// The function in one line, and the place in the next, if it is known.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        let Some(file) = &self.file else { return Ok(()) };
        write!(f, "\n        {file}")?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}
