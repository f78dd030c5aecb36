//! What Linux says of this process.

use std::collections::BTreeMap;
use std::fs;

/// How many threads it has.
pub(crate) fn threads() -> usize {
    status("Threads:")
}

/// How many threads it has whose names start so.
pub(crate) fn threads_named(start: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while its name is read.
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(start)).count()
}

/// How often each thread but the calling one has been given a CPU and left it again; none if one of them has a CPU or waits for one.
/// Where two such answers are the same, all have slept from the one to the other.
pub(crate) fn rest_of_others() -> Option<BTreeMap<String, u64>> {
    let own = fs::read_link("/proc/thread-self").unwrap();
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let others = tasks.filter(|task| Some(task.file_name().as_ref()) != own.file_name());
    others.map(|task| rest(&fs::read_to_string(task.path().join("status")).ok()?)).collect()
}

/// A thread's number and its switches, by its status, if it sleeps.
fn rest(status: &str) -> Option<(String, u64)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let switches = |name| field(name)?.parse::<u64>().ok();
    let all = switches("voluntary_ctxt_switches:")? + switches("nonvoluntary_ctxt_switches:")?;
    (field("State:")? == "S").then(|| Some((field("Pid:")?.to_owned(), all)))?
}

/// How much memory it has, in bytes.
pub(crate) fn resident() -> usize {
    status("VmRSS:") << 10
}

/// How much address space it has, in bytes.
pub(crate) fn mapped() -> usize {
    status("VmSize:") << 10
}

fn status(field: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
