//! A file that is there whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// So many links are followed, as Linux does.
const MOST_LINKS: usize = 40;

/// Writes a file by way of another beside it, which then takes its name. What is no plain file, such as a terminal or a pipe, is written
/// directly, and so is what a name such as `/dev/stderr` stands for, where the process itself goes on to write; where a link leads is what is replaced, not the link, even if
/// nothing is there yet. What is replaced keeps its mode.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(there) if !there.is_file() => fill(File::options().write(true).open(path)?, write),
        Ok(_) if let Some(name) = descriptor(path) => fill(open_descriptor(&name)?, write),
        Ok(there) => replace_plain(&fs::canonicalize(path)?, Some(there.permissions()), write),
        Err(_) => replace_plain(&end_of_links(path), None, write),
    }
}

fn replace_plain(
    path: &Path,
    mode: Option<Permissions>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let beside = beside(path);
    let create = || {
        let file = File::create_new(&beside)?;
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
        Ok(file)
    };
    let written = create().and_then(|file| fill(file, write)).and_then(|()| fs::rename(&beside, path));
    if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        // It may not be there at all.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// If this names what a process has open already, and not a file to be replaced: that name, without links.
fn descriptor(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = fs::canonicalize(path.parent()?).ok()?;
        if folder.ends_with("fd") && folder.starts_with("/proc") {
            return Some(folder.join(path.file_name()?));
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// The own standard streams as they are, since what comes next there is to come behind; what else is open at its end.
fn open_descriptor(name: &Path) -> io::Result<File> {
    let of_us = |number: &str| fs::canonicalize("/proc/self/fd").is_ok_and(|folder| folder.join(number) == name);
    if of_us("1") {
        io::stdout().flush()?;
        return Ok(io::stdout().as_fd().try_clone_to_owned()?.into());
    }
    if of_us("2") {
        return Ok(io::stderr().as_fd().try_clone_to_owned()?.into());
    }
    File::options().append(true).open(name)
}

/// Where links lead that end at nothing.
fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

fn fill(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    writer.flush()
}

/// A name in the same directory that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{}.part", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    path.with_file_name(name)
}
