//! How many descriptors this process may have.

use super::common::skip::skip;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

/// What a process of tests needs besides connections: the tests beside this one, epolls, pipes.
const SPARE: usize = 1_000;

/// Raises the limit as far as that goes, and says how many connections may be open at once: as many as `wanted`, or less, which
/// is a skip.
pub(crate) fn room_for(wanted: usize) -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let allowed = maximum.map_or(usize::MAX, |maximum| maximum as usize);
    let room = allowed.saturating_sub(SPARE).min(wanted);
    assert!(room > 0, "{allowed} descriptors are too few for any of this");
    if room < wanted {
        skip(&format!("{room} connections in place of {wanted}, as there may be {allowed} descriptors"));
    }
    room
}

/// Takes some descriptors and lowers the limit, so that only `left` more can be had, or more when those returned are closed. Only
/// for a process of its own.
pub(crate) fn leave(left: usize) -> Vec<OwnedFd> {
    const TAKEN: usize = 10;
    let open = || OwnedFd::from(File::open("/dev/null").unwrap());
    let mut taken: Vec<_> = (0..TAKEN + left).map(|_| open()).collect();
    let next = open().as_raw_fd();
    setrlimit(Resource::Nofile, Rlimit { current: Some(next as u64), ..getrlimit(Resource::Nofile) }).unwrap();
    taken.truncate(TAKEN);
    taken
}
