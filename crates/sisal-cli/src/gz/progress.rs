//! How far it is, on a terminal.

use super::report::say;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between two looks.
const TICK: Duration = Duration::from_millis(100);
/// What is done sooner needs no bar.
const PATIENCE: Duration = Duration::from_millis(400);
const WIDTH: u64 = 30;
const MB: f64 = 1e6;
/// Goes to the beginning of the line, and empties it.
const ERASE: &str = "\r\x1b[K";

/// Counts what has been read.
#[derive(Debug)]
pub(super) struct Meter {
    read: AtomicU64,
    size: Option<u64>,
}

impl Meter {
    /// For an input of this size, if that is known.
    pub(super) fn new(size: Option<u64>) -> Meter {
        Meter { read: AtomicU64::new(0), size }
    }

    pub(super) fn read(&self, count: usize) {
        self.read.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn line(&self, name: &dyn Display, since: Duration) -> String {
        let read = self.read.load(Ordering::Relaxed);
        let rate = read as f64 / MB / since.as_secs_f64().max(f64::MIN_POSITIVE);
        match self.size.filter(|size| *size > 0) {
            Some(size) => {
                let done = read.min(size);
                let full = (u128::from(done) * u128::from(WIDTH) / u128::from(size)) as usize;
                let percent = u128::from(done) * 100 / u128::from(size);
                let (bar, room) = ("#".repeat(full), ".".repeat(WIDTH as usize - full));
                format!("{name} [{bar}{room}] {percent:3} % {rate:.1} MB/s")
            }
            None => format!("{name} {:.1} MB {rate:.1} MB/s", read as f64 / MB),
        }
    }
}

/// Does the work, and meanwhile shows how far it is, if that is wanted and takes a while.
pub(super) fn shown<T>(is_wanted: bool, name: &(dyn Display + Sync), meter: &Meter, work: impl FnOnce() -> T) -> T {
    if !is_wanted {
        return work();
    }
    let done = sisal::nursery(|nursery| {
        let bar = nursery.builder().name("gz-progress").spawn(|| show(name, meter));
        let result = work();
        bar.cancel();
        Ok::<_, Infallible>(result)
    });
    match done {
        Ok(result) => result,
    }
}

fn show(name: &dyn Display, meter: &Meter) {
    let start = Instant::now();
    if sisal::sleep(PATIENCE).is_err() {
        return;
    }
    loop {
        say(format_args!("{ERASE}{}", meter.line(name, start.elapsed())));
        if sisal::sleep(TICK).is_err() {
            break;
        }
    }
    say(ERASE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_it_is_and_how_fast() {
        let meter = Meter::new(Some(200_000_000));
        meter.read(50_000_000);
        let line = meter.line(&"file", Duration::from_secs(2));
        assert_eq!(line, "file [#######.......................]  25 % 25.0 MB/s");
        let unknown = Meter::new(None);
        unknown.read(1_500_000);
        assert_eq!(unknown.line(&"stdin", Duration::from_secs(1)), "stdin 1.5 MB 1.5 MB/s");
    }

    #[test]
    fn a_file_that_grew_is_no_more_than_done() {
        let meter = Meter::new(Some(10));
        meter.read(20);
        assert!(meter.line(&"file", Duration::ZERO).contains("100 %"));
    }
}
