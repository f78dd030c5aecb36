//! Cutting input into blocks that can be compressed by themselves.
//!
//! A block comes with the end of the one before, as a dictionary: so the compressor finds what it would have found in one
//! go, but for what lies at the seam.
//!
//! # Cuts that rsync can follow
//! Normally blocks have one size, so that a byte inserted into the input moves all cuts behind it, and the output is another from there on. With
//! `--rsyncable` cuts are made where the bytes say so: where the last [`CUT_BITS`] of them, hashed, give [`CUT`], which is every 4,096 bytes on average.
//! The compressor is flushed at each, and a block ends at the last that it has. A byte inserted is forgotten some cuts later, and the outputs meet again.

use super::failure::Failure;
use super::spares::Spares;
use std::io::{ErrorKind, Read};

/// How far back deflate can refer.
pub(super) const DICTIONARY: usize = 32 << 10;
/// How many bytes a cut depends on: the bits of the hash, each byte moving the others up by one.
const CUT_BITS: u32 = 12;
const CUT_MASK: u32 = (1 << CUT_BITS) - 1;
/// The hash at a cut. Anything but what long runs of one byte hash to.
const CUT: u32 = CUT_MASK >> 1;

/// Bytes that are read into a buffer at once, at most.
const GROWTH: usize = 4 << 20;

/// A piece of the input.
#[derive(Debug)]
pub(super) struct Block {
    /// The dictionary, then the block, then room.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where segments end besides at the end, from the beginning of the buffer.
    cuts: Vec<usize>,
    last: bool,
}

