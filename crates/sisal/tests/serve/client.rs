//! A client that sends what it is told, to the byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// A header by its name in lower case. It comes once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        let value = found.next().map(|(_, value)| &**value);
        assert!(found.next().is_none(), "{name} comes twice: {self:?}");
        value
    }
}

/// Asks for a path, as a program on this machine does.
#[track_caller]
pub(crate) fn get(address: SocketAddr, target: &str) -> Answer {
    ask(address, "GET", target, &[])
}

/// Asks for a path with some more headers.
#[track_caller]
pub(crate) fn ask(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = format!("{method} {target} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request += &format!("Host: {address}\r\n");
    }
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    request += "\r\n";
    let answer = send(address, request.as_bytes()).expect("an answer");
    if method != "HEAD" {
        assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()), "{answer:?}");
    }
    answer
}

/// Sends bytes and nothing more; what comes back, if it is an answer.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that has had enough may have closed.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read(&mut stream)
}

/// Reads an answer to its end.
pub(crate) fn read(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    parse(&String::from_utf8(bytes).unwrap())
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no header: {line:?}"));
        (name.to_lowercase(), value.to_owned())
    });
    Some(Answer { status, headers: headers.collect(), body: body.to_owned() })
}
