//! Names of files in messages, byte by byte.
//!
//! Messages are text, and names need not be. So a byte of a name that is part of no character stands in a message as a [mark](Verbatim), one of 256
//! characters that are nobody's, and is a byte again when the message is [written](bytes). A name that has such characters itself is taken byte by byte
//! where they are, so that every name comes out as it is.

use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter, Write};
use std::os::unix::ffi::OsStrExt;

/// The first of the marks, for zero; the last one is the last of all characters.
const FIRST_MARK: u32 = 0x10_ff00;

/// A name, to be part of a message.
pub(super) fn verbatim<N: AsRef<OsStr> + ?Sized>(name: &N) -> Verbatim<'_> {
    Verbatim(name.as_ref())
}

/// What [`verbatim`] returns.
pub(super) struct Verbatim<'a>(&'a OsStr);

impl Display for Verbatim<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_bytes().utf8_chunks() {
            for character in chunk.valid().chars() {
                match marked(character) {
                    None => f.write_char(character)?,
                    Some(_) => marks(character.encode_utf8(&mut [0; 4]).as_bytes(), f)?,
                }
            }
            marks(chunk.invalid(), f)?;
        }
        Ok(())
    }
}

fn marks(bytes: &[u8], f: &mut Formatter<'_>) -> fmt::Result {
    bytes
        .iter()
        .filter_map(|byte| char::from_u32(FIRST_MARK + u32::from(*byte)))
        .try_for_each(|mark| f.write_char(mark))
}

/// The byte that a mark stands for.
fn marked(character: char) -> Option<u8> {
    u32::from(character).checked_sub(FIRST_MARK).and_then(|byte| u8::try_from(byte).ok())
}

/// A message as it is written.
pub(super) fn bytes(message: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len());
    for character in message.chars() {
        match marked(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_out_as_it_is() {
        let marks = "\u{10ff00}\u{10ffff}\u{10feff}";
        for name in [&b"plain"[..], "caf\u{e9}".as_bytes(), b"caf\xe9", b"\xc3", b"\xff\0\x80", marks.as_bytes()] {
            let message = format!("{}: told", verbatim(OsStr::from_bytes(name)));
            assert_eq!(bytes(&message), [name, b": told"].concat());
        }
    }
}
