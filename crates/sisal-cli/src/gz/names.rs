//! What files are called before and after.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Suffixes of compressed files, besides the one that is written, and what takes their place.
const KNOWN: [(&[u8], &[u8]); 8] = [
    (b".gz", b""),
    (b".tgz", b".tar"),
    (b".taz", b".tar"),
    (b".zz", b""),
    (b"-gz", b""),
    (b".z", b""),
    (b"-z", b""),
    (b"_z", b""),
];

/// The longest name that a file can have.
const LONGEST: usize = 255;

fn base(path: &Path) -> &[u8] {
    path.file_name().map_or(b"", OsStr::as_bytes)
}

/// The path with another name in it.
fn renamed(path: &Path, name: &[u8]) -> PathBuf {
    path.with_file_name(OsStr::from_bytes(name))
}

/// What a compressed file is called.
pub(super) fn with_suffix(path: &Path, suffix: &OsStr) -> PathBuf {
    renamed(path, &[base(path), suffix.as_bytes()].concat())
}

/// What a compressed file is called when it is expanded; none if its name is not that of a compressed file.
pub(super) fn without_suffix(path: &Path, suffix: &OsStr) -> Option<PathBuf> {
    let name = base(path);
    let own = std::iter::once((suffix.as_bytes(), &b""[..]));
    own.chain(KNOWN).find_map(|(suffix, replacement)| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(suffix.len())?)?;
        let fits = end.eq_ignore_ascii_case(suffix) && !stem.is_empty();
        fits.then(|| renamed(path, &[stem, replacement].concat()))
    })
}

/// The suffix with which a file that is to be compressed seems to be so already.
pub(super) fn present_suffix(path: &Path, suffix: &OsStr) -> Option<OsString> {
    let name = base(path);
    let own = std::iter::once(suffix.as_bytes());
    let suffixes = own.chain(KNOWN.into_iter().map(|(suffix, _)| suffix));
    let mut present = suffixes.filter(|suffix| name.len() > suffix.len());
    let found = present.find(|suffix| name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix))?;
    Some(OsString::from_vec(name[name.len() - found.len()..].to_vec()))
}

/// What a file that is not there may be called really: with the suffix that is used, or any.
pub(super) fn completed(path: &Path, suffix: &OsStr) -> impl Iterator<Item = PathBuf> {
    let suffixes = std::iter::once(suffix.as_bytes()).chain([&b".gz"[..], b".z", b"-z", b".zz"]);
    suffixes.map(move |suffix| with_suffix(path, OsStr::from_bytes(suffix)))
}

/// The path with a name from a header in place of its own. Headers come from strangers: of the name, the last part is taken, and none
/// if that is no name.
pub(super) fn restored(path: &Path, name: &[u8]) -> Option<PathBuf> {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let is_name = !matches!(last, b"" | b"." | b"..") && last.len() <= LONGEST;
    is_name.then(|| renamed(path, last))
}

/// What a header calls the file.
pub(super) fn in_header(path: &Path) -> Option<Vec<u8>> {
    Some(base(path).to_vec()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(name: &str) -> Option<String> {
        without_suffix(Path::new(name), OsStr::new(".gz")).map(|path| path.display().to_string())
    }

    #[test]
    fn suffixes_are_added_and_removed() {
        assert_eq!(with_suffix(Path::new("a/b.c"), OsStr::new(".gz")), Path::new("a/b.c.gz"));
        assert_eq!(expanded("a/b.gz").as_deref(), Some("a/b"));
        assert_eq!(expanded("b.GZ").as_deref(), Some("b"));
        assert_eq!(expanded("b.tgz").as_deref(), Some("b.tar"));
        assert_eq!(expanded(".gz"), None);
        assert_eq!(expanded("b"), None);
        assert_eq!(without_suffix(Path::new("b.xy"), OsStr::new(".xy")), Some("b".into()));
    }

    #[test]
    fn names_from_headers_stay_in_the_directory() {
        let path = Path::new("a/b.gz");
        assert_eq!(restored(path, b"c"), Some("a/c".into()));
        assert_eq!(restored(path, b"/etc/passwd"), Some("a/passwd".into()));
        for bad in [&b""[..], b"..", b"x/..", b"x/", b".", &[b'x'; LONGEST + 1]] {
            assert_eq!(restored(path, bad), None);
        }
    }
}