impl Block {
    /// What came before.
    pub(super) fn dictionary(&self) -> &[u8] {
        &self.buffer[..self.start]
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// What the compressor is to be flushed after; one at least, though it may be empty.
    pub(super) fn segments(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let ends = self.cuts.len() + 1;
        (0..ends).map(move |number| {
            let start = if number == 0 { self.start } else { self.cuts[number - 1] };
            let end = self.cuts.get(number).copied().unwrap_or(self.end);
            &self.buffer[start..end]
        })
    }

    /// Whether the input ends with it.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }

    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// How input is cut.
#[derive(Copy, Clone, Debug)]
pub(super) struct Cutting {
    /// Bytes in a block, at most.
    pub(super) size: usize,
    /// Blocks have no dictionaries, so that each can be expanded by itself.
    pub(super) independent: bool,
    /// Cuts depend on the bytes.
    pub(super) rsyncable: bool,
}

/// The blocks of an input, one after the other.
pub(super) struct Blocks<'a, R> {
    input: R,
    cutting: Cutting,
    buffers: &'a Spares<Vec<u8>>,
    /// What is read next begins with this: the next dictionary, and what was read already but belongs to the next block.
    next: Option<Start>,
}

/// The beginning of a block.
struct Start {
    buffer: Vec<u8>,
    /// Where the dictionary ends.
    start: usize,
    /// Where the known part of the block ends.
    end: usize,
}

impl<'a, R: Read> Blocks<'a, R> {
    /// # Errors
    /// If there is no memory for a block.
    pub(super) fn new(input: R, cutting: Cutting, buffers: &'a Spares<Vec<u8>>) -> Result<Blocks<'a, R>, Failure> {
        let buffer = fresh(cutting, buffers)?;
        Ok(Blocks { input, cutting, buffers, next: Some(Start { buffer, start: 0, end: 0 }) })
    }

    /// The next block; none after the last. An empty input has one, which is empty.
    pub(super) fn next(&mut self) -> Result<Option<Block>, Failure> {
        let Some(Start { mut buffer, start, end: known }) = self.next.take() else { return Ok(None) };
        let filled = fill(&mut self.input, &mut buffer, known, start + self.cutting.size)?;
        // Less than there is room for: there is no more.
        let full = filled == start + self.cutting.size;
        let mut cuts = if self.cutting.rsyncable { cuts(&buffer[start..filled], start) } else { Vec::new() };
        let end = if full { cuts.pop().unwrap_or(filled) } else { filled };
        if cuts.last() == Some(&end) {
            cuts.pop();
        }
        if !full {
            return Ok(Some(Block { buffer, start, end, cuts, last: true }));
        }
        let next = self.begin(&buffer[..end], &buffer[end..filled])?;
        let last = next.is_none();
        self.next = next;
        Ok(Some(Block { buffer, start, end, cuts, last }))
    }

    /// Begins the block after `before`, of which `known` has been read; none if there is nothing to read any more.
    fn begin(&mut self, before: &[u8], known: &[u8]) -> Result<Option<Start>, Failure> {
        let mut buffer = fresh(self.cutting, self.buffers)?;
        let start = if self.cutting.independent { 0 } else { before.len().min(DICTIONARY) };
        let mut end = start + known.len();
        let most = end + DICTIONARY.min(self.cutting.size - known.len());
        grow(&mut buffer, most);
        buffer[..start].copy_from_slice(&before[before.len() - start..]);
        buffer[start..end].copy_from_slice(known);
        if known.is_empty() {
            // Only a look whether there is more: reading on now would keep the block before from being compressed.
            end += read(&mut self.input, &mut buffer[start..most])?;
        }
        if end == start {
            self.buffers.give_back(buffer);
            return Ok(None);
        }
        Ok(Some(Start { buffer, start, end }))
    }
}

/// A buffer with the capacity for a dictionary and a block.
fn fresh(cutting: Cutting, buffers: &Spares<Vec<u8>>) -> Result<Vec<u8>, Failure> {
    let mut buffer = buffers.take(Vec::new);
    let missing = (DICTIONARY + cutting.size).saturating_sub(buffer.len());
    buffer.try_reserve_exact(missing).map_err(Failure::memory)?;
    Ok(buffer)
}

/// So much of the buffer at least is no longer mere capacity.
fn grow(buffer: &mut Vec<u8>, size: usize) {
    debug_assert!(size <= buffer.capacity(), "INVARIANT: there is room for a whole block");
    buffer.resize(buffer.len().max(size), 0);
}

/// Reads until so much of the buffer is filled, or the input has ended. Returns how much is filled.
fn fill(input: &mut impl Read, buffer: &mut Vec<u8>, mut filled: usize, size: usize) -> Result<usize, Failure> {
    while filled < size {
        // By and by: a short input does not need all the memory that a large block would.
        grow(buffer, size.min(filled + GROWTH));
        match read(input, &mut buffer[filled..size.min(filled + GROWTH)])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Reads some.
pub(super) fn read(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Failure> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if sisal::is_cancelled(&error) => return Err(Failure::Ended),
            result => return result.map_err(Failure::Input),
        }
    }
}

/// Where the bytes say that there is to be a cut, counted from `offset`. The hash begins anew with each block, and soon depends on its bytes only.
fn cuts(bytes: &[u8], offset: usize) -> Vec<usize> {
    let mut hash = CUT_MASK;
    let mut cuts = Vec::new();
    for (place, byte) in bytes.iter().enumerate() {
        hash = (hash << 1 ^ u32::from(*byte)) & CUT_MASK;
        if hash == CUT {
            cuts.push(offset + place + 1);
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 40_000;

    fn blocks(input: &[u8], cutting: Cutting) -> Vec<Block> {
        let spares = Spares::default();
        let mut blocks = Blocks::new(input, cutting, &spares).unwrap();
        std::iter::from_fn(|| blocks.next().unwrap()).collect()
    }

    fn random(count: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(7);
        (0..count).map(|_| random.u8(..)).collect()
    }

    #[test]
    fn the_blocks_are_the_input_and_only_the_last_is_the_last() {
        for rsyncable in [false, true] {
            for independent in [false, true] {
                for count in [0, 1, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE, 5 * SIZE + 7] {
                    let input = random(count);
                    let blocks = blocks(&input, Cutting { size: SIZE, independent, rsyncable });
                    let whole: Vec<u8> = blocks.iter().flat_map(Block::bytes).copied().collect();
                    assert!(whole == input, "{count} bytes");
                    let segments: Vec<u8> =
                        blocks.iter().flat_map(|block| block.segments().flatten()).copied().collect();
                    assert!(segments == input, "{count} bytes");
                    let lasts: Vec<bool> = blocks.iter().map(Block::is_last).collect();
                    assert!(lasts.iter().rposition(|last| !last).is_none_or(|place| place + 2 == lasts.len()));
                    assert!(lasts.last() == Some(&true));
                }
            }
        }
    }

    #[test]
    fn dictionaries_are_what_came_before() {
        let input = random(4 * SIZE + 11);
        for rsyncable in [false, true] {
            let mut place = 0;
            for block in blocks(&input, Cutting { size: SIZE, independent: false, rsyncable }) {
                assert_eq!(block.dictionary(), &input[place.max(DICTIONARY) - DICTIONARY..place]);
                place += block.bytes().len();
            }
        }
        assert!(
            blocks(&input, Cutting { size: SIZE, independent: true, rsyncable: false })
                .iter()
                .all(|block| block.dictionary().is_empty())
        );
    }

    #[test]
    fn cuts_depend_on_what_is_before_them_and_not_on_where_they_are() {
        let bytes = random(100_000);
        let here = cuts(&bytes, 0);
        assert!((10..100).contains(&here.len()), "{}", here.len());
        let there = cuts(&bytes[5_000..], 5_000);
        let common: Vec<usize> = here.into_iter().filter(|cut| *cut > 5_000 + CUT_BITS as usize).collect();
        assert!(there.ends_with(&common));
    }
}
