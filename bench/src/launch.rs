//! One child process, from start to its sample.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::sample::{self, Absent, Sample};

/// How long a child may take. The slowest, which idles for 10 s, takes 11 s.
pub const LIMIT: Duration = Duration::from_secs(120);

/// How to start a contestant.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Why there is no sample.
#[derive(Debug)]
pub enum Failure {
    /// The contestant has no part in the case.
    Absent(Absent),
    /// It should have had one.
    Broken(String),
}

impl Launch {
    /// Runs the child to its end, or to the `limit`.
    pub fn run(&self, limit: Duration) -> Result<Sample, Failure> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Broken(format!("cannot be started: {error}")))?;
        let ended = wait(child, limit).map_err(|error| Failure::Broken(format!("lost: {error}")))?;
        let Some(ended) = ended else {
            return Err(Failure::Broken(format!("killed after {} s", limit.as_secs())));
        };
        match sample::parse(&ended.stdout) {
            _ if !ended.status.success() => Err(Failure::Broken(ended.complaint())),
            Some(Ok(sample)) => Ok(sample),
            Some(Err(absent)) => Err(Failure::Absent(absent)),
            None => Err(Failure::Broken("printed no sample".to_owned())),
        }
    }
}

/// A child that came to its own end.
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// How it ended and what it said about that.
    fn complaint(&self) -> String {
        match self.stderr.trim() {
            "" => self.status.to_string(),
            said => format!("{}: {}", self.status, said.replace('\n', "; ")),
        }
    }
}

/// Waits for the child to close its output, at most to the `limit`, and takes leave of it; `None` if
/// it had to be killed. The parent sleeps meanwhile: it must take no CPU from what is measured.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<Ended>> {
    let (closed, closing) = mpsc::channel();
    let stdout = read_to_end(child.stdout.take(), closed.clone());
    let stderr = read_to_end(child.stderr.take(), closed);
    // Both readers hang up when the child's ends of the pipes close, that is when it is gone.
    let in_time = closing.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected);
    if !in_time {
        child.kill()?;
    }
    let status = child.wait()?;
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    Ok(in_time.then_some(Ended { status, stdout, stderr }))
}

/// Reads a pipe on a thread of its own, which holds `closed` until there is no more.
fn read_to_end(pipe: Option<impl Read + Send + 'static>, closed: mpsc::Sender<()>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks ends like one that closes: what came is judged.
            let _ = pipe.read_to_end(&mut bytes);
        }
        drop(closed);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Sample, Failure> {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        Launch { program: "/bin/sh".into(), arguments }.run(limit)
    }

    fn broken(script: &str, limit: Duration) -> String {
        match shell(script, limit) {
            Err(Failure::Broken(reason)) => reason,
            other => panic!("{script}: {other:?}"),
        }
    }

    #[test]
    fn a_sample_is_taken_from_a_child_that_ends_well() {
        let sample = shell("echo sample figure=1 cpu=2", LIMIT).unwrap();
        assert_eq!(sample, Sample::new(1.0, 2.0));
    }

    #[test]
    fn an_absent_contestant_says_why() {
        match shell("echo absent no stacks", LIMIT) {
            Err(Failure::Absent(absent)) => assert_eq!(absent.reason, "no stacks"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_child_that_fails_is_broken_whatever_it_printed() {
        let reason = broken("echo sample figure=1 cpu=2; echo oh no >&2; exit 3", LIMIT);
        assert!(reason.contains('3') && reason.contains("oh no"), "{reason}");
        assert_eq!(broken("true", LIMIT), "printed no sample");
    }

    #[test]
    fn a_child_that_hangs_is_killed() {
        let reason = broken("exec sleep 600", Duration::from_secs(1));
        assert_eq!(reason, "killed after 1 s");
    }
}
