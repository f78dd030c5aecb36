//! Starting a child process.
#![allow(unsafe_code, reason = "what runs between fork and exec is as unsafe as in std")]

use super::child::Child;
use super::orphans;
use crate::blocking::block_in_place;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, CommandArgs, CommandEnvs, ExitStatus, Output, Stdio};

/// How to start a child process, as [`std::process::Command`].
///
/// What is not here is set on the one of `std` inside: see [`as_std_mut`](Self::as_std_mut).
///
/// ```
/// use sisal::process::{Command, Stdio};
///
/// let status = Command::new("sh").args(["-c", "exit 3"]).status()?;
/// assert_eq!(status.code(), Some(3));
///
/// let mut command = Command::new("sh");
/// command.arg("-c").arg("echo $GREETING $NAME $HOME from $(pwd); echo unheard >&2");
/// command.env("GREETING", "hello").envs([("NAME", "child"), ("HOME", "nowhere")]).env_remove("HOME");
/// command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
/// let output = command.output()?;
/// assert_eq!(output.stdout, b"hello child from /\n");
/// assert!(output.stderr.is_empty());
///
/// assert!(Command::new("/usr/bin/env").env_clear().output()?.stdout.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Command {
    inner: process::Command,
    kill_on_drop: bool,
    set: Set,
}

/// Which of its standard streams are set.
#[derive(Debug, Default)]
struct Set {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Command {
    /// A program, by its path, or by its name if it is in `PATH`.
    ///
    /// ```
    /// use sisal::process::Command;
    /// assert!(Command::new("true").status()?.success());
    /// assert!(Command::new("/bin/sh").args(["-c", "exit 0"]).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        process::Command::new(program).into()
    }

