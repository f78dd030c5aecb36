//! How a process that serves is found by its number: a file `PID` in a folder that only its user can look into, with one line
//! `ADDR TOKEN STARTED`, the token empty if there is none. The last is when the process started, in the words of `/proc/PID/stat`: the file
//! of a killed process is not to be taken for that of another who got its number. `sisal-cli/src/remote/entry.rs` reads it.
//!
//! A process may have several servers. The file names the one that has served longest, and goes with the last.

use crate::inspect::asked::Token;
use crate::prim::say::say;
use rustix::fs::{AtFlags, Mode, OFlags, fstat, open, openat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
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
        let line = format!("{address} {} {}\n", token.map_or("", Token::as_str), started());
        let mut servers = servers();
        // Those of the process that this one was forked from are not ours.
        servers.retain(|entry| entry.process == process);
        let number = servers.last().map_or(0, |entry| entry.number + 1);
        servers.push(Entry { number, process, line });
        if servers.len() == 1
            && let Err(error) = write(&servers[0].line)
        {
            say(format_args!("sisal: serving at {address}, but not to be found by process number: {error}\n"));
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
            None => remove(),
        };
    }
}

fn servers() -> MutexGuard<'static, Vec<Entry>> {
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts the line in place as a whole: whoever looks finds the line before or this one.
fn write(line: &str) -> io::Result<()> {
    let folder = open_private(&folder())?;
    let (file, draft) = names();
    // One that a killed process of our number has left.
    let _ = unlinkat(&folder, &draft, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut written = fs::File::from(openat(&folder, &draft, flags, Mode::from_raw_mode(0o600))?);
    written.write_all(line.as_bytes())?;
    Ok(renameat(&folder, draft, &folder, file)?)
}

fn remove() -> io::Result<()> {
    Ok(unlinkat(open_private(&folder())?, names().0, AtFlags::empty())?)
}

/// The file, and its draft.
fn names() -> (String, String) {
    let process = std::process::id();
    (process.to_string(), format!(".{process}"))
}

/// When this process started, as the system counts it; empty if it does not say.
fn started() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program is in brackets, and may have blanks and brackets in it. Behind it comes the third field.
    stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(22 - 3)).unwrap_or_default().to_owned()
}

fn folder() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    folder_for(std::env::var_os("XDG_RUNTIME_DIR"), user)
}

/// The user's own folder if there is one, and else one in `/tmp`, where others could have made it before.
fn folder_for(runtime_dir: Option<OsString>, user: u32) -> PathBuf {
    let runtime_dir = runtime_dir.map(PathBuf::from);
    match runtime_dir.filter(|runtime_dir| is_own(runtime_dir, user)) {
        Some(runtime_dir) => runtime_dir.join("sisal"),
        None => PathBuf::from(format!("/tmp/sisal-{user}")),
    }
}

/// Whether nobody else can put things there: `su` and `sudo -E` leave the variable as it was for another user. As its specification demands,
/// relative paths don't count.
fn is_own(runtime_dir: &Path, user: u32) -> bool {
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0;
    runtime_dir.is_absolute() && fs::metadata(runtime_dir).is_ok_and(is_own)
}

/// Opens the folder, made before if need be, and makes sure that it is nobody else's. What is done from here on is done in this folder,
/// whatever takes its name.
fn open_private(folder: &Path) -> io::Result<OwnedFd> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not through a link, which could lead anywhere.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match open(folder, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Err(not_private(folder)),
        Err(error) => return Err(error.into()),
    };
    let found = fstat(&opened)?;
    let is_private = found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o077 == 0;
    if is_private { Ok(opened) } else { Err(not_private(folder)) }
}

fn not_private(folder: &Path) -> io::Error {
    let text = format!("{} is not a folder that belongs to this user alone (mode 0700)", folder.display());
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_follows_the_environment() {
        let user = rustix::process::geteuid().as_raw();
        let own = std::env::temp_dir().join(format!("sisal-runtime-dir-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&own).unwrap();
        assert_eq!(folder_for(Some(own.clone().into()), user), own.join("sisal"));
        for none in [None, Some("".into()), Some("relative".into()), Some("/no/such/folder".into())] {
            assert_eq!(folder_for(none, user), Path::new(&format!("/tmp/sisal-{user}")));
        }
        // Another user's, as `su` leaves it; and one that others can put things into.
        assert_eq!(folder_for(Some(own.clone().into()), user + 7), Path::new(&format!("/tmp/sisal-{}", user + 7)));
        fs::set_permissions(&own, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(folder_for(Some(own.clone().into()), user), Path::new(&format!("/tmp/sisal-{user}")));
        fs::remove_dir(own).unwrap();
    }

    #[test]
    fn a_process_has_one_start() {
        assert!(started().parse::<u64>().unwrap() > 0);
        assert_eq!(started(), started());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let base = std::env::temp_dir().join(format!("sisal-pid-file-{}", std::process::id()));
        open_private(&base).unwrap();
        open_private(&base).unwrap();
        let open = base.join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(open_private(&open).unwrap_err().to_string().contains("mode 0700"));
        let link = base.join("link");
        std::os::unix::fs::symlink(&base, &link).unwrap();
        assert_eq!(open_private(&link).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::write(base.join("file"), "").unwrap();
        assert_eq!(open_private(&base.join("file")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::remove_dir_all(base).unwrap();
    }
}
