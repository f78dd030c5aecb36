//! One file, from the decision where its result goes to what is done when that is there.

use super::compress::{Plan, compress};
use super::expand::{Content, Expanded, expand, read_chunk};
use super::failure::Failure;
use super::files::{Run, tell};
use super::header::{Format, Origin};
use super::intake::{Chunks, Intake};
use super::list::{Table, ratio};
use super::members::{self, Beginning, Rest};
use super::names;
use super::progress::{Meter, shown};
use super::settings::{Action, Settings};
use super::source::Source;
use super::target::{self, Target, Way, make_way};
use super::verbatim::verbatim;
use crate::inherited;
use crate::wording::plain;
use sisal::fs::File;
use std::io::{self, stdout};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file, and what is to be done with it.
pub(super) struct Treatment<'a> {
    pub(super) run: Run<'a>,
    pub(super) source: Source,
    /// Whether the result goes to standard output.
    pub(super) to_stdout: bool,
}

/// Where the result goes.
enum Output<'a> {
    Target(Target<'a>, PathBuf),
    Stdout(File),
}

impl Output<'_> {
    fn file(&self) -> &File {
        match self {
            Output::Target(target, _) => target.file(),
            Output::Stdout(file) => file,
        }
    }
}

/// It was not done, and that has been said.
struct Told;

impl<'a> Treatment<'a> {
    /// Does it, and tells what there is to tell.
    pub(super) fn apply(&self, table: &mut Table) {
        // Whatever went wrong has been told, and the next file may be better.
        let _told: Result<(), Told> = match self.run.settings.action {
            Action::Compress => self.compress(),
            Action::Expand => self.expand(),
            Action::Test => self.test(),
            Action::List => self.list(table),
        };
    }

    fn compress(&self) -> Result<(), Told> {
        let settings = self.run.settings;
        let output = self.output(|path| match names::present_suffix(path, &settings.suffix) {
            Some(suffix) if !settings.force => Err(format!("already has {} suffix -- unchanged", verbatim(&suffix))),
            _ => Ok(names::with_suffix(path, &settings.suffix)),
        })?;
        let plan = Plan {
            format: settings.format.unwrap_or(Format::Gzip),
            level: settings.level,
            cutting: settings.cutting,
            workers: sisal::Handle::current().map_or(1, |runtime| runtime.base_workers()),
        };
        let meter = Meter::new(self.source.size());
        let origin = self.origin(plan.format);
        let totals = shown(self.shows_progress(Some(&output)), &self.source, &meter, || {
            compress(self.source.input(), output.file(), &plan, &origin, &meter)
        });
        let totals = totals.map_err(|failure| self.tell(failure, Some(&output)))?;
        let saved = i128::from(totals.read) - (i128::from(totals.written) - i128::from(totals.wrapping));
        let keep = settings.keep || !self.is_all_there(totals.read, &output);
        self.finish(output, None, &ratio(saved, totals.read), keep)
    }

    /// Whether what was read is as much as there was to read, by what the file said before. If not, tells it.
    fn is_all_there(&self, read: u64, output: &Output<'_>) -> bool {
        let is_it = self.source.size().is_none_or(|size| size == read);
        let message = format!("{}: file size changed while zipping", self.source);
        match output {
            _ if is_it => {}
            Output::Target(..) if !self.run.settings.keep => {
                self.run.report.warning(format_args!("{message} -- not removed"));
            }
            // No more than told: there are files that never know their size.
            _ => self.run.report.notice(message),
        }
        is_it
    }

    /// What the header tells of the file.
    fn origin(&self, format: Format) -> Origin {
        let Settings { names, times, .. } = *self.run.settings;
        let metadata = &self.source.metadata;
        let time = if times && format == Format::Gzip && metadata.is_file() { self.time() } else { 0 };
        Origin { name: self.source.path.as_deref().filter(|_| names).and_then(names::in_header), time }
    }

    /// When the file was changed last, as headers have it. A time that does not fit in there, zero among them, is told on standard error only.
    fn time(&self) -> u32 {
        let since = self.source.metadata.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
        let time = since.and_then(|since| u32::try_from(since.as_secs()).ok()).unwrap_or(0);
        if time == 0 {
            let message = "warning: file timestamp out of range for gzip format";
            self.run.report.warning(format_args!("{}: {message}", self.source));
        }
        time
    }