    /// Adds an argument.
    ///
    /// ```
    /// let output = sisal::process::Command::new("echo").arg("one word").arg("another").output()?;
    /// assert_eq!(output.stdout, b"one word another\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    ///
    /// ```
    /// let output = sisal::process::Command::new("echo").args(["one", "two", "three"]).output()?;
    /// assert_eq!(output.stdout, b"one two three\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(&mut self, args: I) -> &mut Command {
        self.inner.args(args);
        self
    }

    /// Sets a variable of its environment.
    ///
    /// ```
    /// let output = sisal::process::Command::new("sh").args(["-c", "echo $GREETING"]).env("GREETING", "hello").output()?;
    /// assert_eq!(output.stdout, b"hello\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.inner.env(name, value);
        self
    }

    /// Sets variables of its environment.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("sh");
    /// let output = command.args(["-c", "echo $ONE $TWO"]).envs([("ONE", "1"), ("TWO", "2")]).output()?;
    /// assert_eq!(output.stdout, b"1 2\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn envs<I, K, V>(&mut self, variables: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.inner.envs(variables);
        self
    }

    /// Keeps a variable of this process from it.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("sh");
    /// let output = command.args(["-c", "echo ${HOME:-nowhere}"]).env_remove("HOME").output()?;
    /// assert_eq!(output.stdout, b"nowhere\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Command {
        self.inner.env_remove(name);
        self
    }

    /// Keeps all variables of this process from it.
    ///
    /// ```
    /// let output = sisal::process::Command::new("/usr/bin/env").env_clear().env("ONLY", "this").output()?;
    /// assert_eq!(output.stdout, b"ONLY=this\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env_clear(&mut self) -> &mut Command {
        self.inner.env_clear();
        self
    }

    /// The directory it starts in.
    ///
    /// ```
    /// let output = sisal::process::Command::new("pwd").current_dir("/").output()?;
    /// assert_eq!(output.stdout, b"/\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Command {
        self.inner.current_dir(directory);
        self
    }

    /// The program, as it was given.
    ///
    /// ```
    /// assert_eq!(sisal::process::Command::new("ls").get_program(), "ls");
    /// ```
    pub fn get_program(&self) -> &OsStr {
        self.inner.get_program()
    }

    /// The arguments, without the program.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("ls");
    /// command.args(["-l", "/"]);
    /// assert_eq!(command.get_args().collect::<Vec<_>>(), ["-l", "/"]);
    /// ```
    pub fn get_args(&self) -> CommandArgs<'_> {
        self.inner.get_args()
    }

    /// The variables that were set, or removed.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("ls");
    /// command.env("LANG", "C").env_remove("TERM");
    /// assert_eq!(command.get_envs().filter(|(_, value)| value.is_none()).count(), 1);
    /// ```
    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.inner.get_envs()
    }

    /// The directory that was set.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("ls");
    /// assert_eq!(command.get_current_dir(), None);
    /// command.current_dir("/");
    /// assert_eq!(command.get_current_dir(), Some(std::path::Path::new("/")));
    /// ```
    pub fn get_current_dir(&self) -> Option<&Path> {
        self.inner.get_current_dir()
    }

    /// The user it runs as. As [`CommandExt::uid`].
    ///
    /// ```
    /// use std::os::unix::fs::MetadataExt;
    /// // That of this process, which is always allowed.
    /// let own = sisal::fs::metadata("/proc/self")?.uid();
    /// assert!(sisal::process::Command::new("true").uid(own).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.inner.uid(id);
        self
    }

    /// The group it runs as. As [`CommandExt::gid`].
    ///
    /// ```
    /// use std::os::unix::fs::MetadataExt;
    /// let own = sisal::fs::metadata("/proc/self")?.gid();
    /// assert!(sisal::process::Command::new("true").gid(own).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.inner.gid(id);
        self
    }

    /// What it is told to be called, instead of the program. As [`CommandExt::arg0`].
    ///
    /// ```
    /// let output = sisal::process::Command::new("sh").arg0("shell").args(["-c", "echo $0"]).output()?;
    /// assert_eq!(output.stdout, b"shell\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn arg0(&mut self, arg: impl AsRef<OsStr>) -> &mut Command {
        self.inner.arg0(arg);
        self
    }

    /// The process group it joins; 0 for one of its own. As [`CommandExt::process_group`].
    ///
    /// ```
    /// assert!(sisal::process::Command::new("true").process_group(0).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn process_group(&mut self, group: i32) -> &mut Command {
        self.inner.process_group(group);
        self
    }

    /// Has `f` called in the child, before the program starts. As [`CommandExt::pre_exec`].
    ///
    /// # Safety
    /// As there: the child is a copy of a process with several threads, of which it has one. So `f` must do nothing but what signal handlers
    /// may: not allocate, not lock. It does not run as a fiber, and must not wait for anything of this crate.
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("true");
    /// // SAFETY: it does nothing but say so.
    /// unsafe { command.pre_exec(|| Err(std::io::ErrorKind::PermissionDenied.into())) };
    /// assert!(command.status().is_err());
    /// ```
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller's promise.
        unsafe { self.inner.pre_exec(f) };
        self
    }

    /// Has the program take the place of this process, with all its fibers and threads. As [`CommandExt::exec`]: returns only if that can't be
    /// done.
    ///
    /// ```
    /// let error = sisal::process::Command::new("/no such program").exec();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    #[must_use = "if this returns, it has failed"]
    pub fn exec(&mut self) -> io::Error {
        self.inner.exec()
    }

    /// Its standard input: that of this process if not set, or nothing for [`output`](Self::output).
    ///
    /// ```
    /// use sisal::process::{Command, Stdio};
    /// use std::io::Write;
    /// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    /// child.stdin.take().unwrap().write_all(b"to and fro")?;
    /// assert_eq!(child.wait_with_output()?.stdout, b"to and fro");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Command {
        self.set.stdin = true;
        self.inner.stdin(stdin);
        self
    }

    /// Its standard output: that of this process if not set, or a pipe for [`output`](Self::output).
    ///
    /// ```
    /// use sisal::process::{Command, Stdio};
    /// use std::io::Read;
    /// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// let mut said = String::new();
    /// child.stdout.take().unwrap().read_to_string(&mut said)?;
    /// assert_eq!(said, "hello\n");
    /// assert!(child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Command {
        self.set.stdout = true;
        self.inner.stdout(stdout);
        self
    }

    /// Its standard error: that of this process if not set, or a pipe for [`output`](Self::output).
    ///
    /// ```
    /// use sisal::process::{Command, Stdio};
    /// let mut command = Command::new("sh");
    /// let output = command.args(["-c", "echo unheard >&2"]).stderr(Stdio::null()).output()?;
    /// assert!(output.stderr.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stderr(&mut self, stderr: impl Into<Stdio>) -> &mut Command {
        self.set.stderr = true;
        self.inner.stderr(stderr);
        self
    }

    /// Whether it is killed if its [`Child`] is dropped before its end. If not set it goes on.
    ///
    /// ```
    /// use sisal::process::Command;
    /// let child = Command::new("sleep").arg("600").kill_on_drop(true).spawn()?;
    /// drop(child);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn kill_on_drop(&mut self, kill: bool) -> &mut Command {
        self.kill_on_drop = kill;
        self
    }

    /// Starts it.
    ///
    /// The thread that does it is the one that calls, for it leaves traces in the child: its affinity, for instance, or the end of that thread as
    /// the child's own (`PR_SET_PDEATHSIG`). In a fiber that is the worker, which is there for as long as the fiber at least. It takes a
    /// millisecond as a rule, during which the worker is [blocked in place](crate::block_in_place); where that is too long, as with a
    /// `pre_exec` that takes its time, call it under [`blocking`](crate::blocking()).
    ///
    /// # Errors
    /// See [`std::process::Command::spawn`].
    ///
    /// ```
    /// let mut child = sisal::process::Command::new("sleep").arg("0").spawn()?;
    /// assert!(child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn(&mut self) -> io::Result<Child> {
        orphans::collect();
        let child = block_in_place(|| self.inner.spawn())?;
        Child::new(child, self.kill_on_drop)
    }

    /// Starts it and waits for its end.
    ///
    /// # Errors
    /// See [`std::process::Command::status`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let status = sisal::process::Command::new("sh").args(["-c", "exit 3"]).status()?;
    ///     assert_eq!(status.code(), Some(3));
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait()
    }

    /// Starts it, waits for its end, and returns what it wrote.
    ///
    /// # Errors
    /// See [`std::process::Command::output`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// sisal::run(|| {
    ///     let output = sisal::process::Command::new("sh").args(["-c", "echo heard; echo too >&2"]).output()?;
    ///     assert_eq!((&*output.stdout, &*output.stderr), (&b"heard\n"[..], &b"too\n"[..]));
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> io::Result<Output> {
        let Set { stdin, stdout, stderr } = self.set;
        if !stdin {
            self.inner.stdin(Stdio::null());
        }
        if !stdout {
            self.inner.stdout(Stdio::piped());
        }
        if !stderr {
            self.inner.stderr(Stdio::piped());
        }
        let child = self.spawn();
        // The next time may be for something else.
        if !stdin {
            self.inner.stdin(Stdio::inherit());
        }
        if !stdout {
            self.inner.stdout(Stdio::inherit());
        }
        if !stderr {
            self.inner.stderr(Stdio::inherit());
        }
        child?.wait_with_output()
    }

    /// The one of `std` inside, to look at.
    ///
    /// ```
    /// let command = sisal::process::Command::new("ls");
    /// assert_eq!(command.as_std().get_program(), "ls");
    /// ```
    pub fn as_std(&self) -> &process::Command {
        &self.inner
    }

    /// The one of `std` inside, for what this one has no methods for.
    /// (Standard streams set there are not known here: set those by the methods above.)
    ///
    /// ```
    /// let mut command = sisal::process::Command::new("true");
    /// command.as_std_mut().arg("ignored");
    /// assert!(command.status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.inner
    }
}

/// With what is set there, but for the standard streams in [`output`](Command::output).
/// As `std`'s: the program and its arguments.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl From<process::Command> for Command {
    fn from(inner: process::Command) -> Command {
        Command { inner, kill_on_drop: false, set: Set::default() }
    }
}
