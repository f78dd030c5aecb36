//! From the number of a process to its address.
//!
//! A process that serves says where in a file of its number, one line: the address, a space, the token if it has one, a space, and when the
//! process started (`inspect/serve/pid_file.rs` of sisal writes it). The file is in `$XDG_RUNTIME_DIR/sisal`, or in `/tmp/sisal-UID`. Anybody
//! can make a directory of that name in `/tmp`, and lead us, with our token, to a server of their own. So a file counts only if
//! it and its directory belong to whom the process belongs to and nobody else can write to them, if it is a file and no link, and if the
//! process that runs now is the one that wrote it: numbers are given anew.

use super::failure::Failure;
use super::token::Token;
use super::who::Address;
use crate::wording::plain;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open, openat};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More than any address and token need.
const LONGEST: u64 = 4096;

/// Where the process serves.
///
/// # Errors
/// If there is no such process, if it does not serve, or if its file can't be read or trusted.
pub(super) fn find(process: u32) -> Result<Address, Failure> {
    let (Ok(metadata), Some(started)) = (fs::metadata(format!("/proc/{process}")), started(process)) else {
        return Err(Failure::NoProcess(process));
    };
    let mut refused = None;
    for folder in folders(metadata.uid()) {
        let name = process.to_string();
        match look(&folder, &name, metadata.uid(), &started) {
            Ok(Some(address)) => return Ok(address),
            Ok(None) => {}
            // Another place may still have the right one.
            Err(reason) => {
                refused.get_or_insert(Failure::Entry { path: folder.join(name), reason });
            }
        }
    }
    Err(refused.unwrap_or(Failure::NotServing(process)))
}

/// Ours first; then where those of the owner are, who may be another if root asks.
fn folders(owner: u32) -> impl Iterator<Item = PathBuf> {
    let ours = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let ours = ours.map(|path| path.join("sisal"));
    let theirs = [format!("/run/user/{owner}/sisal").into(), format!("/tmp/sisal-{owner}").into()];
    ours.into_iter().chain(theirs)
}

/// When a process started, as `/proc/PID/stat` has it in its 22nd field.
fn started(process: u32) -> Option<String> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name of the program is in brackets, and may have blanks and brackets in it. Behind it comes the third field.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(22 - 3).map(str::to_owned)
}

/// What a folder says; none if it has no such file.
fn look(folder: &Path, name: &str, owner: u32, started: &str) -> Result<Option<Address>, String> {
    let common = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(folder, common | OFlags::DIRECTORY, Mode::empty());
    let Some(folder) = found(opened)? else { return Ok(None) };
    // A pipe is not waited for.
    let opened = openat(&folder, name, common | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty());
    let Some(file) = found(opened)?.map(File::from) else { return Ok(None) };
    check(&fstat(&folder).map_err(|error| plain(&error.into()))?, "its directory ", owner)?;
    let status = fstat(&file).map_err(|error| plain(&error.into()))?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err("is not a file: not trusted".to_owned());
    }
    check(&status, "", owner)?;
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| plain(&error))?;
    let (address, of) = parse(&text).ok_or("holds no address")?;
    if of != started {
        return Err("was left behind by another process, which had this number before".to_owned());
    }
    Ok(Some(address))
}

/// None if there is nothing of that name.
fn found<T>(opened: Result<T, Errno>) -> Result<Option<T>, String> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(Errno::LOOP) => Err("is a link: not trusted".to_owned()),
        Err(error) => Err(plain(&error.into())),
    }
}

/// Whether nobody but the owner can have written it.
fn check(status: &Stat, what: &str, owner: u32) -> Result<(), String> {
    let whose = status.st_uid;
    if whose != owner {
        return Err(format!("{what}belongs to user {whose}, and the process to user {owner}: not trusted"));
    }
    if status.st_mode & 0o022 != 0 {
        return Err(format!("{what}can be written to by others: not trusted"));
    }
    Ok(())
}

/// The address with its token, and when the process started that is served there.
fn parse(text: &str) -> Option<(Address, &str)> {
    let mut parts = text.lines().next()?.split(' ');
    let mut address: Address = parts.next()?.parse().ok()?;
    let (token, started) = (parts.next()?, parts.next()?);
    if !token.is_empty() {
        address.token = Some(token.parse::<Token>().ok()?);
    }
    Some((address, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_an_address_perhaps_a_token_and_a_start() {
        let (address, started) = parse("127.0.0.1:4000 secret 77\n").unwrap();
        assert_eq!((address.to_string().as_str(), address.token.unwrap().as_str()), ("127.0.0.1:4000", "secret"));
        assert_eq!(started, "77");
        for without in ["127.0.0.1:4000  77\n", "127.0.0.1:4000  77"] {
            let (address, started) = parse(without).unwrap();
            assert_eq!((address.token, started), (None, "77"));
        }
        for wrong in ["", "somewhere", "somewhere secret 77", "127.0.0.1:4000", "127.0.0.1:4000 secret\n"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_start_of_a_process_is_known_and_stays() {
        let this = started(std::process::id()).unwrap();
        assert!(this.parse::<u64>().is_ok(), "{this}");
        assert_eq!(started(std::process::id()), Some(this));
        assert_eq!(started(i32::MAX as u32), None);
    }
}
