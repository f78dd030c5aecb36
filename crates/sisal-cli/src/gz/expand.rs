//! The pipeline that expands.
//!
//! ```text
//! reader --chunks--> expander --pieces--> writer
//! ```
//!
//! One deflate stream can't be expanded by many. But reading, expanding, and checking and writing are three, so that with two workers the
//! expander has one for itself. The writer is a thread of the pool for blocking calls: pieces come so fast that to go there and back for each
//! took a quarter more of CPU time.
//!
//! As in [compressing](super::compress), an end of a channel may be that of somebody who has failed: the reader says when it has come to the end, and so does
//! the expander.

use super::blocks;
use super::checksum::Checksum;
use super::compress::Totals;
use super::failure::{Failure, unless_ended};
use super::header::Format;
use super::input::Input;
use super::intake::{Chunks, Intake};
use super::members::{self, Outlet, Rest, Trailer};
use super::progress::Meter;
use super::spares::Spares;
use sisal::chan::{Receiver, Sender, bounded};
use sisal::fs::File;
use std::io::Write;

/// Bytes that are read at once.
pub(super) const CHUNK: usize = 128 << 10;
/// Bytes that are written at once.
const PIECE: usize = 256 << 10;
/// How many chunks, and how many pieces, may be under way.
const UNDER_WAY: usize = 4;
/// How many members may end in one piece: empty ones take no room, and there may be any number of them.
const MOST_ENDS: usize = 4096;

/// What the reader sends: a chunk, or that there is no more.
type Chunk = Option<Vec<u8>>;

/// What the expander sends.
enum Message {
    Piece(Piece),
    /// There is no more. So much has been read, and this stood behind the last member.
    End {
        read: u64,
        rest: Rest,
    },
}

/// Expanded data.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    filled: usize,
    /// Members that end in here, each after so many bytes.
    ends: Vec<(usize, Option<Trailer>)>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Expanded {
    pub(super) totals: Totals,
    /// The checksum of the last member.
    pub(super) sum: u32,
    pub(super) rest: Rest,
}

/// What the input consists of.
pub(super) enum Content {
    /// Members in this format; the header of the first, of this size, has been read. Behind the last there may be `plain` data.
    Members { format: Format, header: u64, plain: bool },
    /// Data that is not compressed, which begins with these bytes.
    Plain(Vec<u8>),
}

/// Expands the rest of `input`, of which `intake` has read some, into `output`; or nowhere, if its sums are all that is wanted.
pub(super) fn expand(
    input: Input<'_>,
    intake: Intake<impl Chunks>,
    content: Content,
    output: Option<&File>,
    meter: &Meter,
) -> Result<Expanded, Failure> {
    let (to_expander, chunks) = bounded(UNDER_WAY);
    let (to_writer, messages) = bounded(UNDER_WAY);
    let (format, wrapping) = match content {
        Content::Members { format, header, .. } => (format, header + trailer_size(format)),
        Content::Plain(_) => (Format::Raw, 0),
    };
    let spares = &Spares::default();
    let intake = intake.go_on_with(FromReader { chunks, has_ended: false });
    let expanded = sisal::nursery(|nursery| {
        let reader = move || unless_ended(read(input, &to_expander, meter)).map(drop);
        // Here, where nobody else runs: the expander is to have the other worker for itself.
        let reader = nursery.builder().name("gz-reader").spawn_local(reader);
        let outlet = Pieces { piece: Piece::default(), to_writer, spares };
        let expander = move || unless_ended(outlet.expand(intake, content)).map(drop);
        nursery.builder().name("gz-expander").spread().spawn(expander);
        // The expander has the only other end of its channel, and ends when the nursery does: so does this.
        let written = unless_ended(sisal::blocking(|| write(output, format, wrapping, &messages, spares)));
        // What may still come behind garbage is not waited for.
        reader.cancel();
        written
    })?;
    expanded.ok_or(Failure::Ended)
}

fn trailer_size(format: Format) -> u64 {
    format.trailer(&Checksum::new(format)).len() as u64
}

/// A chunk of the input; none at its end.
pub(super) fn read_chunk(mut input: Input<'_>) -> Result<Option<Vec<u8>>, Failure> {
    let mut chunk = vec![0; CHUNK];
    let count = blocks::read(&mut input, &mut chunk)?;
    chunk.truncate(count);
    Ok((count > 0).then_some(chunk))
}

