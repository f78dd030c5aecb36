//! How far it is, on a terminal.

use super::report::say;
use super::verbatim;
use crate::remote::text::clean;
use crate::remote::wording::cut;
use crate::terminal;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

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

    /// A line of so many columns at most. If not all fits, it is the name that is cut first.
    fn line(&self, name: &str, since: Duration, columns: usize) -> String {
        let state = self.state(since);
        let room = columns.saturating_sub(state.width() + 1);
        cut(&format!("{} {state}", cut(name, room)), columns).into_owned()
    }

    fn state(&self, since: Duration) -> String {
        let read = self.read.load(Ordering::Relaxed);
        let rate = read as f64 / MB / since.as_secs_f64().max(f64::MIN_POSITIVE);
        match self.size.filter(|size| *size > 0) {
            Some(size) => {
                let done = read.min(size);
                let full = (u128::from(done) * u128::from(WIDTH) / u128::from(size)) as usize;
                let percent = u128::from(done) * 100 / u128::from(size);
                let (bar, room) = ("#".repeat(full), ".".repeat(WIDTH as usize - full));
                format!("[{bar}{room}] {percent:3} % {rate:.1} MB/s")
            }
            None => format!("{:.1} MB {rate:.1} MB/s", read as f64 / MB),
        }
    }
}

/// Does the work, and meanwhile shows how far it is, if that is wanted and takes a while, and as long as the terminal is ours.
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
    let name = verbatim::bytes(&name.to_string());
    let name = String::from_utf8_lossy(&name);
    let name = clean(&name);
    let mut is_shown;
    loop {
        let is_ours = !terminal::is_in_use_by_others();
        if is_ours {
            // One column less, as some terminals go on to the next line when there is something in the last.
            let line = meter.line(&name, start.elapsed(), terminal::columns() - 1);
            say(format_args!("{ERASE}{line}"));
        }
        // One that others have written over is not erased.
        is_shown = is_ours;
        if sisal::sleep(TICK).is_err() {
            break;
        }
    }
    if is_shown && !terminal::is_in_use_by_others() {
        say(ERASE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_it_is_and_how_fast() {
        let meter = Meter::new(Some(200_000_000));
        meter.read(50_000_000);
        let line = meter.line("file", Duration::from_secs(2), 80);
        assert_eq!(line, "file [#######.......................]  25 % 25.0 MB/s");
        let unknown = Meter::new(None);
        unknown.read(1_500_000);
        assert_eq!(unknown.line("stdin", Duration::from_secs(1), 80), "stdin 1.5 MB 1.5 MB/s");
    }

    #[test]
    fn a_line_is_no_longer_than_there_is_room_and_the_name_is_cut_first() {
        let meter = Meter::new(Some(200_000_000));
        meter.read(50_000_000);
        let line = |columns| meter.line("a/very/long/name", Duration::from_secs(2), columns);
        assert_eq!(line(60), "a/very/lon… [#######.......................]  25 % 25.0 MB/s");
        assert_eq!(line(20), " [#######..........…");
        assert!((0..80).all(|columns| line(columns).width() <= columns));
    }

    #[test]
    fn a_file_that_grew_is_no_more_than_done() {
        let meter = Meter::new(Some(10));
        meter.read(20);
        assert!(meter.line("file", Duration::ZERO, 80).contains("100 %"));
    }
}
