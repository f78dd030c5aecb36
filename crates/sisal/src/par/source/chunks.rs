//! Slices in chunks.
#![allow(unsafe_code, reason = "chunks are lent out by position, each once")]

use super::slice::SliceMut;
use super::{Exact, Sealed, Source};
use std::num::NonZero;
use std::ops::Range;
use std::slice;

/// A slice in chunks of the same length, except the last.
///
/// ```
/// use sisal::par::{self, Chunks, Par};
/// let chunks: Par<Chunks<'_, u32>> = par::iter(&[1, 2, 3]).chunks(2);
/// assert_eq!(chunks.map(<[u32]>::len).collect::<Vec<_>>(), [2, 1]);
/// ```
#[derive(Debug)]
pub struct Chunks<'a, T> {
    pub(in crate::par) items: &'a [T],
    pub(in crate::par) size: NonZero<usize>,
}

/// A mutable slice in chunks of the same length, except the last.
///
/// ```
/// use sisal::par::{self, ChunksMut, Par};
/// let mut numbers = [1, 2, 3];
/// let chunks: Par<ChunksMut<'_, u32>> = par::iter(&mut numbers).chunks(2);
/// chunks.for_each(|chunk| chunk.reverse());
/// assert_eq!(numbers, [2, 1, 3]);
/// ```
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    pub(in crate::par) items: SliceMut<'a, T>,
    pub(in crate::par) size: NonZero<usize>,
}

/// Where the items of some chunks are, among so many.
fn items(chunks: Range<usize>, size: NonZero<usize>, of: usize) -> Range<usize> {
    let edge = |chunk: usize| chunk.saturating_mul(size.get()).min(of);
    edge(chunks.start)..edge(chunks.end)
}

impl<T> Sealed for Chunks<'_, T> {}
impl<T: Sync> Exact for Chunks<'_, T> {}

impl<'s, T: Sync> Source for Chunks<'s, T> {
    type Item = &'s [T];
    type Leaf<'a>
        = slice::Chunks<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.items.len().div_ceil(self.size.get())
    }

    unsafe fn open(&mut self) {}

    unsafe fn leaf(&self, range: Range<usize>) -> slice::Chunks<'s, T> {
        self.items[items(range, self.size, self.items.len())].chunks(self.size.get())
    }

    unsafe fn discard(&self, _: Range<usize>) {}
}

impl<T> Sealed for ChunksMut<'_, T> {}
impl<T: Send> Exact for ChunksMut<'_, T> {}

impl<'s, T: Send> Source for ChunksMut<'s, T> {
    type Item = &'s mut [T];
    type Leaf<'a>
        = slice::ChunksMut<'s, T>
    where
        Self: 'a;
    const IS_EXACT: bool = true;

    fn positions(&self) -> usize {
        self.items.positions().div_ceil(self.size.get())
    }

    unsafe fn open(&mut self) {}

    unsafe fn leaf(&self, range: Range<usize>) -> slice::ChunksMut<'s, T> {
        let range = items(range, self.size, self.items.positions());
        // SAFETY: ranges of chunks that do not overlap are such ranges of items.
        unsafe { self.items.part(range) }.chunks_mut(self.size.get())
    }

    unsafe fn discard(&self, _: Range<usize>) {}
}
