//! Reading a file, or what else there is on standard input.
//!
//! A file answers a read sooner or later. A pipe may never, and whoever waits for it in a system call can't be told that there is no more use
//! in it, since somebody else has failed. So such a read waits for the pipe for a moment, and then looks around.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use sisal::fs::File;
use std::io::{self, Read};

/// How long to wait before looking around.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What is read from.
#[derive(Copy, Clone, Debug)]
pub(super) struct Input<'a> {
    file: &'a File,
    /// Whether it answers sooner or later.
    is_regular: bool,
}

impl<'a> Input<'a> {
    pub(super) fn new(file: &'a File, is_regular: bool) -> Input<'a> {
        Input { file, is_regular }
    }
}

impl Read for Input<'_> {
    /// # Errors
    /// Those of the system, and the [end of a nursery](sisal::is_cancelled) around this.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_regular {
            return self.file.read(buffer);
        }
        loop {
            sisal::check_cancelled().map_err(io::Error::other)?;
            if let Some(result) = sisal::blocking(|| read_in_a_moment(self.file, buffer)) {
                return result;
            }
        }
    }
}

/// Reads what comes in a moment; none if nothing does.
fn read_in_a_moment(file: &File, buffer: &mut [u8]) -> Option<io::Result<usize>> {
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&MOMENT)) {
        // A FIFO that nobody has ever written to is not said to be at its end, but it is, as for gzip.
        Ok(0) => read_at_once(file, buffer),
        // If that is an error, reading tells which.
        _ => Some(rustix::io::read(file, buffer).map_err(io::Error::from)),
    }
}

/// Reads what is there; none if nothing is, or if to ask for it would be to wait.
fn read_at_once(file: &File, buffer: &mut [u8]) -> Option<io::Result<usize>> {
    if !fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)) {
        return None;
    }
    match rustix::io::read(file, buffer) {
        Err(Errno::AGAIN) => None,
        result => Some(result.map_err(io::Error::from)),
    }
}
