//! A file that is there whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// So many links are followed, as Linux does.
const MOST_LINKS: usize = 40;

/// Writes a file by way of another beside it, which then takes its name. What is no plain file, such as a terminal or a pipe, is written
/// directly, and so is what a name such as `/dev/stderr` stands for, behind what is there; where a link leads is what is replaced, not the link, even if
/// nothing is there yet. What is replaced keeps its mode.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(there) if !there.is_file() => fill(File::options().write(true).open(path)?, write),
        Ok(_) if is_descriptor(path) => fill(File::options().append(true).open(path)?, write),
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

/// Whether this names what the process has open already, and not a file to be replaced.
fn is_descriptor(path: &Path) -> bool {
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let leads_there = |path: &Path| {
        fs::canonicalize(folder(path)).is_ok_and(|folder| folder.ends_with("fd") && folder.starts_with("/proc"))
    };
    leads_there(path) || fs::read_link(path).is_ok_and(|to| leads_there(&folder(path).join(to)))
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
