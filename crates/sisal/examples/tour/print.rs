//! How the tour prints.

use std::error::Error;
use std::time::Duration;

pub(crate) fn section(number: u32, title: &str) {
    println!("\n{number:2}. {title}");
}

pub(crate) fn line(what: &str, figure: impl ToString) {
    let figure = figure.to_string();
    println!("    {what:.<40} {figure}");
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

pub(crate) fn nanoseconds(time: Duration, count: u64) -> String {
    format!("{:.0} ns", time.as_secs_f64() * 1e9 / count as f64)
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes of memory this process has in use.
pub(crate) fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kibibytes.ok_or("no VmRSS in /proc/self/status")?.parse::<u64>()? * 1024)
}
