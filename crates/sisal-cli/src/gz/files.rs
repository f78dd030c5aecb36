//! From the command line to single files.

use super::list::Table;
use super::report::{Report, say};
use super::settings::{Action, Settings};
use super::signals::Signals;
use super::source::{Found, Source};
use super::treat::Treatment;
use super::verbatim::{self, verbatim};
use crate::inherited;
use crate::wording::plain;
use std::io::{self, ErrorKind, IsTerminal, Write, stdin, stdout};
use std::path::{Path, PathBuf};

/// One run of the program.
#[derive(Copy, Clone, Debug)]
pub(super) struct Run<'a> {
    pub(super) settings: &'a Settings,
    pub(super) report: &'a Report,
    pub(super) signals: &'a Signals,
}

impl Run<'_> {
    /// Treats all files; standard input if there are none.
    pub(super) fn all(self, files: &[PathBuf]) {
        let mut table = Table::default();
        if files.is_empty() {
            self.stdin(&mut table);
        }
        for file in files {
            if self.is_over() {
                return;
            }
            if is_stdin(file) { self.stdin(&mut table) } else { self.named(file, &mut table) }
        }
        let has_sums = files.len() > 1 && !self.settings.quiet && !self.is_over();
        if let Some(sums) = table.sums(self.settings.verbose).filter(|_| has_sums) {
            self.print(&sums);
        }
    }

    /// Prints on standard output.
    pub(super) fn print(self, text: &str) {
        if let Err(error) = print(text) {
            self.stdout_failed(&error);
        }
    }

    /// Standard output takes no more.
    pub(super) fn stdout_failed(self, error: &io::Error) {
        if error.kind() == ErrorKind::BrokenPipe && !inherited::ignores_broken_pipes() {
            // As a program ends that does not catch the signal: nobody reads, and there is nobody to tell.
            self.signals.end_by_broken_pipe();
        }
        self.report.fatal_error(format_args!("stdout: {}", plain(error)));
    }

    /// Whether no more files are to be treated.
    fn is_over(self) -> bool {
        self.signals.have_come() || self.report.is_over()
    }

    fn stdin(self, table: &mut Table) {
        let Settings { action, force, .. } = *self.settings;
        let (is_terminal, what, how) = match action {
            Action::Compress => (stdout().is_terminal(), "written to", ""),
            _ => (stdin().is_terminal(), "read from", "de"),
        };
        if is_terminal && !force {
            self.report.error(format_args!(
                "compressed data not {what} a terminal. Use -f to force {how}compression.\nFor help, type: sisal gz -h"
            ));
            return;
        }
        match Source::stdin() {
            Ok(source) => Treatment { run: self, source, to_stdout: true }.apply(table),
            Err(error) => self.report.error(format_args!("stdin: {}", plain(&error))),
        }
    }

    /// A file or directory that was named on the command line, and all that is found in there, each directory by name.
    ///
    /// They may be so deep that a call for each level would not fit on the stack.
    fn named(self, path: &Path, table: &mut Table) {
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            if self.is_over() {
                return;
            }
            match Source::find(&path, self.settings, self.report) {
                Found::Nothing => {}
                Found::Directory if self.settings.recursive => pending.extend(self.entries(&path).into_iter().rev()),
                Found::Directory => self.report.warning(format_args!("{} is a directory -- ignored", verbatim(&path))),
                Found::File(source) => self.file(*source, table),
            }
        }
    }

    fn file(self, source: Source, table: &mut Table) {
        let Settings { action, to_stdout, force, .. } = *self.settings;
        if action == Action::Compress && to_stdout && stdout().is_terminal() && !force {
            let message = "compressed data not written to a terminal. Use -f to force compression.";
            return self.report.error(format_args!("{message}\nFor help, type: sisal gz -h"));
        }
        Treatment { run: self, source, to_stdout }.apply(table);
    }

    /// Everything in a directory, by name.
    fn entries(self, path: &Path) -> Vec<PathBuf> {
        let entries = sisal::fs::read_dir(path).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut paths: Vec<PathBuf> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) => {
                self.report.error(format_args!("{}: {}", verbatim(&path), plain(&error)));
                return Vec::new();
            }
        };
        paths.sort();
        paths
    }
}

/// Prints on standard output, all of it now.
pub(super) fn print(text: &str) -> io::Result<()> {
    inherited::check_stdout()?;
    let mut stdout = stdout();
    stdout.write_all(&verbatim::bytes(text))?;
    stdout.flush()
}

/// Whether this stands for standard input.
pub(super) fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// Prints something of one file, if that is wanted.
pub(super) fn tell(settings: &Settings, message: impl std::fmt::Display) {
    if settings.verbose {
        say(message);
    }
}
