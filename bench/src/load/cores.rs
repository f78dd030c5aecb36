//! Who runs on which core, where a case keeps server and client apart.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Has whatever `start` starts run on one core, with all its threads, and the caller on another from then
/// on.
pub(super) fn apart<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    let allowed = sched_getaffinity(None)?;
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    let (Some(ours), Some(theirs)) = (cores.next(), cores.next()) else {
        return Err(io::Error::other("the case wants two cores: one for the server, one for the client"));
    };
    // A process starts with the cores of the thread that starts it.
    stay_on(theirs)?;
    let started = start();
    stay_on(ours)?;
    Ok(started)
}

fn stay_on(core: usize) -> io::Result<()> {
    let mut only = CpuSet::new();
    only.set(core);
    Ok(sched_setaffinity(None, &only)?)
}
