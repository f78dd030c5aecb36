//! How many CPUs this process may use: as many as its affinity mask names, and no more than its
//! cgroups' CPU quotas pay for.
//!
//! A quota is `quota` microseconds of CPU time in every `period`; 150,000 in 100,000 is one and a
//! half CPUs. It is rounded up, since a worker too few leaves paid time unused, while one too many
//! is only throttled. Quotas nest, and each level counts: the walk goes from the process's own
//! cgroup up to the root of what is mounted, and the smallest wins.
//!
//! Where to look is in two files. `/proc/self/cgroup` names the process's cgroup in each hierarchy
//! (`id:controllers:path`; version 2 has id 0 and no controllers). `/proc/self/mountinfo` says
//! which part of a hierarchy is mounted where: in a container the mounted root is often the
//! container's own cgroup, and the path above has to be taken relative to it.
//!
//! Everything below [`available`] works on text and on a directory that stands for `/`.

use std::fs;
use std::path::{Path, PathBuf};

/// How many CPUs this process may use, at least 1.
pub(crate) fn available() -> usize {
    let cpus = affinity();
    quota(Path::new("/")).map_or(cpus, |quota| quota.min(cpus)).max(1)
}

/// CPUs in the affinity mask of the calling thread.
fn affinity() -> usize {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => set.count() as usize,
        // More CPUs than the mask has room for, or a sandbox that forbids the call.
        Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// The smallest CPU quota above this process, in whole CPUs, if there is one.
fn quota(root: &Path) -> Option<usize> {
    let cgroups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let limits = [Version::V2, Version::V1].into_iter().filter_map(|version| {
        let path = cgroup_path(&cgroups, version)?;
        let mount = find_mount(&mounts, version)?;
        quota_of_hierarchy(root, &mount, path, version)
    });
    limits.min()
}

/// The two kinds of hierarchy; a machine may run both side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    V1,
    V2,
}

/// Where a hierarchy is mounted, and which of its cgroups stands at that place.
#[derive(Debug, PartialEq)]
struct Mount {
    cgroup: String,
    directory: String,
}

/// The smallest quota on the way from the process's cgroup up to the mounted root.
fn quota_of_hierarchy(root: &Path, mount: &Mount, path: &str, version: Version) -> Option<usize> {
    let top = under(root, &mount.directory);
    let mut limits = Vec::new();
    let mut directory = top.join(path_in_mount(path, &mount.cgroup));
    loop {
        limits.extend(quota_of_directory(&directory, version));
        if directory == top || !directory.pop() {
            break;
        }
    }
    limits.into_iter().min()
}

/// The quota of one cgroup, if its directory holds one.
fn quota_of_directory(directory: &Path, version: Version) -> Option<usize> {
    let read = |file: &str| fs::read_to_string(directory.join(file)).ok();
    match version {
        Version::V2 => parse_cpu_max(&read("cpu.max")?),
        Version::V1 => parse_cfs(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?),
    }
}

/// Version 2: `150000 100000`, or `max 100000` for no limit.
fn parse_cpu_max(text: &str) -> Option<usize> {
    let mut fields = text.split_whitespace();
    let quota = fields.next()?;
    cpus(quota, fields.next()?)
}

/// Version 1: two files; a quota of -1 is no limit.
fn parse_cfs(quota: &str, period: &str) -> Option<usize> {
    cpus(quota.trim(), period.trim())
}

/// A quota as a whole number of CPUs, rounded up. `max` and `-1` parse as no number.
fn cpus(quota: &str, period: &str) -> Option<usize> {
    let quota: u64 = quota.parse().ok()?;
    let period: u64 = period.parse().ok().filter(|&period| period > 0)?;
    usize::try_from(quota.div_ceil(period).max(1)).ok()
}

/// The path of the process's cgroup in the hierarchy that limits CPU time.
fn cgroup_path(cgroups: &str, version: Version) -> Option<&str> {
    cgroups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let id = fields.next()?;
        let controllers = fields.next()?;
        let path = fields.next()?;
        let wanted = match version {
            Version::V2 => id == "0" && controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|name| name == "cpu"),
        };
        wanted.then_some(path)
    })
}

/// Where that hierarchy is mounted.
///
/// A line is `36 35 98:0 /root /mount/point options optional.. - type source super,options`.
fn find_mount(mounts: &str, version: Version) -> Option<Mount> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mount = Mount { cgroup: unescape(left.next()?), directory: unescape(left.next()?) };
        let mut right = right.split(' ');
        let kind = right.next()?;
        let options = right.nth(1)?;
        let wanted = match version {
            Version::V2 => kind == "cgroup2",
            Version::V1 => kind == "cgroup" && options.split(',').any(|name| name == "cpu"),
        };
        wanted.then_some(mount)
    })
}

