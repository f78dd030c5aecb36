//! Reading both outputs of a child to their ends, whichever comes first.
//!
//! To wait for either is to wait for an epoll that has both: it can be waited for like any other descriptor.

use super::stdio::{ChildStderr, ChildStdout};
use crate::io::source::{Direction, Request, Source};
use crate::prim::reason::{Place, Reason};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;

/// How much is read at a time.
const CHUNK: usize = 16 << 10;

/// All that comes out of both.
pub(super) fn read_both(
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    place: Place,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let either = epoll::create(CreateFlags::CLOEXEC)?;
    let mut pipes = [Pipe::new(stdout.map(|pipe| pipe.0)), Pipe::new(stderr.map(|pipe| pipe.0))];
    for pipe in pipes.iter().filter_map(|pipe| pipe.open.as_ref()) {
        epoll::add(&either, pipe, EventData::new_u64(0), EventFlags::IN)?;
    }
    let either = Source::nonblocking(either);
    let request = Request { direction: Direction::Read, reason: Reason::Read, place, deadline: None };
    while pipes.iter().any(|pipe| pipe.open.is_some()) {
        either.perform(&request, |either| {
            let mut progress = false;
            for pipe in &mut pipes {
                progress |= pipe.read_on(either)?;
            }
            if progress { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
        })?;
    }
    let [stdout, stderr] = pipes;
    Ok((stdout.bytes, stderr.bytes))
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

    /// Reads what is there, up to a chunk; false if that is nothing for now.
    fn read_on(&mut self, either: impl AsFd) -> io::Result<bool> {
        let Some(pipe) = &self.open else { return Ok(false) };
        self.bytes.reserve(CHUNK);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(&mut self.bytes)) {
            Ok(0) => {
                epoll::delete(either, pipe)?;
                self.open = None;
                Ok(true)
            }
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
