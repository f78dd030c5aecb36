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
//! If the reader fails, the channel ends as it does after the last block, before the nursery hears of it. So the writer goes by what the blocks
//! say: only after the last comes a trailer.

use super::blocks::{Blocks, Cutting};
use super::checksum::Checksum;
use super::engine::{Engine, Packed};
use super::failure::Failure;
use super::header::{Format, Origin};
use super::progress::Meter;
use sisal::chan::{OrderedReceiver, OrderedRecvError, OrderedSender, ordered};
use sisal::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Blocks under way for each worker: one that is compressed, one that waits for it, and two that wait to be written or are being read.
const BLOCKS_PER_WORKER: usize = 4;

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

/// Compresses all of `input` into `output`.
pub(super) fn compress(
    input: &File,
    output: &File,
    plan: &Plan,
    origin: &Origin,
    meter: &Meter,
) -> Result<Totals, Failure> {
    let engine = Arc::new(Engine::new(plan.format, plan.level));
    let (sender, receiver) = ordered(plan.workers * BLOCKS_PER_WORKER);
    sisal::nursery(|nursery| {
        let engine_of_reader = Arc::clone(&engine);
        nursery.builder().name("gz-reader").spawn(move || read(input, plan.cutting, &engine_of_reader, &sender, meter));
        write(output, plan, origin, &engine, receiver)
    })
}

/// The reader.
fn read(
    input: &File,
    cutting: Cutting,
    engine: &Arc<Engine>,
    sender: &OrderedSender<Packed>,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut blocks = Blocks::new(input, cutting, &engine.buffers);
    while let Some(block) = blocks.next()? {
        sisal::check_cancelled()?;
        meter.read(block.bytes().len());
        let engine = Arc::clone(engine);
        // If nobody is there to write it, that is not to be told here.
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
    receiver: OrderedReceiver<Packed>,
) -> Result<Totals, Failure> {
    let mut sum = Checksum::new(plan.format);
    // What has not been written yet: the header goes out with the first block, and the trailer with the last.
    let mut pending = plan.format.header(plan.level, origin);
    let mut wrapping = pending.len() as u64;
    let mut written = 0;
    loop {
        sisal::check_cancelled()?;
        let packed = match receiver.recv() {
            Ok(packed) => packed,
            Err(OrderedRecvError::Panicked(panic)) => std::panic::resume_unwind(panic.into_payload()),
            // The reader has ended before the input did, and says why; or something else has ended us both.
            Err(_) => return Err(Failure::Ended),
        };
        sum.join(&packed.sum);
        let mut bytes = packed.bytes;
        if packed.last {
            let trailer = plan.format.trailer(&sum);
            wrapping += trailer.len() as u64;
            bytes.extend(trailer);
        }
        if !pending.is_empty() {
            pending.append(&mut bytes);
            std::mem::swap(&mut pending, &mut bytes);
        }
        (&*output).write_all(&bytes).map_err(Failure::Output)?;
        written += bytes.len() as u64;
        if packed.last {
            return Ok(Totals { read: sum.length(), written, wrapping });
        }
        engine.recycle(bytes);
    }
}
