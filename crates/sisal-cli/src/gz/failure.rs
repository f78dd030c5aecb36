//! Why a file was not treated.

use std::collections::TryReserveError;
use std::fmt;
use std::io;

/// Why a file was not treated, or not to its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// It could not be read.
    Input(io::Error),
    /// What came of it could not be written.
    Output(io::Error),
    /// It is not what it should be.
    Data(Defect),
    /// Something from outside ended it: a signal, or the failure of another part of the pipeline, which is told in place of this.
    Ended,
}

/// What is wrong with compressed data.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// There should be more.
    Truncated,
    /// It does not begin as such data does.
    NotCompressed(&'static str),
    /// It is packed by a method that nobody has defined.
    Method(u8),
    /// It is encrypted, which nobody has defined either.
    Encrypted,
    /// The header has flags that mean something unknown.
    Flags(u8),
    /// The header is not what it was when it was written.
    Header { stored: u16, computed: u16 },
    /// It needs a dictionary that only who has packed it knows.
    Dictionary,
    /// What is packed is not.
    Format,
    /// The checksum is another.
    Checksum,
    /// The length is another.
    Length,
}

impl Failure {
    /// There is no memory for a block of the input.
    pub(super) fn memory(_: TryReserveError) -> Failure {
        Failure::Input(io::ErrorKind::OutOfMemory.into())
    }
}

impl From<Defect> for Failure {
    fn from(defect: Defect) -> Failure {
        Failure::Data(defect)
    }
}

impl From<sisal::Cancelled> for Failure {
    fn from(_: sisal::Cancelled) -> Failure {
        Failure::Ended
    }
}

/// To stand after the name of the file.
impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::Truncated => write!(f, ": unexpected end of file"),
            Defect::NotCompressed(format) => write!(f, ": not in {format} format"),
            Defect::Method(method) => write!(f, ": unknown method {method} -- not supported"),
            Defect::Encrypted => write!(f, " is encrypted -- not supported"),
            Defect::Flags(flags) => write!(f, " has flags 0x{flags:x} -- not supported"),
            Defect::Header { stored, computed } => {
                write!(f, ": header checksum 0x{stored:04x} != computed checksum 0x{computed:04x}")
            }
            Defect::Dictionary => write!(f, ": needs a preset dictionary -- not supported"),
            Defect::Format => write!(f, ": invalid compressed data--format violated"),
            Defect::Checksum => write!(f, ": invalid compressed data--crc error"),
            Defect::Length => write!(f, ": invalid compressed data--length error"),
        }
    }
}

/// For the parts of a pipeline, in its nursery: whoever was ended by another part has no failure to tell, and returns nothing. The other
/// has, but it may come to tell it later.
pub(super) fn unless_ended<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Err(Failure::Ended) => Ok(None),
        result => result.map(Some),
    }
}
