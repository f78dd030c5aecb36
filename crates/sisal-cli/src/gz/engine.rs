//! Deflating one block.
//!
//! The engine is zlib-rs. Measured on one core with 134 MB of source text, in blocks of 128 KiB, against what gzip and pigz use (zlib 1.2.13):
//!
//! | level | zlib-rs | zlib | size against zlib's |
//! |---|---|---|---|
//! | 1 (zlib-rs's 2) | 184 MB/s | 134 MB/s | -4.7 % |
//! | 6 | 82 MB/s | 47 MB/s | +0.4 % |
//! | 9 | 34 MB/s | 14 MB/s | +0.3 % |
//!
//! libdeflate is faster still (113 MB/s at level 6), but knows no dictionaries: its blocks would have to be members of their own, of 1 MiB to
//! be as small; and a file of many members is one that some readers of gzip files take for its first.

use super::blocks::Block;
use super::checksum::Checksum;
use super::failure::Failure;
use super::header::Format;
use super::spares::Spares;
use zlib_rs::{Deflate, DeflateFlush, Status};

/// The largest window of deflate, as the base-two logarithm.
const WINDOW_BITS: u8 = 15;
/// What a block may need beyond [`zlib_rs::compress_bound`]: that does not count the flush at its end.
const FLUSH_ROOM: usize = 16;
/// zlib-rs's first level makes files a fifth larger than zlib's does. Its second is as fast as that one, and as small.
const FIRST_LEVEL: i32 = 2;

/// Compresses blocks, many at once.
#[derive(Debug)]
pub(super) struct Engine {
    format: Format,
    level: i32,
    /// Buffers for blocks, of one size.
    pub(super) buffers: Spares<Vec<u8>>,
    results: Spares<Vec<u8>>,
}

/// What a block has become.
#[derive(Debug)]
pub(super) struct Packed {
    /// A piece of a deflate stream that ends at a byte.
    pub(super) bytes: Vec<u8>,
    /// Of the block.
    pub(super) sum: Checksum,
    /// Whether the stream ends with it.
    pub(super) last: bool,
}

impl Engine {
    pub(super) fn new(format: Format, level: u8) -> Engine {
        let level = if level == 0 { 0 } else { i32::from(level).max(FIRST_LEVEL) };
        Engine { format, level, buffers: Spares::default(), results: Spares::default() }
    }

    /// Compresses a block.
    ///
    /// # Errors
    /// If there is no memory for what it becomes.
    pub(super) fn pack(&self, block: Block) -> Result<Packed, Failure> {
        let mut sum = Checksum::new(self.format);
        sum.update(block.bytes());
        // A new one for each, though that takes 40 us: one that was used before and reset finds other matches now and then, and
        // what comes out would depend on which worker did what.
        let mut state = Deflate::new(self.level, false, WINDOW_BITS);
        if !block.dictionary().is_empty() {
            let set = state.set_dictionary(block.dictionary());
            set.unwrap_or_else(|error| unreachable!("INVARIANT: a fresh state takes any dictionary: {error:?}"));
        }
        let mut bytes = self.results.take(Vec::new);
        let last = block.is_last();
        let segments = block.segments();
        let count = segments.len();
        for (number, segment) in segments.enumerate() {
            let ends = last && number + 1 == count;
            deflate(
                &mut state,
                segment,
                &mut bytes,
                if ends { DeflateFlush::Finish } else { DeflateFlush::SyncFlush },
            )?;
        }
        self.buffers.give_back(block.into_buffer());
        Ok(Packed { bytes, sum, last })
    }

    /// Takes back what has been written.
    pub(super) fn recycle(&self, mut written: Vec<u8>) {
        written.clear();
        self.results.give_back(written);
    }
}

/// Appends what the segment is deflated to.
fn deflate(state: &mut Deflate, mut segment: &[u8], into: &mut Vec<u8>, flush: DeflateFlush) -> Result<(), Failure> {
    let mut room = zlib_rs::compress_bound(segment.len()) + FLUSH_ROOM;
    loop {
        let filled = into.len();
        into.try_reserve(room).map_err(Failure::memory)?;
        into.resize(filled + room, 0);
        let (read, written) = (state.total_in(), state.total_out());
        let status = state.compress(segment, &mut into[filled..], flush);
        let made = (state.total_out() - written) as usize;
        into.truncate(filled + made);
        segment = &segment[(state.total_in() - read) as usize..];
        match status {
            Ok(Status::StreamEnd) => return Ok(()),
            // It stopped for another reason than want of room.
            Ok(_) if flush != DeflateFlush::Finish && made < room => return Ok(()),
            Ok(_) => room = zlib_rs::compress_bound(segment.len()) + FLUSH_ROOM,
            Err(error) => unreachable!("INVARIANT: the state was set up well: {error:?}"),
        }
    }
}
