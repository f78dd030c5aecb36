//! The formats: what stands before and after the deflated data.
//!
//! - gzip (RFC 1952): a header with the name and the time of the file, and a trailer with a CRC-32 and the length modulo 2^32.
//! - zlib (RFC 1950): a header of two bytes, and a trailer with an Adler-32.
//! - Raw deflate (RFC 1951): neither.
//!
//! Here they are written, and those of gzip are read.

use super::checksum::Checksum;
use super::failure::{Defect, Failure};
use super::intake::{Chunks, Intake};
use zlib_rs::crc32::crc32;

/// What every gzip header begins with.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The only method there is.
const DEFLATE: u8 = 8;
/// Names longer than this are no names of files here.
const LONGEST_NAME: usize = 4096;
/// Where the header was written: on Unix.
const UNIX: u8 = 3;

/// Bits of the header's flags; the first, for text, says nothing to us.
const HAS_HEADER_CRC: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const ENCRYPTED: u8 = 1 << 5;
const RESERVED: u8 = 0xc0;

/// What the deflated data is wrapped in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Gzip,
    Zlib,
    Raw,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Gzip => "gzip",
            Format::Zlib => "zlib",
            Format::Raw => "deflate",
        }
    }

    /// What the names of such files end with.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Format::Gzip => ".gz",
            Format::Zlib => ".zz",
            Format::Raw => ".deflate",
        }
    }

    /// What stands before data that is compressed at this level.
    pub(super) fn header(self, level: u8, origin: &Origin) -> Vec<u8> {
        match self {
            Format::Gzip => gzip_header(level, origin),
            Format::Zlib => zlib_header(level).to_vec(),
            Format::Raw => Vec::new(),
        }
    }

    /// What stands after data with this sum.
    pub(super) fn trailer(self, sum: &Checksum) -> Vec<u8> {
        match self {
            // Of the length, what fits into four bytes.
            Format::Gzip => [sum.value().to_le_bytes(), (sum.length() as u32).to_le_bytes()].concat(),
            Format::Zlib => sum.value().to_be_bytes().to_vec(),
            Format::Raw => Vec::new(),
        }
    }
}

/// What a gzip header tells of the file that was compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// Its name, without directories, as bytes that are not zero.
    pub(super) name: Option<Vec<u8>>,
    /// When it was changed last, in seconds since 1970; zero says nothing.
    pub(super) time: u32,
}

fn gzip_header(level: u8, origin: &Origin) -> Vec<u8> {
    let effort = match level {
        1 => 4,
        9 => 2,
        _ => 0,
    };
    let flags = if origin.name.is_some() { HAS_NAME } else { 0 };
    let mut header = vec![MAGIC[0], MAGIC[1], DEFLATE, flags];
    header.extend(origin.time.to_le_bytes());
    header.extend([effort, UNIX]);
    if let Some(name) = &origin.name {
        header.extend(name);
        header.push(0);
    }
    header
}

/// A window of 32 KiB, and the level in two bits; as a number it is a multiple of 31.
fn zlib_header(level: u8) -> [u8; 2] {
    let effort: u16 = match level {
        ..=1 => 0,
        2..=5 => 1,
        6 => 2,
        7.. => 3,
    };
    let header = 0x7800 | effort << 6;
    (header + (31 - header % 31)).to_be_bytes()
}

