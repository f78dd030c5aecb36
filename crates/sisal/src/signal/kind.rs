//! What a signal is called.

use std::fmt;
use std::io;

/// A signal, by its number.
///
/// ```
/// use sisal::signal::Signal;
/// assert_eq!(Signal::TERMINATE.to_string(), "SIGTERM");
/// assert_eq!(Signal::from_raw(15), Signal::TERMINATE);
/// let of_the_terminal = [Signal::INTERRUPT, Signal::QUIT, Signal::HANGUP, Signal::WINCH];
/// let others = [Signal::USER1, Signal::USER2, Signal::CHILD, Signal::ALARM, Signal::PIPE];
/// assert!(of_the_terminal.iter().all(|signal| !others.contains(signal)));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(i32);

impl Signal {
    /// SIGINT: Ctrl-C at the terminal.
    pub const INTERRUPT: Signal = Signal(libc::SIGINT);
    /// SIGTERM: the process is asked to end.
    pub const TERMINATE: Signal = Signal(libc::SIGTERM);
    /// SIGHUP: the terminal is gone; to services, that their settings have changed.
    pub const HANGUP: Signal = Signal(libc::SIGHUP);
    /// SIGQUIT: Ctrl-\ at the terminal.
    pub const QUIT: Signal = Signal(libc::SIGQUIT);
    /// SIGUSR1: what the program makes of it.
    pub const USER1: Signal = Signal(libc::SIGUSR1);
    /// SIGUSR2: what the program makes of it.
    pub const USER2: Signal = Signal(libc::SIGUSR2);
    /// SIGCHLD: a child process has ended, or stopped.
    pub const CHILD: Signal = Signal(libc::SIGCHLD);
    /// SIGWINCH: the terminal has another size.
    pub const WINCH: Signal = Signal(libc::SIGWINCH);
    /// SIGALRM: a timer of `alarm` or `setitimer` is up.
    pub const ALARM: Signal = Signal(libc::SIGALRM);
    /// SIGPIPE: something was written to a pipe that nobody reads.
    pub const PIPE: Signal = Signal(libc::SIGPIPE);

    /// The signal of this number.
    ///
    /// ```
    /// use sisal::signal::Signal;
    /// assert_eq!(Signal::from_raw(libc::SIGUSR1), Signal::USER1);
    /// ```
    pub const fn from_raw(number: i32) -> Signal {
        Signal(number)
    }

    /// Its number.
    ///
    /// ```
    /// assert_eq!(sisal::signal::Signal::HANGUP.as_raw(), 1);
    /// ```
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _)| *number == self.0).map(|(_, name)| *name)
    }

    /// An error, if it can't be listened to.
    pub(super) fn check(self) -> io::Result<()> {
        let why = match self.0 {
            libc::SIGKILL | libc::SIGSTOP => "the kernel lets no process handle it",
            libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE | libc::SIGTRAP | libc::SIGSYS => {
                "it tells of a mistake in the very code that runs, which can't go on as if nothing had happened"
            }
            number if !(1..=libc::SIGRTMAX()).contains(&number) => "there is no such signal",
            number if (MOST_STANDARD + 1..libc::SIGRTMIN()).contains(&number) => "the C library needs it for itself",
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("can't listen to {self}: {why}")))
    }
}

/// The last of the signals that have names.
const MOST_STANDARD: i32 = 31;

const NAMES: [(i32, &str); 29] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGCHLD, "SIGCHLD"),
    (libc::SIGCONT, "SIGCONT"),
    (libc::SIGSTOP, "SIGSTOP"),
    (libc::SIGTSTP, "SIGTSTP"),
    (libc::SIGTTIN, "SIGTTIN"),
    (libc::SIGTTOU, "SIGTTOU"),
    (libc::SIGURG, "SIGURG"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGWINCH, "SIGWINCH"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGSYS, "SIGSYS"),
];

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "signal {}", self.0),
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_cant_be_listened_to_say_why() {
        for (number, why) in [
            (9, "SIGKILL: the kernel"),
            (19, "SIGSTOP: the kernel"),
            (11, "SIGSEGV: it tells of a mistake"),
            (0, "signal 0: there is no such"),
            (-1, "signal -1: there is no such"),
            (65, "signal 65: there is no such"),
            (33, "signal 33: the C library"),
        ] {
            let error = Signal(number).check().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(why), "{error}");
        }
        for signal in [Signal::INTERRUPT, Signal::CHILD, Signal::PIPE, Signal(libc::SIGRTMIN()), Signal(64)] {
            signal.check().unwrap();
        }
    }
}
