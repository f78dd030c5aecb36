//! `sisal gz`: a gzip that compresses with all workers.
//!
//! | file | what it owns |
//! |---|---|
//! | [`arguments`] | the command line; [`settings`]: what it means; [`license`]: what it may ask instead |
//! | [`files`] | from the command line to single files: directories, standard input |
//! | [`treat`] | one file: may it be treated, where does the result go, what is done afterwards |
//! | [`source`] | the file that is read: opening it, and whether it may be treated; [`input`]: reading it |
//! | [`target`] | the file that is written, and is removed if it does not become whole; [`unfinished`]: who knows of it; [`names`]: what it is called |
//! | [`compress`] | the pipeline that compresses; [`blocks`]: how input is cut; [`engine`]: one block |
//! | [`expand`] | the pipeline that expands; [`intake`]: its input; [`members`]: what follows what in there |
//! | [`header`] | headers and trailers of the formats; [`checksum`]: what the trailers check |
//! | [`list`] | the table of `-l`; [`date`]: the time in there; [`progress`]: the bar on a terminal |
//! | [`report`] | messages and the exit code; [`verbatim`]: names in there; [`failure`]: why a file was not treated; [`signals`]: how they end us |
//!
//! # Both ways
//! A file is treated in one nursery: a fiber reads, and the nursery's body writes. What is between them holds a bounded number
//! of blocks, so memory does not grow with the file. The first of them to fail cancels the rest, and when all have ended, the partial output
//! is removed. A signal does the same, since it cancels all that is waited for.

mod arguments;
mod blocks;
mod checksum;
mod compress;
mod date;
mod engine;
mod expand;
mod failure;
mod files;
mod header;
mod input;
mod intake;
mod license;
mod list;
mod members;
mod names;
mod progress;
mod report;
mod settings;
mod signals;
mod source;
mod spares;
mod target;
mod treat;
mod unfinished;
mod verbatim;

pub(crate) use arguments::Arguments;

use files::Run;
use report::Report;
use settings::Settings;
use signals::Signals;
use std::process::ExitCode;

/// The name in messages.
const PROGRAM: &str = "sisal gz";

/// The whole program.
pub(crate) fn main(arguments: Arguments) -> ExitCode {
    let report = Report::new(arguments.quiet);
    if arguments.license {
        license::tell(&report);
        return report.exit_code();
    }
    if arguments.ascii {
        report.notice("option --ascii ignored on this system");
    }
    let settings = match Settings::of(&arguments) {
        Ok(settings) => settings,
        Err(reason) => {
            report.error(reason);
            return report.exit_code();
        }
    };
    let names_files = arguments.files.iter().any(|file| !files::is_stdin(file));
    let signals = match Signals::watch(settings.writes_files() && names_files) {
        Ok(signals) => signals,
        Err(error) => {
            report.error(format_args!("can't listen to signals: {error}"));
            return report.exit_code();
        }
    };
    // What the environment says is for others: with two fibers, or one thread that may block, nobody could compress for those who read and write.
    let runtime = sisal::Runtime::builder().ignore_environment().name("sisal-gz");
    let runtime = settings.workers.into_iter().fold(runtime, |runtime, workers| {
        // As many as were asked for, and no more, however long a block takes.
        runtime.workers(workers).max_workers(workers)
    });
    let run = Run { settings: &settings, report: &report, signals: &signals };
    if let Err(error) = runtime.run(|| signals.run(|| run.all(&arguments.files))) {
        report.error(error);
    }
    signals.end_if_asked_to();
    report.exit_code()
}
