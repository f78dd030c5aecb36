//! The pipeline that compresses.
//!
//! ```text
//! reader --blocks--> ordered channel, a fiber for each block --packed--> writer
//! ```
//!
//! The reader cuts the input into blocks and sends each as work into an [ordered channel](sisal::chan::ordered). It comes out at the other end
//! compressed, in order, and the writer joins the checksums and writes. The channel holds a few blocks for each worker: that is all the
//! memory there is, and whoever is too fast waits.
//!
//! If the reader fails, the channel ends as it does after the last block, and before the nursery hears of it. So the writer goes by what the blocks
//! say: only after the last comes a trailer.

use super::blocks::{Blocks, Cutting};
use super::checksum::Checksum;
use super::engine::{Engine, Packed};
use super::failure::{Failure, unless_ended};
use super::header::{Format, Origin};
use super::input::Input;
use super::progress::Meter;
use sisal::chan::{OrderedReceiver, OrderedRecvError, OrderedSender, ordered};
use sisal::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Blocks under way for each worker. Reader and writer have to wait for the block that their worker is at, each time they have waited for something
/// else: what is done meanwhile, and what is to be done, is this. (4 are enough, and 16 no faster: `gz-compress`.)
const BLOCKS_PER_WORKER: usize = 8;
/// Bytes under way, at most, unless blocks are so large that less than one for each worker and one more would fit.
const MOST_UNDER_WAY: usize = 64 << 20;
/// Bytes that are written at once, at least. A write is a wait, after which the writer has to wait for the block that its worker is at.
const WRITE: usize = 256 << 10;

/// How to compress.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) format: Format,
    pub(super) level: u8,
    pub(super) cutting: Cutting,
    pub(super) workers: usize,
}

/// What came of it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Totals {
    pub(super) read: u64,
    pub(super) written: u64,
    /// How much of the compressed data is header and trailer.
    pub(super) wrapping: u64,
}

/// How many blocks of this size may be under way.
fn under_way(workers: usize, size: usize) -> usize {
    let fitting = (MOST_UNDER_WAY / size).max(workers + 1);
    fitting.min(workers * BLOCKS_PER_WORKER)
}

/// Compresses all of `input` into `output`.
pub(super) fn compress(
    input: Input<'_>,
    output: &File,
    plan: &Plan,
    origin: &Origin,
    meter: &Meter,
) -> Result<Totals, Failure> {
    let engine = Arc::new(Engine::new(plan.format, plan.level));
    let (sender, receiver) = ordered(under_way(plan.workers, plan.cutting.size));
    let totals = sisal::nursery(|nursery| {
        let engine_of_reader = Arc::clone(&engine);
        let reader = move || unless_ended(read(input, plan.cutting, &engine_of_reader, &sender, meter)).map(drop);
        nursery.builder().name("gz-reader").spawn(reader);
        unless_ended(write(output, plan, origin, &engine, &receiver))
    })?;
    totals.ok_or(Failure::Ended)
}

/// The reader.
fn read(
    input: Input<'_>,
    cutting: Cutting,
    engine: &Arc<Engine>,
    sender: &OrderedSender<Result<Packed, Failure>>,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut blocks = Blocks::new(input, cutting, &engine.buffers)?;
    while let Some(block) = blocks.next()? {
        sisal::check_cancelled()?;
        meter.read(block.bytes().len());
        let engine = Arc::clone(engine);
        sender.send(move || engine.pack(block)).map_err(|_| Failure::Ended)?;
    }
    Ok(())
}

/// The writer.
fn write(
    output: &File,
    plan: &Plan,
    origin: &Origin,
    engine: &Engine,
    receiver: &OrderedReceiver<Result<Packed, Failure>>,
) -> Result<Totals, Failure> {
    let mut sum = Checksum::new(plan.format);
    let mut pending = plan.format.header(plan.level, origin);
    let mut wrapping = pending.len() as u64;
    let mut written = 0;
    loop {
        sisal::check_cancelled()?;
        let packed = match receiver.recv() {
            Ok(packed) => packed?,
            Err(OrderedRecvError::Panicked(panic)) => std::panic::resume_unwind(panic.into_payload()),
            // The reader has ended before the input did, and says why; or something else has ended us both.
            Err(_) => return Err(Failure::Ended),
        };
        sum.join(&packed.sum);
        // What is large enough is not copied first.
        if packed.bytes.len() >= WRITE {
            written += put(output, &mut pending)?;
            (&*output).write_all(&packed.bytes).map_err(Failure::Output)?;
            written += packed.bytes.len() as u64;
        } else {
            pending.extend_from_slice(&packed.bytes);
        }
        engine.recycle(packed.bytes);
        if packed.last {
            let trailer = plan.format.trailer(&sum);
            wrapping += trailer.len() as u64;
            pending.extend(trailer);
        }
        if packed.last || pending.len() >= WRITE {
            written += put(output, &mut pending)?;
        }
        if packed.last {
            return Ok(Totals { read: sum.length(), written, wrapping });
        }
    }
}

/// Writes what is pending. Returns how much that was.
fn put(mut output: &File, pending: &mut Vec<u8>) -> Result<u64, Failure> {
    output.write_all(pending).map_err(Failure::Output)?;
    let count = pending.len() as u64;
    pending.clear();
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_blocks_are_under_way_for_each_worker_but_no_more_than_fit_into_memory() {
        const KIB: usize = 1 << 10;
        const MIB: usize = 1 << 20;
        assert_eq!([1, 2, 64].map(|workers| under_way(workers, 128 * KIB)), [8, 16, 512]);
        assert_eq!([1, 2, 64].map(|workers| under_way(workers, 16 * MIB)), [4, 4, 65]);
        assert_eq!([1, 2, 64].map(|workers| under_way(workers, 512 * MIB)), [2, 3, 65]);
    }
}
