//! One request: find the process, connect, ask, read the answer. On a fiber, within a time.

use super::body::{LARGEST, read_body};
use super::failure::Failure;
use super::http::{Defect, Head, read_head};
use super::text::clean;
use super::token::Token;
use super::who::{Address, Who};
use super::{Snapshot, entry};
use crate::wording::plain;
use sisal::net::{TcpStream, ToSocketAddrs};
use std::io::{self, BufReader, Write};
use std::time::Duration;

/// Nobody who listens takes longer to say so.
const CONNECTING: Duration = Duration::from_secs(5);
/// How much of what a server says on refusing is told.
const LONGEST_REMARK: usize = 200;
const BUFFER: usize = 64 << 10;

/// A process that is asked.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(super) who: Who,
    pub(super) token: Option<Token>,
    /// Sent if neither the command line nor the process's own file has one.
    pub(super) fallback: Option<Token>,
    /// How long an answer may take, beside the time that the process was asked to wait.
    pub(super) timeout: Duration,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Who has answered.
    pub(crate) from: String,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Remote {
    /// What to call it.
    pub(crate) fn name(&self) -> String {
        self.who.to_string()
    }

    /// Asks for `path`, which takes the process this long by itself.
    pub(crate) fn get(&self, path: &str, takes: Duration) -> Result<Answer, Failure> {
        // Looked up each time: whoever has the number may have begun to serve elsewhere.
        let address = match &self.who {
            Who::Address(address) => address.clone(),
            Who::Process(process) => entry::find(*process)?,
        };
        let token = self.token.as_ref().or(address.token.as_ref()).or(self.fallback.as_ref());
        let from = match &self.who {
            Who::Address(address) => address.to_string(),
            Who::Process(process) => format!("process {process} ({address})"),
        };
        let limit = self.timeout + takes;
        let asked = sisal::timeout(limit, || {
            let stream = connect(&address, &from, limit)?;
            exchange(&stream, path, token).map_err(|defect| match defect {
                Defect::Broken(error) if is_late(&error) => Failure::Slow { to: from.clone(), limit },
                Defect::Broken(error) => Failure::Broken { to: from.clone(), reason: plain(&error) },
                Defect::NotHttp(reason) => Failure::NotHttp { to: from.clone(), reason },
            })
        });
        let (head, body) = asked?;
        match head.status {
            200 => Ok(Answer { from, content_type: head.content_type, body }),
            status => {
                Err(Failure::Refused { to: from, status, has_token: token.is_some(), said: remark(&head, &body) })
            }
        }
    }

    /// Asks for a snapshot.
    pub(crate) fn snapshot(&self, path: &str) -> Result<Snapshot, Failure> {
        let answer = self.get(path, Duration::ZERO)?;
        Snapshot::parse(&answer.body).map_err(|reason| answer.unlike(reason))
    }
}

impl Answer {
    /// It is not what was asked for.
    pub(crate) fn unlike(&self, reason: impl Into<String>) -> Failure {
        Failure::Content { to: self.from.clone(), reason: reason.into() }
    }
}

fn is_late(error: &io::Error) -> bool {
    // The only deadline around us, and nobody cancels us but to end the process.
    error.kind() == io::ErrorKind::TimedOut || sisal::is_cancelled(error)
}

/// Tries each of the host's addresses.
fn connect(address: &Address, from: &str, limit: Duration) -> Result<TcpStream, Failure> {
    let fail = |reason| Failure::Connect { to: from.to_owned(), reason };
    let addresses = (address.host.as_str(), address.port)
        .to_socket_addrs()
        .map_err(|error| fail(format!("no such host: {}", plain(&error))))?;
    let mut reason = "the host has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECTING) {
            Ok(stream) => return Ok(stream),
            Err(error) if sisal::is_cancelled(&error) => return Err(Failure::Slow { to: from.to_owned(), limit }),
            Err(error) if is_late(&error) => reason = format!("no answer within {} s", CONNECTING.as_secs()),
            Err(error) => reason = plain(&error),
        }
    }
    Err(fail(reason))
}

fn exchange(mut stream: &TcpStream, path: &str, token: Option<&Token>) -> Result<(Head, Vec<u8>), Defect> {
    // By number: names are refused, since pages of other sites could bring theirs to lead here.
    let host = stream.peer_addr()?;
    let authorization = token.map(|token| format!("Authorization: Bearer {}\r\n", token.as_str())).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::with_capacity(BUFFER, stream);
    let head = read_head(&mut reader)?;
    let body = read_body(&mut reader, head.length, LARGEST)?;
    Ok((head, body))
}

/// What a server says on refusing, if it is meant to be read.
fn remark(head: &Head, body: &[u8]) -> String {
    if head.content_type.as_deref() != Some("text/plain") {
        return String::new();
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST_REMARK)]);
    clean(text.lines().next().unwrap_or_default()).into_owned()
}
