//! From the number of a process to its address.
//!
//! A process that serves says where in a file of its number, one line: the address, a space, and the token if it has one. The file is in
//! `$XDG_RUNTIME_DIR/sisal`, or in `/tmp/sisal-UID`. Anybody can make a directory of that name in `/tmp`, and lead us, with our token,
//! to a server of their own: a file counts only if it belongs to whom the process belongs to.

use super::failure::Failure;
use super::token::Token;
use super::who::Address;
use crate::wording::plain;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// More than any address and token need.
const LONGEST: u64 = 4096;
const ROOT: u32 = 0;

/// Where the process serves.
///
/// # Errors
/// If there is no such process, if it does not serve, or if its file can't be read.
pub(super) fn find(process: u32) -> Result<Address, Failure> {
    let owner = match fs::metadata(format!("/proc/{process}")) {
        Ok(metadata) => metadata.uid(),
        Err(_) => return Err(Failure::NoProcess(process)),
    };
    for path in places(process, owner) {
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(Failure::Entry { path, reason: plain(&error) }),
        };
        return read(file, owner).map_err(|reason| Failure::Entry { path, reason });
    }
    Err(Failure::NotServing(process))
}

/// Ours first; then where those of the owner are, who may be another if root asks.
fn places(process: u32, owner: u32) -> impl Iterator<Item = PathBuf> {
    let ours = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let ours = ours.map(|path| path.join("sisal"));
    let theirs = [format!("/run/user/{owner}/sisal").into(), format!("/tmp/sisal-{owner}").into()];
    ours.into_iter().chain(theirs).map(move |folder: PathBuf| folder.join(process.to_string()))
}

fn read(file: File, owner: u32) -> Result<Address, String> {
    let whose = file.metadata().map_err(|error| plain(&error))?.uid();
    if whose != owner && whose != ROOT {
        return Err(format!("belongs to user {whose}, and the process to user {owner}: not trusted"));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| plain(&error))?;
    parse(&text).ok_or_else(|| "holds no address".to_owned())
}

fn parse(text: &str) -> Option<Address> {
    let line = text.lines().next()?;
    let (address, token) = line.split_once(' ').unwrap_or((line, ""));
    let mut address: Address = address.parse().ok()?;
    let token = token.trim();
    if !token.is_empty() {
        address.token = Some(token.parse::<Token>().ok()?);
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_an_address_and_perhaps_a_token() {
        let address = parse("127.0.0.1:4000 secret\n").unwrap();
        assert_eq!((address.to_string().as_str(), address.token.unwrap().as_str()), ("127.0.0.1:4000", "secret"));
        for without in ["127.0.0.1:4000 \n", "127.0.0.1:4000\n", "127.0.0.1:4000"] {
            assert_eq!(parse(without).unwrap().token, None);
        }
        assert_eq!(parse(""), None);
        assert_eq!(parse("somewhere"), None);
    }
}
