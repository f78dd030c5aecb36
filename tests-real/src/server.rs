//! Programs that serve until the test is over.

use crate::child::dies_with_this_thread;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, PipeReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

/// Somebody may take a port between our choice and the server's; then another is tried.
const ATTEMPTS: usize = 5;

/// A program that serves at a port of the loopback interface. It is told to end when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    end_by: Signal,
    address: SocketAddr,
}

impl Server {
    /// Starts what `command` makes for a port, and waits until it writes a line with `ready` in it. `end_by` is the signal by
    /// which it ends at once and cleanly.
    ///
    /// # Panics
    /// If it ends without having been ready, with what it said.
    pub fn start(end_by: Signal, ready: &'static str, command: impl Fn(u16) -> Command) -> Server {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            match Server::try_start(end_by, ready, command(port), port) {
                Ok(server) => return server,
                Err(words) => said = words,
            }
        }
        panic!("the server does not start: {said}");
    }

    /// Or what it said before it ended.
    fn try_start(end_by: Signal, ready: &'static str, mut command: Command, port: u16) -> Result<Server, String> {
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
        dies_with_this_thread(&mut command, end_by);
        let child = command.spawn().unwrap();
        // With it go our ends of the pipe, so that the reader sees the server's end.
        drop(command);
        let server = Server { child, end_by, address: (Ipv4Addr::LOCALHOST, port).into() };
        let (tell, told) = mpsc::channel();
        thread::spawn(move || listen(reader, ready, &tell));
        match told.recv().unwrap() {
            Ok(()) => Ok(server),
            Err(said) => Err(said),
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Reads what the server says as long as it runs, or it would wait for room in the pipe. Tells when it is ready, or that it
/// ended before.
fn listen(reader: PipeReader, ready: &str, tell: &mpsc::Sender<Result<(), String>>) {
    let (mut said, mut is_ready) = (String::new(), false);
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        if is_ready {
            continue;
        }
        said += &line;
        said.push('\n');
        if line.contains(ready) {
            is_ready = true;
            let _ = tell.send(Ok(()));
        }
    }
    if !is_ready {
        let _ = tell.send(Err(said));
    }
}

/// A port that nobody listens at, just now.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), self.end_by);
        let _ = self.child.wait();
    }
}