/// The kernel writes blanks and backslashes in paths as `\040`: three octal digits.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok());
        match code {
            Some(byte) if byte.is_ascii() => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            _ => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

/// A cgroup's path relative to the mounted one. A cgroup outside what is mounted (`/../other`)
/// can't be seen from here; the mounted one is then the nearest there is.
fn path_in_mount(path: &str, mounted: &str) -> PathBuf {
    let inside = Path::new(path).strip_prefix(mounted).unwrap_or(Path::new(""));
    if inside.components().any(|part| part.as_os_str() == "..") {
        return PathBuf::new();
    }
    inside.to_owned()
}

/// `/sys/fs/cgroup` as seen from the directory that stands for `/`.
fn under(root: &Path, absolute: &str) -> PathBuf {
    root.join(absolute.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n";

    /// A directory that stands for `/`, removed at the end.
    struct Tree(PathBuf);

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Tree {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("sisal-cpus-{}-{number}", std::process::id());
            let tree = Tree(std::env::temp_dir().join(name));
            for (path, text) in files {
                let path = tree.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            tree
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn this_process_may_use_a_cpu_at_least() {
        assert!(available() >= 1);
        assert!(available() <= affinity().max(1));
    }

    #[test]
    fn version_2_quotas_are_rounded_up() {
        let cases = [
            ("max 100000\n", None),
            ("100000 100000\n", Some(1)),
            ("150000 100000\n", Some(2)),
            ("400000 100000\n", Some(4)),
            ("1000 100000\n", Some(1)),
            ("0 100000\n", Some(1)),
            ("100000 0\n", None),
            ("100000\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_cpu_max(text), expected, "{text:?}");
        }
    }

    #[test]
    fn version_1_quotas_are_rounded_up() {
        let cases = [
            ("-1\n", "100000\n", None),
            ("250000\n", "100000\n", Some(3)),
            ("50000\n", "100000\n", Some(1)),
            ("50000\n", "", None),
        ];
        for (quota, period, expected) in cases {
            assert_eq!(parse_cfs(quota, period), expected, "{quota:?} {period:?}");
        }
    }

    #[test]
    fn a_process_finds_its_cgroup_in_each_hierarchy() {
        let hybrid = "4:memory:/m\n1:cpu,cpuacct:/one:two\n0::/unified\n";
        let cases = [
            (hybrid, Version::V1, Some("/one:two")),
            (hybrid, Version::V2, Some("/unified")),
            ("3:cpuset:/x\n2:cpuacct:/y\n", Version::V1, None),
            ("1:name=systemd:/\n", Version::V2, None),
            ("nonsense\n", Version::V2, None),
        ];
        for (text, version, expected) in cases {
            assert_eq!(cgroup_path(text, version), expected, "{text:?} {version:?}");
        }
    }

    #[test]
    fn mounts_are_found_and_their_names_unescaped() {
        let mounts = format!("{V1_MOUNT}29 23 0:25 /a\\040b /c\\134d rw - cgroup2 none rw\nnonsense\n");
        let v1 = find_mount(&mounts, Version::V1).unwrap();
        assert_eq!((v1.cgroup.as_str(), v1.directory.as_str()), ("/", "/sys/fs/cgroup/cpu,cpuacct"));
        let v2 = find_mount(&mounts, Version::V2).unwrap();
        assert_eq!((v2.cgroup.as_str(), v2.directory.as_str()), ("/a b", "/c\\d"));
        assert_eq!(find_mount("", Version::V2), None);
    }

    #[test]
    fn the_smallest_quota_on_the_way_up_wins() {
        let tree = Tree::new(&[
            ("proc/self/cgroup", "0::/a/b/c\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"),
            ("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(quota(&tree.0), Some(2));
    }

    #[test]
    fn no_quota_is_no_limit() {
        let tree = Tree::new(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(quota(&tree.0), None);
        assert_eq!(quota(&Tree::new(&[]).0), None);
    }

    #[test]
    fn in_a_container_the_mounted_cgroup_is_the_top() {
        // Version 1 without a cgroup namespace: the path is the host's, the mount the container's.
        let mount = "31 23 0:27 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        for path in ["/docker/1", "/docker/1/job", "/elsewhere", "/../elsewhere"] {
            let tree = Tree::new(&[
                ("proc/self/cgroup", &format!("1:cpu:{path}\n")),
                ("proc/self/mountinfo", mount),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ]);
            assert_eq!(quota(&tree.0), Some(3), "{path}");
        }
    }

    #[test]
    fn with_both_hierarchies_the_smaller_quota_counts() {
        let tree = Tree::new(&[
            ("proc/self/cgroup", "1:cpu,cpuacct:/x\n0::/y\n"),
            ("proc/self/mountinfo", &format!("{V1_MOUNT}{V2_MOUNT}")),
            ("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "50000\n"),
            ("sys/fs/cgroup/y/cpu.max", "600000 100000\n"),
        ]);
        assert_eq!(quota(&tree.0), Some(4));
    }
}