    fn expand(&self) -> Result<(), Told> {
        let settings = self.run.settings;
        if !self.to_stdout {
            self.check_suffix()?;
        }
        let (intake, content, origin) = self.begin(settings.force && self.to_stdout)?;
        let output = self.output(|path| {
            let plain = names::without_suffix(path, &settings.suffix);
            let plain = plain.unwrap_or_else(|| unreachable!("INVARIANT: there is a suffix, or we would not be here"));
            let restored = origin.name.as_deref().filter(|_| settings.names);
            Ok(restored.and_then(|name| names::restored(path, name)).unwrap_or(plain))
        })?;
        let expanded = self.run_through(intake, content, Some(&output))?;
        let totals = &expanded.totals;
        let saved = i128::from(totals.written) - (i128::from(totals.read) - i128::from(totals.wrapping));
        let modified = (settings.times && origin.time != 0).then(|| after_epoch(origin.time));
        self.finish(output, modified, &ratio(saved, totals.written), settings.keep)
    }

    /// Passes over a file whose name is not that of a compressed one. Before anything is read: nobody may have wanted it to be expanded.
    fn check_suffix(&self) -> Result<(), Told> {
        match &self.source.path {
            Some(path) if names::without_suffix(path, &self.run.settings.suffix).is_none() => {
                if self.is_to_be_told() {
                    self.run.report.warning(format_args!("{}: unknown suffix -- ignored", verbatim(&path)));
                }
                Err(Told)
            }
            _ => Ok(()),
        }
    }

    /// The same for those that are only looked at: who names one means it, but a directory has others in it.
    fn check_suffix_in_directories(&self) -> Result<(), Told> {
        if self.run.settings.recursive { self.check_suffix() } else { Ok(()) }
    }

    fn test(&self) -> Result<(), Told> {
        self.check_suffix_in_directories()?;
        // As it would be expanded to standard output.
        let (intake, content, _) = self.begin(self.run.settings.force)?;
        self.run_through(intake, content, None)?;
        let prefix = self.source.path.as_ref().map_or(String::new(), |path| format!("{}:\t", verbatim(&path)));
        tell(self.run.settings, format_args!("{prefix} OK\n"));
        Ok(())
    }

    fn list(&self, table: &mut Table) -> Result<(), Told> {
        let settings = self.run.settings;
        self.check_suffix_in_directories()?;
        let (intake, content, origin) = self.begin(false)?;
        let expanded = self.run_through(intake, content, None)?;
        let name = match &self.source.path {
            None => "stdout".into(),
            Some(path) => {
                let plain = names::without_suffix(path, &settings.suffix).unwrap_or_else(|| path.clone());
                let restored = origin.name.as_deref().filter(|_| settings.names);
                restored.and_then(|name| names::restored(path, name)).unwrap_or(plain)
            }
        };
        let time = match origin.time {
            seconds if settings.times && seconds != 0 => after_epoch(seconds),
            _ => self.source.metadata.modified().unwrap_or(UNIX_EPOCH),
        };
        let row = table.row(&expanded, &verbatim(&name).to_string(), time, settings);
        self.run.print(&row);
        Ok(())
    }

    /// Reads what the input begins with.
    fn begin(&self, plain: bool) -> Result<(Intake<impl Chunks>, Content, Origin), Told> {
        let input = self.source.input();
        let mut intake = Intake::new(Vec::new(), move || read_chunk(input));
        let beginning = members::begin(&mut intake, self.run.settings.format, plain);
        let (content, origin) = match beginning.map_err(|failure| self.tell(failure, None))? {
            Beginning::Member { format, origin, header } => (Content::Members { format, header, plain }, origin),
            Beginning::Plain(start) => (Content::Plain(start), Origin::default()),
        };
        Ok((intake, content, origin))
    }

    /// Expands all that is left.
    fn run_through(
        &self,
        intake: Intake<impl Chunks>,
        content: Content,
        output: Option<&Output<'_>>,
    ) -> Result<Expanded, Told> {
        let meter = Meter::new(self.source.size());
        let expanded = shown(self.shows_progress(output), &self.source, &meter, || {
            expand(self.source.input(), intake, content, output.map(Output::file), &meter)
        });
        let expanded = expanded.map_err(|failure| self.tell(failure, output))?;
        let rest = match expanded.rest {
            Rest::Garbage => "garbage",
            Rest::Zeros if self.run.settings.verbose => "zero bytes",
            _ => return Ok(expanded),
        };
        self.run.report.warning(format_args!("{}: decompression OK, trailing {rest} ignored", self.source));
        Ok(expanded)
    }

