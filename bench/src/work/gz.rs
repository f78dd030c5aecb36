//! A large text, compressed or expanded by a program, or by what does the same in this process.
//!
//! The text is the source code in cargo's registry, in the order of its names, as often as it takes. It and what
//! it is compressed to lie in the directory for temporary files, and stay there for the next round. Output goes to
//! a file beside them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::companions;
use crate::measure::{Stopwatch, children_cpu_time};
use crate::sample::{Absent, Outcome, Sample};

/// What makes a file of the registry part of the text.
const TEXTS: [&str; 5] = ["rs", "md", "c", "h", "toml"];
const MB: f64 = 1e6;

/// One way of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gz {
    /// The size of the text.
    pub bytes: usize,
    /// Whether it is expanded rather than compressed.
    pub expands: bool,
    /// Worker threads.
    pub workers: usize,
}

impl Gz {
    /// Clocks a program that reads the file it is told last, and writes standard output.
    pub fn program(self, command: &mut Command) -> Outcome {
        self.clocked(|input, output| {
            let output = File::create(output)?;
            let cpu = children_cpu_time();
            let status = command.arg(input).stdin(Stdio::null()).stdout(output).status()?;
            if !status.success() {
                return Err(io::Error::other(format!("it fails: {status}")));
            }
            Ok(Some(children_cpu_time() - cpu))
        })
    }

    /// Clocks what reads the one file and writes the other, in this process.
    pub fn in_process(self, work: impl FnOnce(File, File) -> io::Result<()>) -> Outcome {
        self.clocked(|input, output| work(File::open(input)?, File::create(output)?).map(|()| None))
    }

    /// Megabytes of text in a second. The CPU time is this process's, unless `work` knows better.
    fn clocked(self, work: impl FnOnce(&Path, &Path) -> io::Result<Option<std::time::Duration>>) -> Outcome {
        let text = self.text().map_err(Absent::from_error)?;
        let input = if self.expands { self.packed(&text)? } else { text };
        let output = std::env::temp_dir().join(format!("sisal-bench-gz-{}", std::process::id()));
        let watch = Stopwatch::start();
        let cpu = work(&input, &output);
        let spent = watch.stop();
        let size = fs::metadata(&output).map(|metadata| metadata.len());
        // What can't be removed is in the directory for temporary files.
        let _ = fs::remove_file(&output);
        let cpu = cpu.map_err(Absent::from_error)?.unwrap_or(spent.cpu);
        let size = size.map_err(Absent::from_error)?;
        if self.expands && size != self.bytes as u64 {
            return Err(Absent::new(format!("it has made {size} bytes of {}", self.bytes)));
        }
        let megabytes = self.bytes as f64 / MB;
        let sample = Sample::new(megabytes / spent.wall.as_secs_f64(), cpu.as_nanos() as f64 / 1e6);
        Ok(if self.expands { sample } else { sample.with("size", size as f64 / MB) })
    }

    /// The file with the text.
    fn text(self) -> io::Result<PathBuf> {
        let path = std::env::temp_dir().join(format!("sisal-bench-text-{}", self.bytes));
        if !fs::metadata(&path).is_ok_and(|metadata| metadata.len() == self.bytes as u64) {
            put(&path, |file| write_text(file, self.bytes))?;
        }
        Ok(path)
    }

    /// The text as everybody has to expand it.
    fn packed(self, text: &Path) -> Result<PathBuf, Absent> {
        let path = text.with_extension("gz");
        if !path.exists() {
            let program = companions::tool().map_err(Absent::new)?;
            let pack = |file: File| {
                let status = Command::new(&program).args(["gz", "-cn"]).arg(text).stdout(file).status()?;
                if status.success() { Ok(()) } else { Err(io::Error::other("the text can't be compressed")) }
            };
            put(&path, pack).map_err(Absent::from_error)?;
        }
        Ok(path)
    }
}

/// Makes a file that is there as a whole or not at all.
fn put(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let partial = path.with_extension(format!("{}", std::process::id()));
    let written = File::create(&partial).and_then(write).and_then(|()| fs::rename(&partial, path));
    written.inspect_err(|_| drop(fs::remove_file(&partial)))
}

/// Writes source code until there are so many bytes of it.
fn write_text(mut file: File, mut bytes: usize) -> io::Result<()> {
    let mut sources = Vec::new();
    collect(&registry()?, &mut sources)?;
    sources.sort();
    if sources.is_empty() {
        return Err(io::Error::other("there is no source code in cargo's registry"));
    }
    for source in sources.iter().cycle() {
        let mut content = fs::read(source)?;
        content.truncate(bytes);
        file.write_all(&content)?;
        bytes -= content.len();
        if bytes == 0 {
            return Ok(());
        }
    }
    Ok(())
}

fn registry() -> io::Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    home.map(|home| home.join("registry/src")).ok_or_else(|| io::Error::other("there is no home directory"))
}

/// All texts below a directory.
fn collect(directory: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            collect(&path, into)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| TEXTS.iter().any(|text| end == *text)) {
            into.push(path);
        }
    }
    Ok(())
}
