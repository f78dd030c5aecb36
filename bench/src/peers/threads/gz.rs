//! What `sisal gz` does, by threads and channels of the standard library: the same blocks, the same engine.
//!
//! Compressing, a reader deals blocks out to the workers, which send what they have made to the writer, in any
//! order; it keeps what has come too early. Expanding, one thread reads, one expands, and one checks and writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use zlib_rs::crc32::{crc32, crc32_combine};
use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateFlush, Status, compress_bound};

use crate::work::Gz;

const BLOCK: usize = 128 << 10;
const DICTIONARY: usize = 32 << 10;
const LEVEL: i32 = 6;
const WINDOW_BITS: u8 = 15;
/// Blocks that may wait for each worker.
const WAITING: usize = 4;
const CHUNK: usize = 128 << 10;
const PIECE: usize = 256 << 10;
/// A header without a name.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// A block, behind its dictionary.
struct Block {
    number: usize,
    buffer: Vec<u8>,
    start: usize,
    last: bool,
}

/// What it has become.
struct Packed {
    bytes: Vec<u8>,
    crc: u32,
    length: usize,
    last: bool,
}

/// Compresses one file into the other.
pub(super) fn compress(load: Gz, input: File, output: File) -> io::Result<()> {
    let (to_workers, blocks) = sync_channel(WAITING * load.workers);
    let (to_writer, packed) = channel();
    let blocks = Mutex::new(blocks);
    thread::scope(|scope| {
        let reader = scope.spawn(move || read_blocks(input, &to_workers));
        for _ in 0..load.workers {
            let to_writer = to_writer.clone();
            let blocks = &blocks;
            scope.spawn(move || pack_blocks(blocks, &to_writer));
        }
        drop(to_writer);
        write_blocks(output, &packed)?;
        reader.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

fn read_blocks(mut input: File, to_workers: &SyncSender<Block>) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut next = fill(&mut input, &mut buffer).map(|_| buffer)?;
    let mut start = 0;
    for number in 0.. {
        let mut following = next[next.len().saturating_sub(DICTIONARY)..].to_vec();
        let dictionary = following.len();
        let last = fill(&mut input, &mut following)? == 0;
        let buffer = std::mem::replace(&mut next, following);
        if to_workers.send(Block { number, buffer, start, last }).is_err() || last {
            break;
        }
        start = dictionary;
    }
    Ok(())
}

/// Appends a block, or what is left of the input.
fn fill(input: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.reserve_exact(BLOCK);
    input.take(BLOCK as u64).read_to_end(buffer)
}

fn pack_blocks(blocks: &Mutex<Receiver<Block>>, to_writer: &Sender<(usize, Packed)>) {
    loop {
        // In a statement of its own: the lock is free when the block is packed.
        let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(block) = block else { return };
        if to_writer.send((block.number, pack(&block))).is_err() {
            return;
        }
    }
}

fn pack(block: &Block) -> Packed {
    let (dictionary, content) = block.buffer.split_at(block.start);
    let mut state = Deflate::new(LEVEL, false, WINDOW_BITS);
    if !dictionary.is_empty() {
        state.set_dictionary(dictionary).expect("a fresh state takes a dictionary");
    }
    let mut bytes = vec![0; compress_bound(content.len()) + 16];
    let flush = if block.last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
    state.compress(content, &mut bytes, flush).expect("the state was set up well");
    bytes.truncate(state.total_out() as usize);
    Packed { bytes, crc: crc32(0, content), length: content.len(), last: block.last }
}

fn write_blocks(mut output: File, packed: &Receiver<(usize, Packed)>) -> io::Result<()> {
    output.write_all(&HEADER)?;
    let mut early = BTreeMap::new();
    let (mut crc, mut length) = (0, 0_u64);
    for number in 0.. {
        let block = loop {
            match early.remove(&number) {
                Some(block) => break block,
                None => match packed.recv() {
                    Ok((number, block)) => drop(early.insert(number, block)),
                    Err(_) => return Err(io::Error::other("a thread has failed")),
                },
            }
        };
        let Packed { bytes, crc: of_block, length: of_it, last } = block;
        output.write_all(&bytes)?;
        crc = crc32_combine(crc, of_block, of_it as u64);
        length += of_it as u64;
        if last {
            break;
        }
    }
    output.write_all(&[crc.to_le_bytes(), (length as u32).to_le_bytes()].concat())
}

/// Expands a file with one member and no name, as [`Gz`] has it.
pub(super) fn expand(input: File, mut output: File) -> io::Result<()> {
    let (to_expander, chunks) = sync_channel(WAITING);
    let (to_writer, pieces) = sync_channel::<Vec<u8>>(WAITING);
    let (spare, spares) = channel();
    thread::scope(|scope| {
        let reader = scope.spawn(move || read_chunks(input, &to_expander));
        let expander = scope.spawn(move || expand_chunks(&chunks, &to_writer, &spares));
        let mut crc = 0;
        for piece in pieces {
            crc = crc32(crc, &piece);
            output.write_all(&piece)?;
            // The expander may have ended, and need no more.
            let _ = spare.send(piece);
        }
        reader.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))?;
        let trailer = expander.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))?;
        let fits = trailer.starts_with(&crc.to_le_bytes());
        if fits { Ok(()) } else { Err(io::Error::other("the checksum is another")) }
    })
}

fn read_chunks(mut input: File, to_expander: &SyncSender<Vec<u8>>) -> io::Result<()> {
    loop {
        let mut chunk = vec![0; CHUNK];
        let count = input.read(&mut chunk)?;
        chunk.truncate(count);
        if count == 0 || to_expander.send(chunk).is_err() {
            return Ok(());
        }
    }
}

/// Returns the trailer.
fn expand_chunks(
    chunks: &Receiver<Vec<u8>>,
    to_writer: &SyncSender<Vec<u8>>,
    spares: &Receiver<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    let mut state = Inflate::new(false, WINDOW_BITS);
    let mut piece = vec![0; PIECE];
    let (mut filled, mut skip) = (0, HEADER.len());
    let mut trailer = Vec::new();
    let mut has_ended = false;
    for chunk in chunks {
        let mut input = &chunk[skip..];
        skip = 0;
        while !has_ended {
            let (read, written) = (state.total_in(), state.total_out());
            let status = state.decompress(input, &mut piece[filled..], InflateFlush::NoFlush);
            let status = status.map_err(|error| io::Error::other(error.as_str()))?;
            input = &input[(state.total_in() - read) as usize..];
            filled += (state.total_out() - written) as usize;
            has_ended = status == Status::StreamEnd;
            if filled == PIECE || has_ended {
                piece.truncate(filled);
                let mut next = spares.try_recv().unwrap_or_default();
                next.resize(PIECE, 0);
                to_writer.send(std::mem::replace(&mut piece, next)).map_err(io::Error::other)?;
                filled = 0;
            } else if input.is_empty() {
                break;
            }
        }
        trailer.extend_from_slice(input);
    }
    if has_ended { Ok(trailer) } else { Err(io::Error::from(io::ErrorKind::UnexpectedEof)) }
}
