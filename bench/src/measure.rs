//! What the system knows of this process: CPU time, resident memory, page tables.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::sample::Sample;

/// User and system time of all threads of this process so far, to the nanosecond.
pub fn cpu_time() -> Duration {
    reading(ClockId::ProcessCPUTime)
}

/// The same of the calling thread alone.
pub fn thread_cpu_time() -> Duration {
    reading(ClockId::ThreadCPUTime)
}

fn reading(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// User and system time of all children that have ended and been waited for, to a tick of the system.
pub fn children_cpu_time() -> Duration {
    /// Where the two stand in `/proc/self/stat`, behind the name, which may have anything in it.
    const FIELDS: std::ops::RangeInclusive<usize> = 13..=14;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields.get(FIELDS).unwrap_or_default().iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Wall and CPU time since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

/// What a [`Stopwatch`] has counted.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Time on the wall.
    pub wall: Duration,
    /// Time on the CPUs, all threads together.
    pub cpu: Duration,
}

impl Stopwatch {
    /// Starts counting.
    pub fn start() -> Self {
        let cpu = cpu_time();
        Self { wall: Instant::now(), cpu }
    }

    /// Stops now.
    pub fn stop(self) -> Spent {
        self.stop_at(Instant::now())
    }

    /// Stops, the wall's hand at `end`: when the work was done, not when that was noticed.
    pub fn stop_at(self, end: Instant) -> Spent {
        Spent { wall: end - self.wall, cpu: cpu_time() - self.cpu }
    }
}

impl Spent {
    /// CPU time in nanoseconds.
    pub fn cpu_nanos(&self) -> f64 {
        self.cpu.as_nanos() as f64
    }

    /// Milliseconds of wall and of CPU for each of so many repeats.
    pub fn millis_each(&self, repeats: usize) -> Sample {
        /// Milliseconds in a second.
        const MILLIS: f64 = 1e3;
        let each = |time: Duration| time.as_secs_f64() * MILLIS / repeats as f64;
        Sample::new(each(self.wall), each(self.cpu))
    }

    /// Nanoseconds of wall and of CPU per operation.
    pub fn per_operation(&self, operations: usize) -> Sample {
        let operations = operations as f64;
        Sample::new(self.wall.as_nanos() as f64 / operations, self.cpu_nanos() / operations)
    }
}

/// Bytes this process holds, or has grown by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Resident pages.
    pub resident: f64,
    /// Page tables.
    pub page_tables: f64,
}

impl Memory {
    /// As the kernel counts it now.
    pub fn now() -> Result<Self, String> {
        const STATUS: &str = "/proc/self/status";
        let status = fs::read_to_string(STATUS).map_err(|error| format!("{STATUS}: {error}"))?;
        Self::parse(&status).ok_or_else(|| format!("{STATUS} has no VmRSS or VmPTE"))
    }

    /// From the text of `/proc/self/status`.
    fn parse(status: &str) -> Option<Self> {
        let bytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kibibytes * 1024.0)
        };
        Some(Self { resident: bytes("VmRSS:")?, page_tables: bytes("VmPTE:")? })
    }

    /// Growth since `before`.
    pub fn since(self, before: Self) -> Self {
        Self { resident: self.resident - before.resident, page_tables: self.page_tables - before.page_tables }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read_in_bytes() {
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\nVmPTE:\t      16 kB\n";
        let memory = Memory::parse(status).unwrap();
        assert_eq!(memory, Memory { resident: 2_097_152.0, page_tables: 16_384.0 });
        assert_eq!(Memory::parse("Name:\tx\n"), None);
    }

    #[test]
    fn cpu_time_counts_work() {
        let watch = Stopwatch::start();
        let mut x = 1_u64;
        while watch.stop().cpu < Duration::from_millis(2) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let spent = watch.stop();
        assert!(spent.cpu >= Duration::from_millis(2) && spent.wall > Duration::ZERO);
    }
}
