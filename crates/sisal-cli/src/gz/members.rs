//! What follows what in compressed input: members, and what may stand behind the last.
//!
//! A gzip file is any number of members, each with a header, deflated data and a trailer. Behind them there may be zeros, as tapes have them, and
//! anything else is garbage that is worth a warning, unless plain data is welcome. zlib's format and raw data are one member.
//!
//! Who expands does not check sums, which is the writer's part: it marks in the output where members end, and what their trailers say.

use super::checksum::Checksum;
use super::failure::{Defect, Failure};
use super::header::{self, Format, MAGIC, Origin};
use super::intake::{Chunks, Intake};
use zlib_rs::{Inflate, InflateFlush, Status};

/// The largest window of deflate, as the base-two logarithm.
const WINDOW_BITS: u8 = 15;

/// What input begins with.
#[derive(Debug)]
pub(super) enum Beginning {
    /// A member whose header has been read; data follows. `header` is its size.
    Member { format: Format, origin: Origin, header: u64 },
    /// Something that is not compressed, of which these bytes have been read.
    Plain(Vec<u8>),
}

/// Reads what the input begins with, which is to be in this format, if it is known.
pub(super) fn begin(
    intake: &mut Intake<impl Chunks>,
    format: Option<Format>,
    plain: bool,
) -> Result<Beginning, Failure> {
    let member = |format, origin, intake: &Intake<_>| Beginning::Member { format, origin, header: intake.used() };
    if format == Some(Format::Raw) {
        return Ok(member(Format::Raw, Origin::default(), intake));
    }
    let mut start = Vec::new();
    while start.len() < MAGIC.len()
        && let Some(byte) = intake.byte()?
    {
        start.push(byte);
    }
    let Ok(magic) = <[u8; 2]>::try_from(&start[..]) else {
        return if plain { Ok(Beginning::Plain(start)) } else { Err(Defect::Truncated.into()) };
    };
    if magic == MAGIC && format != Some(Format::Zlib) {
        let origin = header::read_gzip(intake)?;
        return Ok(member(Format::Gzip, origin, intake));
    }
    // Many a text begins like zlib's format: if text is allowed, one has to say that it is not.
    let may_be_zlib = format == Some(Format::Zlib) || format.is_none() && !plain;
    if may_be_zlib && header::is_zlib(magic) {
        if header::needs_dictionary(magic[1]) {
            return Err(Defect::Dictionary.into());
        }
        return Ok(member(Format::Zlib, Origin::default(), intake));
    }
    if plain { Ok(Beginning::Plain(start)) } else { Err(not(format.unwrap_or(Format::Gzip))) }
}

fn not(format: Format) -> Failure {
    Defect::NotCompressed(format.name()).into()
}

/// What the end of a member says of the data before.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    sum: u32,
    /// Modulo 2^32, if the format has it.
    length: Option<u32>,
}

impl Trailer {
    fn read(intake: &mut Intake<impl Chunks>, format: Format) -> Result<Option<Trailer>, Failure> {
        let mut four = || -> Result<[u8; 4], Failure> {
            let mut bytes = [0; 4];
            for byte in &mut bytes {
                *byte = intake.byte()?.ok_or(Defect::Truncated)?;
            }
            Ok(bytes)
        };
        Ok(match format {
            Format::Gzip => {
                Some(Trailer { sum: u32::from_le_bytes(four()?), length: Some(u32::from_le_bytes(four()?)) })
            }
            Format::Zlib => Some(Trailer { sum: u32::from_be_bytes(four()?), length: None }),
            Format::Raw => None,
        })
    }

    /// Whether it is that of data with this sum.
    pub(super) fn check(&self, sum: &Checksum) -> Result<(), Defect> {
        if self.sum != sum.value() {
            return Err(Defect::Checksum);
        }
        match self.length {
            Some(length) if length != sum.length() as u32 => Err(Defect::Length),
            _ => Ok(()),
        }
    }
}

/// Where expanded data goes.
pub(super) trait Outlet {
    /// Room for more, which is not empty.
    fn room(&mut self) -> Result<&mut [u8], Failure>;
    /// So much of the room has been filled.
    fn filled(&mut self, count: usize);
    /// A member ends here, and its trailer says this.
    fn end_member(&mut self, trailer: Option<Trailer>);
}

/// What was found behind the last member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    Nothing,
    Zeros,
    Garbage,
    /// Something that is not compressed, of which these bytes have been read.
    Plain(Vec<u8>),
}

/// Expands all members. The header of the first has been read. If there may be `plain` data, that is what follows the last, whatever it is.
pub(super) fn expand(
    intake: &mut Intake<impl Chunks>,
    format: Format,
    plain: bool,
    outlet: &mut impl Outlet,
) -> Result<Rest, Failure> {
    let mut inflate = Inflate::new(false, WINDOW_BITS);
    loop {
        expand_data(&mut inflate, intake, outlet)?;
        outlet.end_member(Trailer::read(intake, format)?);
        if let Some(rest) = next_member(intake, format, plain)? {
            return Ok(rest);
        }
        inflate.reset(false);
    }
}

/// Expands the data of one member.
fn expand_data(
    inflate: &mut Inflate,
    intake: &mut Intake<impl Chunks>,
    outlet: &mut impl Outlet,
) -> Result<(), Failure> {
    loop {
        let input = intake.at_hand()?;
        let at_end = input.is_empty();
        let room = outlet.room()?;
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(input, room, InflateFlush::NoFlush);
        let (used, made) = ((inflate.total_in() - read) as usize, (inflate.total_out() - written) as usize);
        outlet.filled(made);
        intake.consume(used);
        match status {
            Ok(Status::StreamEnd) => return Ok(()),
            Ok(_) if at_end && made == 0 => return Err(Defect::Truncated.into()),
            Ok(_) => {}
            Err(_) => return Err(Defect::Format.into()),
        }
    }
}

/// Looks for another member, and reads its header; if there is none, says what there is.
fn next_member(intake: &mut Intake<impl Chunks>, format: Format, plain: bool) -> Result<Option<Rest>, Failure> {
    let Some(first) = intake.byte()? else { return Ok(Some(Rest::Nothing)) };
    if plain {
        let start: Vec<u8> = [Some(first), intake.byte()?].into_iter().flatten().collect();
        if format != Format::Gzip || start != MAGIC {
            return Ok(Some(Rest::Plain(start)));
        }
        header::read_gzip(intake)?;
        return Ok(None);
    }
    if first == 0 {
        return zeros(intake).map(Some);
    }
    if format != Format::Gzip {
        return Ok(Some(Rest::Garbage));
    }
    // As in gzip, one byte is no garbage, but the beginning of something.
    let second = intake.byte()?.ok_or(Defect::Truncated)?;
    if [first, second] != MAGIC {
        return Ok(Some(Rest::Garbage));
    }
    header::read_gzip(intake)?;
    Ok(None)
}

/// After a zero: whether there is nothing else.
fn zeros(intake: &mut Intake<impl Chunks>) -> Result<Rest, Failure> {
    loop {
        let count = match intake.at_hand()? {
            [] => return Ok(Rest::Zeros),
            bytes if bytes.iter().any(|byte| *byte != 0) => return Ok(Rest::Garbage),
            bytes => bytes.len(),
        };
        intake.consume(count);
    }
}
