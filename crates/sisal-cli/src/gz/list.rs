//! The table of `-l`, as gzip prints it.

use super::expand::Expanded;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECONDS_PER_DAY: u64 = 86_400;

/// The sums of a table that is being printed.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: usize,
    compressed: u64,
    expanded: u64,
    /// How much of the last file was header and trailer.
    wrapping: u64,
}

impl Table {
    /// A row, after the heading if it is the first.
    pub(super) fn row(&mut self, expanded: &Expanded, name: &str, time: SystemTime, verbose: bool) -> String {
        let totals = &expanded.totals;
        let mut text = String::new();
        if self.rows == 0 {
            if verbose {
                text += "method  crc     date  time  ";
            }
            text += "         compressed        uncompressed  ratio uncompressed_name\n";
        }
        if verbose {
            // Into a string nothing fails.
            let _ = write!(text, "defla {:08x} {} ", expanded.sum, date(time));
        }
        let ratio = ratio(totals.written as i128 - (totals.read as i128 - totals.wrapping as i128), totals.written);
        let _ = writeln!(text, "{:>19} {:>19} {ratio} {name}", totals.read, totals.written);
        self.rows += 1;
        self.compressed += totals.read;
        self.expanded += totals.written;
        self.wrapping = totals.wrapping;
        text
    }

    /// The last row, if there is more than one.
    pub(super) fn sums(&self, verbose: bool) -> Option<String> {
        (self.rows > 1).then(|| {
            // As gzip has it: the headers of others than the last count as data.
            let data = i128::from(self.compressed) - i128::from(self.wrapping);
            let ratio = ratio(i128::from(self.expanded) - data, self.expanded);
            let indent = if verbose { " ".repeat(28) } else { String::new() };
            format!("{indent}{:>19} {:>19} {ratio} (totals)\n", self.compressed, self.expanded)
        })
    }
}

/// What part of `whole` is saved, as gzip writes it.
pub(super) fn ratio(saved: i128, whole: u64) -> String {
    let percent = if whole == 0 { 0.0 } else { 100.0 * saved as f64 / whole as f64 };
    format!("{percent:5.1}%")
}

/// Month, day and time, in UTC.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (month, day) = month_and_day(seconds / SECONDS_PER_DAY);
    let minute = seconds % SECONDS_PER_DAY / 60;
    format!("{} {day:2} {:02}:{:02}", MONTHS[month], minute / 60, minute % 60)
}

/// The month, from 0, and the day, from 1, so many days after 1970 began.
fn month_and_day(mut days: u64) -> (usize, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    for (month, length) in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30].into_iter().enumerate() {
        if days < length {
            return (month, days + 1);
        }
        days -= length;
    }
    (11, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Jan  1 00:00");
        assert_eq!(at(951_782_400), "Feb 29 00:00");
        assert_eq!(at(1_700_000_000), "Nov 14 22:13");
        assert_eq!(at(1_735_689_599), "Dec 31 23:59");
    }

    #[test]
    fn ratios_have_one_digit_behind_the_point() {
        assert_eq!(ratio(50, 100), " 50.0%");
        assert_eq!(ratio(-2, 5), "-40.0%");
        assert_eq!(ratio(3, 0), "  0.0%");
    }
}
