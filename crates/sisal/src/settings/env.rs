//! What a value in the environment means.
//!
//! Each function reads one kind of value and answers with what it expected instead if that is not
//! what it got; which variable it was, and what to do about it, is for the caller to say. Blanks
//! around a value don't matter. An empty value is an error like any other: a variable that is set
//! by a script whose own variable was empty should not pass for one that isn't set.

use crate::sched::stillness::OnDeadlock;
use crate::signal::Signal;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Kibi, the factor of the suffix `K`.
const KIB: usize = 1 << 10;
/// Mebi, the factor of the suffix `M`.
const MIB: usize = 1 << 20;

/// A value as text; `None` if it isn't UTF-8 or there is nothing in it.
pub(super) fn text(value: &OsStr) -> Option<&str> {
    let text = value.to_str()?.trim();
    (!text.is_empty()).then_some(text)
}

/// A value as it is shown in an error: quoted only where it would be hard to see otherwise.
pub(super) fn shown(value: &OsStr) -> String {
    match value.to_str() {
        Some("") => "\"\" (set, but empty)".to_owned(),
        Some(text) if text.chars().all(|c| c.is_ascii_graphic()) => text.to_owned(),
        Some(text) => format!("{text:?}"),
        None => format!("{value:?} (not UTF-8)"),
    }
}

/// `8`
pub(super) fn whole_number(text: &str) -> Option<usize> {
    // `usize::from_str` would take a leading plus sign.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// `65536`, `64K`, `1M`
pub(super) fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], KIB),
        b'm' | b'M' => (&text[..text.len() - 1], MIB),
        _ => (text, 1),
    };
    whole_number(number)?.checked_mul(unit)
}

/// `0` or `1`
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// `10`, `2.5`, `2.5s`, `500ms`
pub(super) fn duration(text: &str) -> Option<Duration> {
    if let Some(number) = text.strip_suffix("ms") {
        decimal(number).map(|milliseconds| seconds(milliseconds / 1e3))
    } else {
        decimal(text.strip_suffix('s').unwrap_or(text)).map(seconds)
    }
}

/// `quit`, `usr1`, `usr2`
pub(super) fn dump_on(text: &str) -> Option<Signal> {
    match text {
        "quit" => Some(Signal::QUIT),
        "usr1" => Some(Signal::USER1),
        "usr2" => Some(Signal::USER2),
        _ => None,
    }
}

/// `exit`, `cancel`, `report`, `ignore`
pub(super) fn on_deadlock(text: &str) -> Option<OnDeadlock> {
    match text {
        "exit" => Some(OnDeadlock::Exit),
        "cancel" => Some(OnDeadlock::Cancel),
        "report" => Some(OnDeadlock::Report),
        "ignore" => Some(OnDeadlock::Ignore),
        _ => None,
    }
}

/// `127.0.0.1:6060`, `[::1]:0`, `localhost:6060`
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        // Not looked up: what is asked for has to be on this machine, whatever its files say.
        Some(port) => Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()),
        None => text.parse().ok(),
    }
}

/// Digits with at most one point among them: no sign, no exponent, no `inf`.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { text.parse().ok() } else { None }
}

/// The longest duration there is stands for all longer ones.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn text_is_trimmed_and_never_empty() {
        let cases: [(&[u8], Option<&str>); 5] =
            [(b"8", Some("8")), (b" 8\n", Some("8")), (b"", None), (b"  ", None), (b"\xff8", None)];
        for (value, expected) in cases {
            assert_eq!(text(OsStr::from_bytes(value)), expected, "{value:?}");
        }
    }

    #[test]
    fn a_value_is_shown_so_that_one_can_see_it() {
        let cases: [(&[u8], &str); 4] = [
            (b"abc", "abc"),
            (b"", "\"\" (set, but empty)"),
            (b"a b\n", "\"a b\\n\""),
            (b"\xff8", "\"\\xFF8\" (not UTF-8)"),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(OsStr::from_bytes(value)), expected);
        }
    }

    #[test]
    fn whole_numbers_are_digits_and_nothing_else() {
        let cases = [
            ("0", Some(0)),
            ("8", Some(8)),
            ("008", Some(8)),
            ("+8", None),
            ("-8", None),
            ("8.0", None),
            ("8 8", None),
            ("0x8", None),
            ("abc", None),
            ("99999999999999999999999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(whole_number(text), expected, "{text}");
        }
    }

    #[test]
    fn bytes_take_a_suffix() {
        let cases = [
            ("65536", Some(65536)),
            ("64K", Some(65536)),
            ("64k", Some(65536)),
            ("1M", Some(1_048_576)),
            ("2m", Some(2_097_152)),
            ("K", None),
            ("1.5M", None),
            ("1G", None),
            ("64 K", None),
            ("64KB", None),
            ("99999999999999999999M", None),
            ("18446744073709551615M", None),
        ];
        for (text, expected) in cases {
            // `K` alone: an empty number parses as no number.
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn switches_are_zero_or_one() {
        let cases = [("0", Some(false)), ("1", Some(true)), ("yes", None), ("2", None)];
        for (text, expected) in cases {
            assert_eq!(switch(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_are_seconds_unless_they_say_otherwise() {
        let ms = Duration::from_millis;
        let cases = [
            ("10", Some(ms(10_000))),
            ("2.5", Some(ms(2_500))),
            ("2.5s", Some(ms(2_500))),
            (".5", Some(ms(500))),
            ("0", Some(ms(0))),
            ("500ms", Some(ms(500))),
            ("0.5ms", Some(Duration::from_micros(500))),
            ("-1", None),
            ("1e3", None),
            ("inf", None),
            ("nan", None),
            (".", None),
            ("ms", None),
            ("s", None),
            ("1m", None),
            ("1.2.3", None),
            ("999999999999999999999999", Some(Duration::MAX)),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text), expected, "{text}");
        }
    }
}
