//! The date as HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [(&str, u64); 12] = [
    ("Jan", 31),
    ("Feb", 28),
    ("Mar", 31),
    ("Apr", 30),
    ("May", 31),
    ("Jun", 30),
    ("Jul", 31),
    ("Aug", 31),
    ("Sep", 30),
    ("Oct", 31),
    ("Nov", 30),
    ("Dec", 31),
];

thread_local! {
    /// The last second that somebody asked about on this thread, and its date. Fibers never change threads.
    static LAST: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
}

/// Calls `f` with the date of now, which is written out once a second.
pub(super) fn with_now(f: impl FnOnce(&str)) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    LAST.with_borrow_mut(|(second, date)| {
        if *second != now {
            (*second, *date) = (now, format(now));
        }
        f(date);
    });
}

/// The date so many seconds after 1970 began, which was a Thursday.
fn format(seconds: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut left) = (1970, day);
    while left >= 365 + u64::from(is_leap(year)) {
        left -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    loop {
        let long = MONTHS[month].1 + u64::from(month == 1 && is_leap(year));
        if left < long {
            break;
        }
        left -= long;
        month += 1;
    }
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let (name, weekday, second) = (MONTHS[month].0, DAYS[(day % 7) as usize], second % 60);
    format!("{weekday}, {:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT", left + 1)
}
