//! Compressed input, as whoever looks for members in it sees it: byte by byte, or as much as is at hand.

use super::failure::Failure;

/// Where input comes from.
pub(super) trait Chunks {
    /// The next piece, which is not empty; none at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure>;
}

impl<F: FnMut() -> Result<Option<Vec<u8>>, Failure>> Chunks for F {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self()
    }
}

/// Input that comes in chunks.
pub(super) struct Intake<C> {
    chunks: C,
    chunk: Vec<u8>,
    /// How much of the chunk has been used.
    used: usize,
    /// How much was used of all chunks before.
    before: u64,
}

impl<C: Chunks> Intake<C> {
    /// What begins with `chunk`, and goes on with the others.
    pub(super) fn new(chunk: Vec<u8>, chunks: C) -> Intake<C> {
        Intake { chunks, chunk, used: 0, before: 0 }
    }

    /// The same input from another source.
    pub(super) fn go_on_with<D: Chunks>(self, chunks: D) -> Intake<D> {
        Intake { chunks, chunk: self.chunk, used: self.used, before: self.before }
    }

    /// What is at hand: nothing only at the end of the input.
    pub(super) fn at_hand(&mut self) -> Result<&[u8], Failure> {
        if self.used == self.chunk.len()
            && let Some(next) = self.chunks.next()?
        {
            self.before += self.used as u64;
            self.chunk = next;
            self.used = 0;
        }
        Ok(&self.chunk[self.used..])
    }

    /// So much of what is at hand has been used.
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.chunk.len() - self.used, "INVARIANT: only what is at hand can be used");
        self.used += count;
    }

    /// The next byte; none at the end.
    pub(super) fn byte(&mut self) -> Result<Option<u8>, Failure> {
        let byte = self.at_hand()?.first().copied();
        self.used += usize::from(byte.is_some());
        Ok(byte)
    }

    /// How much was used of all.
    pub(super) fn used(&self) -> u64 {
        self.before + self.used as u64
    }
}
