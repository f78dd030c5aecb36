//! The table of `-l`, as gzip prints it.

use super::date::date;
use super::expand::Expanded;
use super::settings::Settings;
use std::fmt::Write;
use std::time::SystemTime;

/// The sums of a table that is being printed.
#[derive(Debug, Default)]
pub(super) struct Table {
    has_rows: bool,
    compressed: u64,
    expanded: u64,
    /// How much of the last file was header and trailer.
    wrapping: u64,
}

impl Table {
    /// A row, after the heading if it is the first and that is wanted.
    pub(super) fn row(&mut self, expanded: &Expanded, name: &str, time: SystemTime, settings: &Settings) -> String {
        let Settings { verbose, quiet, .. } = *settings;
        let totals = &expanded.totals;
        let mut text = String::new();
        if !self.has_rows && !quiet {
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
        self.has_rows = true;
        self.compressed += totals.read;
        self.expanded += totals.written;
        self.wrapping = totals.wrapping;
        text
    }

    /// The last row, if there is something to sum.
    pub(super) fn sums(&self, verbose: bool) -> Option<String> {
        (self.compressed > 0 && self.expanded > 0).then(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_one_digit_behind_the_point() {
        assert_eq!(ratio(50, 100), " 50.0%");
        assert_eq!(ratio(-2, 5), "-40.0%");
        assert_eq!(ratio(3, 0), "  0.0%");
    }
}
