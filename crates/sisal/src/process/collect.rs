//! Reading both outputs of a child to their ends, whichever comes first.
//!
//! To wait for either is to wait for an epoll that has both: it can be waited for like any other descriptor. If there
//! is no descriptor left for one, both are asked again and again.

use super::stdio::{ChildStderr, ChildStdout};
use crate::io::error::is_shortage;
use crate::io::pauses::Pauses;
use crate::io::source::{Direction, Request, Source};
use crate::prim::reason::{Place, Reason};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;

/// How much is read at a time.
const CHUNK: usize = 16 << 10;

/// All that comes out of both.
pub(super) fn read_both(
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    place: Place,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut pipes = [Pipe::new(stdout.map(|pipe| pipe.0)), Pipe::new(stderr.map(|pipe| pipe.0))];
    match either_of(&pipes) {
        Ok(either) => {
            let request = Request { direction: Direction::Read, reason: Reason::Read, place, deadline: None };
            while pipes.iter().any(Pipe::is_open) {
                either.perform(&request, |either| read_on(&mut pipes, Some(either)))?;
            }
        }
        // What the child has written is not to be lost for want of a descriptor.
        Err(error) if is_shortage(&error) => {
            while pipes.iter().any(Pipe::is_open) {
                read_with_pauses(&mut pipes, place)?;
            }
        }
        Err(error) => return Err(error),
    }
    let [stdout, stderr] = pipes;
    Ok((stdout.bytes, stderr.bytes))
}

/// What can be read when one of them can be, or has ended.
fn either_of(pipes: &[Pipe]) -> io::Result<Source> {
    let either = epoll::create(CreateFlags::CLOEXEC)?;
    for pipe in pipes.iter().filter_map(|pipe| pipe.open.as_ref()) {
        epoll::add(&either, pipe, EventData::new_u64(0), EventFlags::IN)?;
    }
    Ok(Source::nonblocking(either))
}

/// Reads what is there; `WouldBlock` if that is nothing for now.
fn read_on(pipes: &mut [Pipe], either: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut progress = false;
    for pipe in pipes {
        progress |= pipe.read_on(either)?;
    }
    if progress { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

/// As [`read_on`], after as many pauses as it takes.
fn read_with_pauses(pipes: &mut [Pipe], place: Place) -> io::Result<()> {
    let mut pauses = Pauses::new(Reason::Read, None, place);
    loop {
        match read_on(pipes, None) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => pauses.pause()?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

struct Pipe {
    /// None when it has ended.
    open: Option<Source>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new(open: Option<Source>) -> Pipe {
        Pipe { open, bytes: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads what is there, up to a chunk; false if that is nothing for now.
    fn read_on(&mut self, either: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let Some(pipe) = &self.open else { return Ok(false) };
        self.bytes.reserve(CHUNK);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(&mut self.bytes)) {
            Ok(0) => {
                if let Some(either) = either {
                    epoll::delete(either, pipe)?;
                }
                self.open = None;
                Ok(true)
            }
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
