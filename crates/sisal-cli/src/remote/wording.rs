//! Times, sizes and names, short enough for a column.

use super::snapshot::Fiber;
use super::text::Text;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for the part that is left out.
const LEFT_OUT: char = '…';
pub(crate) const UNKNOWN: &str = "-";

/// A duration in at most six columns: `35us`, `1.2s`, `3m05s`, `2d04h`.
pub(crate) fn duration(nanoseconds: u64) -> String {
    const US: u64 = 1_000;
    const MS: u64 = 1_000 * US;
    const S: u64 = 1_000 * MS;
    let (seconds, minutes) = (nanoseconds / S, nanoseconds / S / 60);
    match nanoseconds {
        0..US => format!("{nanoseconds}ns"),
        US..MS => format!("{}us", nanoseconds / US),
        MS..S => format!("{}ms", nanoseconds / MS),
        _ if seconds < 10 => format!("{}.{}s", seconds, nanoseconds / (S / 10) % 10),
        _ if minutes == 0 => format!("{seconds}s"),
        _ if minutes < 60 => format!("{minutes}m{:02}s", seconds % 60),
        _ if minutes < 24 * 60 => format!("{}h{:02}m", minutes / 60, minutes % 60),
        _ if minutes < 100 * 24 * 60 => format!("{}d{:02}h", minutes / 60 / 24, minutes / 60 % 24),
        _ => format!("{}d", minutes / 60 / 24),
    }
}

/// A size in at most six columns: `512`, `4.0K`, `192K`, `1.5M`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
    let mut unit = 0;
    let mut rest = bytes as f64;
    while rest >= 1024.0 {
        rest /= 1024.0;
        unit += 1;
    }
    let name = UNITS[unit];
    if unit > 0 && rest < 10.0 { format!("{rest:.1}{name}") } else { format!("{}{name}", rest as u64) }
}

pub(crate) fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

pub(crate) fn text_or_unknown(text: Option<&Text>) -> &str {
    text.map_or(UNKNOWN, |text| text)
}

/// The name of a fiber, or where it was spawned.
pub(crate) fn called(fiber: &Fiber) -> Cow<'_, str> {
    match (&fiber.name, &fiber.spawned_at) {
        (Some(name), _) if !name.is_empty() => Cow::Borrowed(name),
        (_, Some(place)) => Cow::Owned(format!("({})", file_of(place))),
        (_, None) => Cow::Borrowed(UNKNOWN),
    }
}

/// A place without the folders: `main.rs:10:5`.
pub(crate) fn file_of(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// At most so many columns of it, saying so if that is not all.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let mut used = 0;
    let kept = text.chars().take_while(|character| {
        used += character.width().unwrap_or(0);
        used <= room
    });
    Cow::Owned(kept.chain([LEFT_OUT]).collect())
}

/// Exactly so many columns of it.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns).into_owned();
    let missing = columns.saturating_sub(text.width());
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// The same, with the text on the right side.
pub(crate) fn fit_right(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    format!("{}{text}", " ".repeat(columns.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_six_columns_at_most() {
        let said = [999, 35_999, 7_000_000, 1_250_000_000, 59_000_000_000, 185_000_000_000].map(duration);
        assert_eq!(said, ["999ns", "35us", "7ms", "1.2s", "59s", "3m05s"]);
        assert_eq!(duration(3_600_000_000_000 * 5), "5h00m");
        assert_eq!(duration(3_600_000_000_000 * 52), "2d04h");
        assert_eq!(duration(u64::MAX), "213503d", "after centuries it is seven");
    }

    #[test]
    fn sizes_take_six_columns_at_most() {
        assert_eq!([0, 512, 4096, 196_608, 1_572_864].map(size), ["0", "512", "4.0K", "192K", "1.5M"]);
        assert_eq!(size(u64::MAX), "16E");
    }

    #[test]
    fn wide_characters_are_cut_where_they_fit() {
        assert_eq!(cut("\u{4f60}\u{597d}\u{4f60}", 6), "\u{4f60}\u{597d}\u{4f60}");
        assert_eq!(cut("\u{4f60}\u{597d}\u{4f60}", 5), "\u{4f60}\u{597d}…");
        assert_eq!(fit("\u{4f60}\u{597d}\u{4f60}", 4), "\u{4f60}… ");
        assert_eq!((fit("ab", 4), fit_right("ab", 4), fit("ab", 0)), ("ab  ".into(), "  ab".into(), String::new()));
    }
}
