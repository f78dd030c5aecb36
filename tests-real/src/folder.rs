//! Temporary folders.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is removed when dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// Whom a folder belongs to, and who runs a program that root must not run.
#[derive(Copy, Clone, Debug)]
pub struct Owner {
    /// None for whoever runs the test.
    ids: Option<(u32, u32)>,
}

impl Owner {
    /// Somebody who is not root, if possible the user of this name.
    ///
    /// # Panics
    /// If this process is root and there is neither that user nor `nobody`.
    pub fn not_root(preferred: &str) -> Owner {
        if !rustix::process::geteuid().is_root() {
            return Owner { ids: None };
        }
        let users = fs::read_to_string("/etc/passwd").unwrap();
        let ids = ids_of(&users, preferred).or_else(|| ids_of(&users, "nobody"));
        Owner { ids: Some(ids.expect("there is no user but root")) }
    }

    /// Lets the owner run the command.
    pub fn run(self, command: &mut Command) {
        if let Some((user, group)) = self.ids {
            command.uid(user).gid(group);
        }
    }
}

/// The user and the group of a name, from lines of `name:password:user:group:...`.
fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields =
        users.lines().map(|line| line.split(':')).find_map(|mut line| (line.next() == Some(name)).then_some(line))?;
    fields.next();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

impl Folder {
    /// Makes an empty folder.
    pub fn new() -> Folder {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sisal-real-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    /// Makes an empty folder for another user.
    pub fn of(owner: Owner) -> Folder {
        let folder = Folder::new();
        if let Some((user, group)) = owner.ids {
            std::os::unix::fs::chown(&folder.0, Some(user), Some(group)).unwrap();
        }
        folder
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it and returns where that is.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
