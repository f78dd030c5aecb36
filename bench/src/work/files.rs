//! Tasks that each read a whole file of their own, which the kernel has in its cache.
//!
//! The contestant brings `read(files)`: start a task for each, have it read its file and hand the bytes to
//! [`Files::check`], and come back when the last has ended. It is called once to warm up, then as often
//! as the work says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Repeated;

/// What every file is full of.
const FILL: u8 = b's';

/// How many files, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileReads {
    /// The files, and the tasks.
    pub files: usize,
    /// The size of each.
    pub bytes: usize,
    /// How often all of them are read.
    pub repeats: usize,
    /// Worker threads.
    pub workers: usize,
}

/// Files that are there as long as this is.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    paths: Vec<PathBuf>,
    bytes: usize,
}

impl FileReads {
    /// Writes the files.
    pub fn prepare(self) -> io::Result<Files> {
        let directory = std::env::temp_dir().join(format!("sisal-bench-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let paths = (0..self.files).map(|number| directory.join(format!("{number}.txt"))).collect();
        let files = Files { directory, paths, bytes: self.bytes };
        let content = vec![FILL; self.bytes];
        files.paths.iter().try_for_each(|path| fs::write(path, &content))?;
        Ok(files)
    }
}

impl Repeated for FileReads {
    fn repeats(&self) -> usize {
        self.repeats
    }

    fn operations(&self) -> usize {
        self.files * self.repeats
    }
}

impl Files {
    /// Where they are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Checks that this is the whole of one of them.
    pub fn check(&self, content: io::Result<Vec<u8>>) {
        let content = content.expect("the file can be read");
        assert!(content.len() == self.bytes && content.ends_with(&[FILL]), "it is not what was written");
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What can't be removed is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_there_until_they_are_dropped() {
        let files = FileReads { files: 3, bytes: 10, repeats: 1, workers: 1 }.prepare().unwrap();
        let paths: Vec<PathBuf> = files.paths().map(Path::to_owned).collect();
        assert_eq!(paths.len(), 3);
        paths.iter().for_each(|path| files.check(fs::read(path)));
        drop(files);
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
