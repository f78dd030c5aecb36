//! What the command line means.

use super::arguments::Arguments;
use super::blocks::{Cutting, DICTIONARY};
use super::header::Format;
use super::verbatim::verbatim;
use crate::terminal;
use std::ffi::OsString;
use std::io::{IsTerminal, stderr};

const KIB: u64 = 1 << 10;
/// The largest block: with more, a state for each worker would be memory for its own sake.
const LARGEST_BLOCK: u64 = 512 << 20;
/// The longest suffix that gzip takes.
const LONGEST_SUFFIX: usize = 30;

/// What is to be done with each file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Compress,
    Expand,
    Test,
    List,
}

/// All that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) action: Action,
    /// Of compressed data. If it is not given, gzip is written, and gzip and zlib are read.
    pub(super) format: Option<Format>,
    pub(super) level: u8,
    pub(super) cutting: Cutting,
    /// If not given, the runtime decides.
    pub(super) workers: Option<usize>,
    pub(super) to_stdout: bool,
    pub(super) keep: bool,
    pub(super) force: bool,
    pub(super) recursive: bool,
    /// Whether to store the name, or to restore it.
    pub(super) names: bool,
    /// The same for the time.
    pub(super) times: bool,
    /// Whether output has to be on the disk before its input is removed.
    pub(super) synchronous: bool,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) suffix: OsString,
    pub(super) shows_progress: bool,
}

impl Settings {
    /// What these arguments mean, or why they mean nothing.
    pub(super) fn of(arguments: &Arguments) -> Result<Settings, String> {
        let action = match arguments {
            Arguments { list: true, .. } => Action::List,
            Arguments { test: true, .. } => Action::Test,
            Arguments { decompress: true, .. } => Action::Expand,
            _ => Action::Compress,
        };
        let format = match arguments {
            Arguments { zlib: true, .. } => Some(Format::Zlib),
            Arguments { raw: true, .. } => Some(Format::Raw),
            _ => None,
        };
        // Names and times are stored unless that is unwanted, and restored only if it is wanted.
        let names = if action == Action::Compress { !arguments.no_name } else { arguments.name };
        let times = match arguments {
            Arguments { no_time: true, .. } => false,
            Arguments { time: true, .. } => true,
            _ => names,
        };
        let cutting = Cutting {
            size: block_size(&arguments.block_size)?,
            independent: arguments.independent,
            rsyncable: arguments.rsyncable,
        };
        Ok(Settings {
            action,
            format,
            level: arguments.level.chosen(),
            cutting,
            workers: arguments.processes.map(|workers| workers as usize),
            to_stdout: arguments.stdout,
            keep: arguments.keep,
            force: arguments.force,
            recursive: arguments.recursive,
            names,
            times,
            synchronous: arguments.synchronous,
            verbose: arguments.verbose,
            quiet: arguments.quiet,
            suffix: suffix(arguments.suffix.as_ref(), format)?,
            shows_progress: !arguments.quiet && stderr().is_terminal() && !terminal::is_dumb(),
        })
    }

    /// Whether files are made that must not be left half written.
    pub(super) fn writes_files(&self) -> bool {
        !self.to_stdout && matches!(self.action, Action::Compress | Action::Expand)
    }
}

fn suffix(given: Option<&OsString>, format: Option<Format>) -> Result<OsString, String> {
    let Some(suffix) = given else { return Ok(format.unwrap_or(Format::Gzip).suffix().into()) };
    let is_possible =
        !suffix.is_empty() && suffix.len() <= LONGEST_SUFFIX && !suffix.as_encoded_bytes().contains(&b'/');
    if is_possible { Ok(suffix.clone()) } else { Err(format!("invalid suffix '{}'", verbatim(&suffix))) }
}

/// Reads a size: in KiB as in pigz, or with a unit.
fn block_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" | "k" | "K" | "KiB" => KIB,
        "m" | "M" | "MiB" => KIB << 10,
        _ => return Err(format!("invalid block size '{text}': a number of KiB, or one with K or M behind, is wanted")),
    };
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match size {
        Some(size) if (DICTIONARY as u64..=LARGEST_BLOCK).contains(&size) => Ok(size as usize),
        _ => Err(format!("invalid block size '{text}': it may be from 32K to 512M")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_kibibytes_or_have_a_unit() {
        assert_eq!(block_size("128"), Ok(128 << 10));
        assert_eq!(block_size("64K"), Ok(64 << 10));
        assert_eq!(block_size("1M"), Ok(1 << 20));
        for bad in ["", "K", "0", "31", "513M", "12x", "-5", "99999999999999999999", "1 M"] {
            assert!(block_size(bad).is_err(), "{bad}");
        }
    }
}