/// Whether data that begins like this may be in zlib's format, and needs no dictionary.
pub(super) fn is_zlib([first, second]: [u8; 2]) -> bool {
    first & 0x0f == DEFLATE && first >> 4 <= 7 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

/// Whether a zlib header says that a dictionary is needed.
pub(super) fn needs_dictionary(second: u8) -> bool {
    second & 0x20 != 0
}

/// Reads a gzip header after its [`MAGIC`].
pub(super) fn read_gzip(intake: &mut Intake<impl Chunks>) -> Result<Origin, Failure> {
    let mut header = Hashed { intake, crc: crc32(0, &MAGIC) };
    let method = header.byte()?;
    if method != DEFLATE {
        return Err(Defect::Method(method).into());
    }
    let flags = header.byte()?;
    if flags & ENCRYPTED != 0 {
        return Err(Defect::Encrypted.into());
    }
    if flags & RESERVED != 0 {
        return Err(Defect::Flags(flags).into());
    }
    let time = u32::from_le_bytes(header.bytes()?);
    // The effort and the system.
    let _: [u8; 2] = header.bytes()?;
    if flags & HAS_EXTRA != 0 {
        for _ in 0..u16::from_le_bytes(header.bytes()?) {
            header.byte()?;
        }
    }
    let name = if flags & HAS_NAME != 0 { header.text()? } else { None };
    if flags & HAS_COMMENT != 0 {
        header.text()?;
    }
    if flags & HAS_HEADER_CRC != 0 {
        // The lower half of the CRC of all before.
        let computed = header.crc as u16;
        let stored = u16::from_le_bytes(header.bytes()?);
        if stored != computed {
            return Err(Defect::Header { stored, computed }.into());
        }
    }
    Ok(Origin { name, time })
}

/// A header that is read, and summed.
struct Hashed<'a, C> {
    intake: &'a mut Intake<C>,
    crc: u32,
}

impl<C: Chunks> Hashed<'_, C> {
    fn byte(&mut self) -> Result<u8, Failure> {
        let byte = self.intake.byte()?.ok_or(Defect::Truncated)?;
        self.crc = crc32(self.crc, &[byte]);
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Ok(bytes)
    }

    /// Text to the next zero; none if there is too much of it.
    fn text(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut text = Vec::new();
        let mut fits = true;
        loop {
            match self.byte()? {
                0 => return Ok(fits.then_some(text)),
                byte if text.len() < LONGEST_NAME => text.push(byte),
                _ => fits = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: &[u8]) -> Result<Origin, Failure> {
        let mut chunks = header.chunks(3).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter();
        let mut intake = Intake::new(Vec::new(), move || Ok(chunks.next()));
        assert_eq!([intake.byte().unwrap(), intake.byte().unwrap()], MAGIC.map(Some));
        read_gzip(&mut intake)
    }

    #[test]
    fn what_is_written_is_read() {
        for origin in [Origin::default(), Origin { name: Some(b"a name".to_vec()), time: 0x1234_5678 }] {
            assert_eq!(read(&Format::Gzip.header(6, &origin)).unwrap(), origin);
        }
    }

    #[test]
    fn every_beginning_of_a_header_is_too_short() {
        let header = Format::Gzip.header(6, &Origin { name: Some(b"name".to_vec()), time: 1 });
        for end in 2..header.len() {
            assert!(matches!(read(&header[..end]), Err(Failure::Data(Defect::Truncated))), "{end}");
        }
    }

    #[test]
    fn a_header_with_everything_is_read_and_its_sum_is_checked() {
        let flags = HAS_HEADER_CRC | HAS_EXTRA | HAS_NAME | HAS_COMMENT;
        let mut header = vec![0x1f, 0x8b, 8, flags, 1, 0, 0, 0, 0, 3, 2, 0, 0xee, 0xee];
        header.extend(b"name\0comment\0");
        let crc = crc32(0, &header) as u16;
        header.extend(crc.to_le_bytes());
        assert_eq!(read(&header).unwrap(), Origin { name: Some(b"name".to_vec()), time: 1 });
        header[4] = 2;
        assert!(matches!(read(&header), Err(Failure::Data(Defect::Header { .. }))));
    }

    #[test]
    fn headers_of_zlib_are_what_zlib_writes() {
        assert_eq!([1, 2, 6, 9].map(zlib_header), [[0x78, 0x01], [0x78, 0x5e], [0x78, 0x9c], [0x78, 0xda]]);
        assert!((1..=9).all(|level| is_zlib(zlib_header(level))));
        assert!(!is_zlib(MAGIC));
    }
}