/// The reader.
fn read(input: Input<'_>, to_expander: &Sender<Chunk>, meter: &Meter) -> Result<(), Failure> {
    loop {
        sisal::check_cancelled()?;
        let chunk = read_chunk(input)?;
        meter.read(chunk.as_ref().map_or(0, Vec::len));
        let ends = chunk.is_none();
        // If the expander has seen enough, the rest does not matter.
        if to_expander.send(chunk).is_err() || ends {
            return Ok(());
        }
    }
}

/// What the expander has from the reader.
struct FromReader {
    chunks: Receiver<Chunk>,
    has_ended: bool,
}

impl Chunks for FromReader {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.has_ended {
            return Ok(None);
        }
        let chunk = self.chunks.recv().map_err(|_| Failure::Ended)?;
        self.has_ended = chunk.is_none();
        Ok(chunk)
    }
}

/// What the expander has for the writer.
struct Pieces<'a> {
    /// The one that is being filled.
    piece: Piece,
    to_writer: Sender<Message>,
    spares: &'a Spares<Vec<u8>>,
}

impl Pieces<'_> {
    /// The expander.
    fn expand(mut self, mut intake: Intake<impl Chunks>, content: Content) -> Result<(), Failure> {
        let rest = match content {
            Content::Members { format, plain, .. } => match members::expand(&mut intake, format, plain, &mut self) {
                Ok(Rest::Plain(start)) => self.copy(&mut intake, &start),
                rest => rest,
            },
            Content::Plain(start) => self.copy(&mut intake, &start),
        };
        // What is right before a defect is written all the same, as far as it goes.
        self.send()?;
        self.to_writer.send(Message::End { read: intake.used(), rest: rest? }).map_err(|_| Failure::Ended)
    }

    /// Copies what is not compressed.
    fn copy(&mut self, intake: &mut Intake<impl Chunks>, start: &[u8]) -> Result<Rest, Failure> {
        self.put(start)?;
        loop {
            let bytes = intake.at_hand()?;
            if bytes.is_empty() {
                return Ok(Rest::Nothing);
            }
            let count = bytes.len();
            self.put(bytes)?;
            intake.consume(count);
        }
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let room = self.room()?;
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Failure> {
        let piece = std::mem::take(&mut self.piece);
        self.to_writer.send(Message::Piece(piece)).map_err(|_| Failure::Ended)
    }
}

impl Outlet for Pieces<'_> {
    fn room(&mut self) -> Result<&mut [u8], Failure> {
        if self.piece.filled == self.piece.bytes.len() || self.piece.ends.len() == MOST_ENDS {
            if !self.piece.bytes.is_empty() {
                self.send()?;
            }
            self.piece.bytes = self.spares.take(|| vec![0; PIECE]);
        }
        Ok(&mut self.piece.bytes[self.piece.filled..])
    }

    fn filled(&mut self, count: usize) {
        self.piece.filled += count;
    }

    fn end_member(&mut self, trailer: Option<Trailer>) {
        self.piece.ends.push((self.piece.filled, trailer));
    }
}

/// The writer, which checks first.
fn write(
    output: Option<&File>,
    format: Format,
    wrapping: u64,
    messages: &Receiver<Message>,
    spares: &Spares<Vec<u8>>,
) -> Result<Expanded, Failure> {
    let mut sum = Checksum::new(format);
    let (mut written, mut last_sum) = (0, 0);
    loop {
        let piece = match messages.recv().map_err(|_| Failure::Ended)? {
            Message::Piece(piece) => piece,
            Message::End { read, rest } => {
                return Ok(Expanded { totals: Totals { read, written, wrapping }, sum: last_sum, rest });
            }
        };
        let bytes = &piece.bytes[..piece.filled];
        if let Some(mut output) = output {
            output.write_all(bytes).map_err(Failure::Output)?;
        }
        written += bytes.len() as u64;
        let mut start = 0;
        for (end, trailer) in piece.ends {
            sum.update(&bytes[start..end]);
            trailer.map_or(Ok(()), |trailer| trailer.check(&sum))?;
            last_sum = sum.value();
            sum = Checksum::new(format);
            start = end;
        }
        sum.update(&bytes[start..]);
        spares.give_back(piece.bytes);
    }
}
