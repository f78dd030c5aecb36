//! A child process.

use super::collect::read_both;
use super::orphans;
use super::stdio::{ChildStderr, ChildStdin, ChildStdout};
use crate::io::error::is_shortage;
use crate::io::pauses::Pauses;
use crate::io::source::{Direction, Request, Source};
use crate::prim::clock::Moment;
use crate::prim::reason::{Place, Reason};
use rustix::process::{Pid, PidfdFlags};
use std::io;
use std::panic::Location;
use std::process::{self, ExitStatus, Output};
use std::time::{Duration, Instant};

/// A child process, as [`std::process::Child`].
///
/// ```
/// use sisal::process::{Command, Stdio};
/// use std::io::{Read, Write};
///
/// sisal::run(|| {
///     let mut child = Command::new("tr").args(["a-z", "A-Z"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
///     child.stdin.take().unwrap().write_all(b"louder")?;
///     let mut text = String::new();
///     child.stdout.take().unwrap().read_to_string(&mut text)?;
///     assert_eq!(text, "LOUDER");
///     assert!(child.wait()?.success());
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Child {
    /// The pipe to its standard input, if there is one.
    pub stdin: Option<ChildStdin>,
    /// The pipe from its standard output, if there is one.
    pub stdout: Option<ChildStdout>,
    /// The pipe from its standard error, if there is one.
    pub stderr: Option<ChildStderr>,
    /// Taken when the child is dropped.
    inner: Option<process::Child>,
    end: End,
    kill_on_drop: bool,
}

/// How to hear of the end of a child.
enum End {
    /// Nobody has waited yet, or there was no descriptor left when somebody did.
    Unasked,
    /// By a descriptor that can be read when it has ended.
    Descriptor(Source),
    /// The kernel has no such descriptors.
    Refused,
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            End::Unasked => "Unasked",
            End::Descriptor(_) => "Descriptor",
            End::Refused => "Refused",
        })
    }
}

impl Child {
    pub(super) fn new(mut inner: process::Child, kill_on_drop: bool) -> io::Result<Child> {
        let (stdin, stdout, stderr) = (inner.stdin.take(), inner.stdout.take(), inner.stderr.take());
        // Made first, so that a child whose pipes can't be taken over is cared for.
        let mut child =
            Child { stdin: None, stdout: None, stderr: None, inner: Some(inner), end: End::Unasked, kill_on_drop };
        child.stdin = stdin.map(ChildStdin::new).transpose()?;
        child.stdout = stdout.map(ChildStdout::new).transpose()?;
        child.stderr = stderr.map(ChildStderr::new).transpose()?;
        Ok(child)
    }