    /// Whether a bar is wanted. In between what another program prints, or we do, it would be in the way: not if the result goes to a terminal or a pipe.
    fn shows_progress(&self, output: Option<&Output<'_>>) -> bool {
        let is_quiet = match output {
            Some(Output::Stdout(file)) => file.metadata().is_ok_and(|metadata| metadata.is_file()),
            _ => true,
        };
        is_quiet && self.run.settings.shows_progress
    }

    /// Where the result goes: standard output, or the file whose name is made from that of the source.
    fn output(&self, name: impl FnOnce(&Path) -> Result<PathBuf, String>) -> Result<Output<'a>, Told> {
        let Some(path) = self.source.path.as_deref().filter(|_| !self.to_stdout) else {
            let file = inherited::check_stdout().and_then(|()| stdout().as_fd().try_clone_to_owned());
            return file.map(|file| Output::Stdout(file.into())).map_err(|error| {
                self.run.stdout_failed(&error);
                Told
            });
        };
        let target = name(path).map_err(|reason| {
            if self.is_to_be_told() {
                self.run.report.notice(format_args!("{} {reason}", verbatim(&path)));
            }
            Told
        })?;
        let way = make_way(&target, &self.source.metadata, self.run.settings.force);
        match way.map_err(|error| self.failed(&verbatim(&target).to_string(), &error))? {
            Way::Free => {}
            Way::Taken => {
                self.run.report.note_warning();
                return Err(Told);
            }
            Way::Source => {
                let (source, target) = (verbatim(&path), verbatim(&target));
                self.run.report.error(format_args!("{source} and {target} are the same file"));
                return Err(Told);
            }
        }
        let made = Target::create(&target, self.run.signals.unfinished());
        let made = made.map_err(|error| self.failed(&verbatim(&target).to_string(), &error))?;
        Ok(Output::Target(made, target))
    }

    /// Keeps the output, and removes the input unless that is to be kept.
    fn finish(&self, output: Output<'_>, modified: Option<SystemTime>, ratio: &str, keep: bool) -> Result<(), Told> {
        let settings = self.run.settings;
        let done = if keep { "created" } else { "replaced with" };
        let (target, name) = match output {
            Output::Target(target, name) => (target, name),
            Output::Stdout(file) => {
                target::close(file).map_err(|error| {
                    self.run.stdout_failed(&error);
                    Told
                })?;
                let text = match &self.source.path {
                    Some(path) => format!("{}:\t{ratio} -- {done} stdout\n", verbatim(&path)),
                    None => format!("{ratio}\n"),
                };
                tell(settings, text);
                return Ok(());
            }
        };
        let is_alike = target.make_like(&self.source.metadata, modified);
        let is_stored = if settings.synchronous { target.store(&name) } else { Ok(()) };
        is_stored.and_then(|()| target.keep()).map_err(|error| self.failed(&verbatim(&name).to_string(), &error))?;
        if let Err(error) = is_alike {
            self.run.report.warning(format_args!("{}: {}", verbatim(&name), plain(&error)));
        }
        tell(settings, format_args!("{}:\t{ratio} -- {done} {}\n", self.source, verbatim(&name)));
        if let Some(path) = self.source.path.as_deref().filter(|_| !keep)
            && let Err(error) = sisal::fs::remove_file(path)
        {
            self.run.report.warning(format_args!("{}: {}", verbatim(&path), plain(&error)));
        }
        Ok(())
    }

    /// Whether to say that the file is left alone since its name is not that of a file to treat. In a directory, such files are passed over in
    /// silence, and who wants no warnings means the others.
    fn is_to_be_told(&self) -> bool {
        self.run.settings.verbose || !(self.run.settings.recursive || self.run.settings.quiet)
    }

    fn failed(&self, name: &str, error: &io::Error) -> Told {
        self.run.report.error(format_args!("{name}: {}", plain(error)));
        Told
    }

    /// Says why it was not done.
    fn tell(&self, failure: Failure, output: Option<&Output<'_>>) -> Told {
        let source = self.source.to_string();
        match (failure, output) {
            (Failure::Input(error), _) => self.failed(&source, &error),
            (Failure::Output(error), Some(Output::Target(_, name))) => {
                self.failed(&verbatim(&name).to_string(), &error)
            }
            (Failure::Output(error), _) => {
                self.run.stdout_failed(&error);
                Told
            }
            (Failure::Data(defect), _) => {
                self.run.report.error(format_args!("{source}{defect}"));
                Told
            }
            // By a signal, which the exit code tells of.
            (Failure::Ended, _) => Told,
        }
    }
}

/// So many seconds after 1970 began.
fn after_epoch(seconds: u32) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::from(seconds))
}
