//! How things are worded, in all tools.

use std::io;

/// An error of the system as C programs word it, without Rust's number of it.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_worded_as_in_c() {
        let error = std::fs::File::open("/does/not/exist").unwrap_err();
        assert_eq!(plain(&error), "No such file or directory");
        assert_eq!(plain(&io::Error::other("as it is")), "as it is");
    }
}
