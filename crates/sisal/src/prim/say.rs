//! What own threads have to say on standard error.
//!
//! Past std's lock, which a fiber that waits may hold, and without a panic if nobody reads. A pipe that is full is waited for a while; what
//! does not go out then is dropped, so that nobody hangs because of what it wanted to say.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stderr;
use std::fmt::Display;

/// A pipe that says it has room has it for so many bytes.
const PIECE: usize = 4096;

/// How long a reader may take for a piece.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Writes `text` as it is.
pub(crate) fn say(text: impl Display) {
    for piece in text.to_string().as_bytes().chunks(PIECE) {
        let mut rest = piece;
        while !rest.is_empty() {
            let stderr = stderr();
            let ready = poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], Some(&PATIENCE));
            if ready == Ok(0) {
                return;
            }
            match rustix::io::retry_on_intr(|| rustix::io::write(stderr, rest)) {
                Ok(written) if written > 0 => rest = &rest[written..],
                _ => return,
            }
        }
    }
}
