//! How a process that serves is found by its number: a file `PID` in a folder that only its user can look into, with one line
//! `ADDR TOKEN`, the token empty if there is none.
//!
//! A process may have several servers. The file names the one that has served longest, and goes with the last.

use crate::inspect::asked::Token;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The servers of this process, longest first.
static SERVERS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

struct Entry {
    number: u64,
    process: u32,
    line: String,
}

/// A server's claim to be found. It ends when dropped.
#[derive(Debug)]
pub(super) struct PidFile {
    number: u64,
    process: u32,
}

impl PidFile {
    /// Makes a server known. If that fails it serves all the same, which is said.
    pub(super) fn write(address: SocketAddr, token: Option<&Token>) -> PidFile {
        let process = std::process::id();
        let line = format!("{address} {}\n", token.map_or("", Token::as_str));
        let mut servers = servers();
        // Those of the process that this one was forked from are not ours.
        servers.retain(|entry| entry.process == process);
        let number = servers.last().map_or(0, |entry| entry.number + 1);
        servers.push(Entry { number, process, line });
        if servers.len() == 1
            && let Err(error) = write(&servers[0].line)
        {
            eprintln!("sisal: serving at {address}, but not to be found by process number: {error}");
        }
        PidFile { number, process }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let mut servers = servers();
        servers.retain(|entry| entry.number != self.number);
        let _ = match servers.first() {
            Some(next) => write(&next.line),
            None => fs::remove_file(folder().join(std::process::id().to_string())),
        };
    }
}

fn servers() -> MutexGuard<'static, Vec<Entry>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the line in place as a whole: whoever looks finds the line before or this one.
fn write(line: &str) -> io::Result<()> {
    let folder = folder();
    make_private(&folder)?;
    let (file, draft) = (folder.join(std::process::id().to_string()), folder.join(format!(".{}", std::process::id())));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&draft)?.write_all(line.as_bytes())?;
    fs::rename(draft, file)
}

fn folder() -> PathBuf {
    folder_for(std::env::var_os("XDG_RUNTIME_DIR"), rustix::process::geteuid().as_raw())
}

/// The user's own folder if there is one, and else one in `/tmp`, where others could have made it before.
fn folder_for(runtime_dir: Option<OsString>, user: u32) -> PathBuf {
    match runtime_dir.map(PathBuf::from) {
        // As its specification demands, relative ones don't count.
        Some(runtime_dir) if runtime_dir.is_absolute() => runtime_dir.join("sisal"),
        _ => PathBuf::from(format!("/tmp/sisal-{user}")),
    }
}

/// Makes the folder, or makes sure that it is nobody else's.
fn make_private(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Of the thing itself: a link could lead anywhere.
    let found = fs::symlink_metadata(folder)?;
    let is_private = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_private {
        return Ok(());
    }
    let text = format!("{} is not a folder that belongs to this user alone (mode 0700)", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_follows_the_environment() {
        assert_eq!(folder_for(Some("/run/user/7".into()), 7), Path::new("/run/user/7/sisal"));
        for none in [None, Some("".into()), Some("relative".into())] {
            assert_eq!(folder_for(none, 7), Path::new("/tmp/sisal-7"));
        }
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let base = std::env::temp_dir().join(format!("sisal-pid-file-{}", std::process::id()));
        make_private(&base).unwrap();
        make_private(&base).unwrap();
        let open = base.join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(&open).unwrap_err().to_string().contains("mode 0700"));
        let link = base.join("link");
        std::os::unix::fs::symlink(&base, &link).unwrap();
        assert_eq!(make_private(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::write(base.join("file"), "").unwrap();
        assert_eq!(make_private(&base.join("file")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(base).unwrap();
    }
}
