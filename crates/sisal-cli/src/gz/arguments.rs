//! The command line: gzip's options, and those of pigz that make sense here.

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsString;
use std::path::PathBuf;

const DEFAULT_LEVEL: u8 = 6;

/// What was said on the command line.
#[derive(Args, Debug)]
#[command(
    about = "Compress or expand files, on all cores: a gzip",
    long_about = "Compress or expand files, on all cores: a gzip.

Each FILE is replaced by one with the suffix .gz, or back, keeping its mode and times. Without FILE, or where FILE is -, \
standard input is compressed to standard output. What is written can be read by gzip, and by everything that reads its files; what is read \
may be in gzip's or zlib's format.",
    after_help = "Exit code: 0 if all is well, 1 after an error, 2 after a warning.

Options are taken from the command line only: the variables GZIP and PIGZ are not heeded.",
    version,
    display_name = "sisal gz",
    infer_long_args = true
)]
pub(crate) struct Arguments {
    /// Files to compress or expand; - is standard input
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(super) files: Vec<PathBuf>,

    /// Expand
    #[arg(short, long, visible_alias = "uncompress")]
    pub(super) decompress: bool,

    /// Write on standard output, and leave the files as they are
    #[arg(short = 'c', long, visible_alias = "to-stdout")]
    pub(super) stdout: bool,

    /// Keep input files
    #[arg(short, long)]
    pub(super) keep: bool,

    /// Overwrite files, follow links, and use terminals; with -dc, copy what is not compressed
    #[arg(short, long)]
    pub(super) force: bool,

    /// Treat the files in directories, too
    #[arg(short, long)]
    pub(super) recursive: bool,

    /// List what compressed files contain (expanding them, to be sure)
    #[arg(short, long)]
    pub(super) list: bool,

    /// Test compressed files
    #[arg(short, long)]
    pub(super) test: bool,

    #[command(flatten)]
    pub(super) level: Level,

    /// Use N workers, from 1 to 1024 [default: one for each CPU this process may use]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) processes: Option<u16>,

    /// Compress in blocks of SIZE, from 32K to 512M: in KiB, or with K or M behind
    #[arg(short, long = "blocksize", value_name = "SIZE", default_value = "128K")]
    pub(super) block_size: String,

    /// Compress blocks without a look at the one before
    #[arg(short, long)]
    pub(super) independent: bool,

    /// Make output that rsync can follow when the input changes a little
    #[arg(short = 'R', long)]
    pub(super) rsyncable: bool,

    /// Do not store the name and time of the file; or do not restore them, as is the default
    #[arg(short, long, overrides_with = "name")]
    pub(super) no_name: bool,

    /// Store the name and time of the file, as is the default; or restore them
    #[arg(short = 'N', long, overrides_with = "no_name")]
    pub(super) name: bool,

    /// Do not store or restore the time of the file, whatever is done with its name
    #[arg(short = 'm', long, overrides_with = "time")]
    pub(super) no_time: bool,

    /// Store or restore the time of the file, whatever is done with its name
    #[arg(short = 'M', long, overrides_with = "no_time")]
    pub(super) time: bool,

    /// Say what is done
    #[arg(short, long, overrides_with = "quiet")]
    pub(super) verbose: bool,

    /// Be silent about warnings, and show no progress
    #[arg(short, long, visible_alias = "silent", overrides_with = "verbose")]
    pub(super) quiet: bool,

    /// Wait until output is on the disk, before its input is removed
    #[arg(short = 'Y', long)]
    pub(super) synchronous: bool,

    /// Use this suffix in place of .gz (.zz for zlib, .deflate for raw data)
    #[arg(short = 'S', long, value_name = "SUFFIX", allow_hyphen_values = true)]
    pub(super) suffix: Option<OsString>,

    /// The compressed data is in zlib's format
    #[arg(short, long, conflicts_with = "raw")]
    pub(super) zlib: bool,

    /// The compressed data is raw deflate
    #[arg(long)]
    pub(super) raw: bool,

    /// Tell under which license this program is
    #[arg(short = 'L', long)]
    pub(super) license: bool,

    // For texts of systems that end lines otherwise, of which this is none.
    #[arg(short, long, hide = true)]
    pub(super) ascii: bool,
}

/// The level: the last that was given counts.
#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "that is what such options are")]
pub(super) struct Level {
    /// Store without compressing
    #[arg(short = '0', overrides_with_all = Level::ALL)]
    level_0: bool,
    /// Compress fast
    #[arg(short = '1', long = "fast", overrides_with_all = Level::ALL)]
    level_1: bool,
    #[arg(short = '2', hide = true, overrides_with_all = Level::ALL)]
    level_2: bool,
    #[arg(short = '3', hide = true, overrides_with_all = Level::ALL)]
    level_3: bool,
    #[arg(short = '4', hide = true, overrides_with_all = Level::ALL)]
    level_4: bool,
    #[arg(short = '5', hide = true, overrides_with_all = Level::ALL)]
    level_5: bool,
    /// Compress as usual; all levels from -0 to -9 can be given
    #[arg(short = '6', overrides_with_all = Level::ALL)]
    level_6: bool,
    #[arg(short = '7', hide = true, overrides_with_all = Level::ALL)]
    level_7: bool,
    #[arg(short = '8', hide = true, overrides_with_all = Level::ALL)]
    level_8: bool,
    /// Compress well
    #[arg(short = '9', long = "best", overrides_with_all = Level::ALL)]
    level_9: bool,
}

impl Level {
    const ALL: [&str; 10] =
        ["level_0", "level_1", "level_2", "level_3", "level_4", "level_5", "level_6", "level_7", "level_8", "level_9"];

    pub(super) fn chosen(&self) -> u8 {
        let given = [
            self.level_0,
            self.level_1,
            self.level_2,
            self.level_3,
            self.level_4,
            self.level_5,
            self.level_6,
            self.level_7,
            self.level_8,
            self.level_9,
        ];
        (0..).zip(given).find_map(|(level, is_given)| is_given.then_some(level)).unwrap_or(DEFAULT_LEVEL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(std::iter::once("gz").chain(line.split_whitespace())).map(|line| line.arguments)
    }

    #[test]
    fn short_options_can_be_joined() {
        let arguments = parse("-dck9 file").unwrap();
        assert!(arguments.decompress && arguments.stdout && arguments.keep);
        assert_eq!(arguments.level.chosen(), 9);
        assert_eq!(arguments.files, [PathBuf::from("file")]);
        assert_eq!(parse("-vp3 -S.x").unwrap().processes, Some(3));
    }

    #[test]
    fn of_several_levels_the_last_counts() {
        assert_eq!(parse("").unwrap().level.chosen(), 6);
        assert_eq!(parse("-19 -3").unwrap().level.chosen(), 3);
        assert_eq!(parse("-99 --fast").unwrap().level.chosen(), 1);
        assert_eq!(parse("-90").unwrap().level.chosen(), 0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in ["-Q", "-p", "-p 0", "-p x", "-p 5000", "--zlib --raw", "--nope"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
