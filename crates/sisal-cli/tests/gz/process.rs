//! What Linux says of a program that runs.

use rustix::process::Pid;
use std::fs;

/// The most memory it has had so far, in bytes.
pub(crate) fn most_memory(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has not ended");
    most.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Whether it does nothing until somebody else does: at some time during this call all its threads have slept, and no signal was under way.
pub(crate) fn is_still(pid: Pid) -> bool {
    let before = threads(pid);
    let is_asleep = |thread: &Vec<String>| {
        thread.iter().all(|line| match line.split_once(':') {
            Some(("State", state)) => state.trim().starts_with('S'),
            Some(("SigPnd" | "ShdPnd", pending)) => pending.trim().chars().all(|digit| digit == '0'),
            _ => true,
        })
    };
    !before.is_empty() && before.iter().all(is_asleep) && threads(pid) == before
}

/// What matters of each thread. One that has run between two looks has been switched to and from.
fn threads(pid: Pid) -> Vec<Vec<String>> {
    const FIELDS: [&str; 6] =
        ["Pid", "State", "SigPnd", "ShdPnd", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"];
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else { return Vec::new() };
    // A thread may end while it is looked at.
    let statuses = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let matters = |line: &&str| line.split_once(':').is_some_and(|(field, _)| FIELDS.contains(&field));
    statuses.map(|status| status.lines().filter(matters).map(str::to_owned).collect()).collect()
}