    /// Its number.
    ///
    /// ```
    /// let mut child = sisal::process::Command::new("true").spawn()?;
    /// assert_ne!(child.id(), sisal::process::id());
    /// child.wait()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn id(&self) -> u32 {
        self.inner.as_ref().map_or(0, process::Child::id)
    }

    /// Kills it, if it has not ended. It has to be waited for all the same.
    ///
    /// # Errors
    /// See [`std::process::Child::kill`].
    ///
    /// ```
    /// let mut child = sisal::process::Command::new("sleep").arg("600").spawn()?;
    /// child.kill()?;
    /// assert!(!child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner().kill()
    }

    /// Waits for its end, after closing its standard input. As often as one likes.
    ///
    /// # Errors
    /// See [`std::process::Child::wait`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// let mut child = sisal::process::Command::new("false").spawn()?;
    /// assert_eq!(child.wait()?.code(), Some(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        self.wait_until(None, Location::caller())
    }

    /// As [`wait`](Self::wait), for at most `timeout`; none if it has not ended by then. Its standard input, if that is a pipe that was not taken,
    /// is closed in either case.
    ///
    /// # Errors
    /// As of `wait`.
    ///
    /// ```
    /// use std::time::Duration;
    /// let mut child = sisal::process::Command::new("sleep").arg("600").spawn()?;
    /// assert_eq!(child.wait_timeout(Duration::from_millis(5))?, None);
    /// child.kill()?;
    /// assert!(child.wait_timeout(Duration::from_secs(60))?.is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_timeout(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        self.wait_by(Moment::now().after(timeout), Location::caller())
    }

    /// As [`wait`](Self::wait), until this time at most; none if it has not ended by then.
    ///
    /// # Errors
    /// As of `wait`.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// let mut child = sisal::process::Command::new("sleep").arg("600").spawn()?;
    /// assert_eq!(child.wait_deadline(Instant::now())?, None);
    /// child.kill()?;
    /// assert!(child.wait_deadline(Instant::now() + Duration::from_secs(60))?.is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_deadline(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        self.wait_by(Moment::of(deadline), Location::caller())
    }

    fn wait_by(&mut self, deadline: Moment, place: Place) -> io::Result<Option<ExitStatus>> {
        drop(self.stdin.take());
        match self.wait_until(Some(deadline), place) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            status => status.map(Some),
        }
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// See [`std::process::Child::try_wait`].
    ///
    /// ```
    /// let mut child = sisal::process::Command::new("cat").stdin(sisal::process::Stdio::piped()).spawn()?;
    /// assert!(child.try_wait()?.is_none(), "it reads");
    /// child.wait()?;
    /// assert!(child.try_wait()?.is_some());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.inner().try_wait()
    }

    /// Waits for its end, and for all that it writes to its pipes, after closing its standard input.
    ///
    /// # Errors
    /// See [`std::process::Child::wait_with_output`]; and if the wait was [cancelled](crate::is_cancelled).
    ///
    /// ```
    /// use sisal::process::{Command, Stdio};
    /// let child = Command::new("echo").arg("out").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output()?.stdout, b"out\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        let place = Location::caller();
        drop(self.stdin.take());
        let (stdout, stderr) = match (self.stdout.take(), self.stderr.take()) {
            (None, None) => (Vec::new(), Vec::new()),
            (stdout, stderr) => read_both(stdout, stderr, place)?,
        };
        Ok(Output { status: self.wait_until(None, place)?, stdout, stderr })
    }

    fn inner(&mut self) -> &mut process::Child {
        self.inner.as_mut().unwrap_or_else(|| unreachable!("INVARIANT: taken when it is dropped"))
    }

    /// At the deadline the error is of the kind `TimedOut`.
    fn wait_until(&mut self, deadline: Option<Moment>, place: Place) -> io::Result<ExitStatus> {
        if let Some(status) = self.try_wait()? {
            return Ok(status);
        }
        if let End::Unasked = self.end {
            self.end = match open_descriptor(self.id()) {
                Ok(descriptor) => End::Descriptor(descriptor),
                Err(error) if is_shortage(&error) => End::Unasked,
                Err(_) => End::Refused,
            };
        }
        let Child { inner: Some(inner), end, .. } = self else {
            unreachable!("INVARIANT: taken when it is dropped");
        };
        match end {
            End::Descriptor(descriptor) => {
                let request = Request { direction: Direction::Read, reason: Reason::Process, place, deadline };
                descriptor.perform(&request, |_| inner.try_wait()?.ok_or_else(|| io::ErrorKind::WouldBlock.into()))
            }
            End::Unasked | End::Refused => ask_until(inner, deadline, place),
        }
    }
}

fn open_descriptor(id: u32) -> io::Result<Source> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    // It has not been waited for, so the number is still its own.
    let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    Ok(Source::nonblocking(descriptor))
}

/// Asks again and again, less and less often: a wait in the kernel could not be cancelled.
fn ask_until(child: &mut process::Child, deadline: Option<Moment>, place: Place) -> io::Result<ExitStatus> {
    let mut pauses = Pauses::new(Reason::Process, deadline, place);
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None => pauses.pause()?,
        }
    }
}

/// A child that somebody else has started. It is not killed when it is dropped.
///
/// ```
/// use sisal::process::Child;
/// let started = std::process::Command::new("true").spawn()?;
/// assert!(Child::try_from(started)?.wait()?.success());
/// # Ok::<(), std::io::Error>(())
/// ```
impl TryFrom<process::Child> for Child {
    type Error = io::Error;

    fn try_from(child: process::Child) -> io::Result<Child> {
        Child::new(child, false)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let Some(mut inner) = self.inner.take() else { return };
        if matches!(inner.try_wait(), Ok(None)) {
            if self.kill_on_drop {
                let _ = inner.kill();
            }
            orphans::adopt(inner);
        }
    }
}
