//! What trailers check: a CRC-32 or an Adler-32 of all bytes, and how many they were.

use super::header::Format;
use zlib_rs::{adler32, crc32};

/// A checksum of bytes, and their number. Those of neighbours can be joined, so blocks are summed wherever they are compressed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Checksum {
    kind: Kind,
    value: u32,
    length: u64,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Crc,
    Adler,
    /// Raw data has no trailer.
    Nothing,
}

impl Checksum {
    /// That of no bytes.
    pub(super) fn new(format: Format) -> Checksum {
        let (kind, value) = match format {
            Format::Gzip => (Kind::Crc, 0),
            Format::Zlib => (Kind::Adler, 1),
            Format::Raw => (Kind::Nothing, 0),
        };
        Checksum { kind, value, length: 0 }
    }

    /// Goes on with these bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.value = match self.kind {
            Kind::Crc => crc32::crc32(self.value, bytes),
            Kind::Adler => adler32::adler32(self.value, bytes),
            Kind::Nothing => 0,
        };
    }

    /// Goes on with what `next` is of.
    pub(super) fn join(&mut self, next: &Checksum) {
        debug_assert_eq!(self.kind, next.kind, "INVARIANT: a file has one format");
        self.length += next.length;
        self.value = match self.kind {
            Kind::Crc => crc32::crc32_combine(self.value, next.value, next.length),
            Kind::Adler => adler32::adler32_combine(self.value, next.value, next.length),
            Kind::Nothing => 0,
        };
    }

    pub(super) fn value(&self) -> u32 {
        self.value
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parts_join_to_that_of_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
        for format in [Format::Gzip, Format::Zlib, Format::Raw] {
            for cut in [0, 1, 777, bytes.len()] {
                let [mut whole, mut first, mut second] = [Checksum::new(format); 3];
                whole.update(&bytes);
                first.update(&bytes[..cut]);
                second.update(&bytes[cut..]);
                first.join(&second);
                assert_eq!(first, whole);
            }
        }
    }

    #[test]
    fn they_are_the_sums_everybody_means() {
        let sum = |format| {
            let mut sum = Checksum::new(format);
            sum.update(b"123456789");
            sum.value()
        };
        assert_eq!(sum(Format::Gzip), 0xcbf4_3926);
        assert_eq!(sum(Format::Zlib), 0x091e_01de);
    }
}
