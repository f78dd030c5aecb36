//! A real terminal, held by tmux: what is typed goes in, and what it shows comes out.

use crate::program::{Directory, SISAL, have};
use crate::wait::until;
use std::process::Command;

/// A terminal in which a shell runs. It ends with this value, and whatever runs in it.
pub(crate) struct Tmux {
    directory: Directory,
}

impl Tmux {
    /// Opens one of this size; None, out loud, if there is no tmux.
    pub(crate) fn open(width: u16, height: u16) -> Option<Tmux> {
        if !have("tmux") {
            return None;
        }
        let tmux = Tmux { directory: Directory::new() };
        let (width, height) = (width.to_string(), height.to_string());
        let size = ["-x", &width, "-y", &height];
        // A shell that reads nothing of its own, and says when it waits.
        let shell = "env -u NO_COLOR PS1='ready> ' bash --norc --noprofile";
        tmux.tmux(&[&["-f", "/dev/null", "new-session", "-d", "-s", "it"], &size[..], &[shell]].concat());
        tmux.tmux(&["set-option", "-g", "status", "off"]);
        tmux.tmux(&["resize-window", "-t", "it", "-x", &width, "-y", &height]);
        tmux.until("the shell is ready", |screen| screen.contains("ready>"));
        Some(tmux)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        // A server of its own, whatever else runs; and one that knows of characters that are not ASCII.
        let output = Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(self.directory.path("socket"))
            .args(arguments)
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.directory.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line for the shell; `sisal` in it is the program under test.
    pub(crate) fn run(&self, command: &str) {
        let command = command.replace("sisal ", &format!("{SISAL} "));
        self.tmux(&["send-keys", "-t", "it", "-l", &command]);
        self.keys(&["Enter"]);
    }

    /// Presses keys, by the names tmux has for them.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "it"], keys].concat());
    }

    /// The number of the process that has written it to the file `pid`.
    pub(crate) fn process(&self) -> String {
        String::from_utf8(self.directory.read("pid")).unwrap().trim().to_owned()
    }

    /// Sends that process a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.process()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-t", "it", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// What is seen.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "it"])
    }

    /// The same, with the sequences for colours and the like.
    pub(crate) fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", "it"])
    }

    /// Something tmux knows of the terminal.
    pub(crate) fn knows(&self, what: &str) -> String {
        self.tmux(&["display-message", "-p", "-t", "it", what]).trim().to_owned()
    }

    /// Waits until what is seen is as it should be, and returns it.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        until(|| {
            let screen = self.screen();
            if is_so(&screen) { Ok(screen) } else { Err(format!("{what} is not to be seen on:\n{screen}")) }
        })
    }

    /// Waits until all this is seen.
    #[track_caller]
    pub(crate) fn shows(&self, texts: &[&str]) -> String {
        self.until(&format!("{texts:?}"), |screen| texts.iter().all(|text| screen.contains(text)))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.directory.path("socket");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}
