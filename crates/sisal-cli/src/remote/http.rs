//! The head of an answer. HTTP/1.1 as far as one request on a connection of its own needs it.

use std::io::{self, BufRead, Read};

/// Longer heads are nothing that sisal would send.
const LONGEST_HEAD: u64 = 64 << 10;

/// What is said before the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: Length,
    /// What kind of text follows, without its parameters, in small letters.
    pub(super) content_type: Option<String>,
}

/// How the end of the body is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Bytes(u64),
    Chunked,
    UntilClosed,
}

/// Why something can't be read as an answer.
#[derive(Debug)]
pub(super) enum Defect {
    /// The connection failed.
    Broken(io::Error),
    /// It is not HTTP.
    NotHttp(String),
}

impl From<io::Error> for Defect {
    fn from(error: io::Error) -> Defect {
        Defect::Broken(error)
    }
}

pub(super) fn not_http<T>(reason: impl Into<String>) -> Result<T, Defect> {
    Err(Defect::NotHttp(reason.into()))
}

/// Reads the head, and leaves the reader at the body.
pub(super) fn read_head(reader: &mut impl BufRead) -> Result<Head, Defect> {
    let mut reader = reader.take(LONGEST_HEAD);
    loop {
        let head = read_one(&mut reader)?;
        // Those that begin with 1 announce another.
        if head.status >= 200 {
            return Ok(head);
        }
    }
}

fn read_one(reader: &mut impl BufRead) -> Result<Head, Defect> {
    let Some(status) = status(&read_line(reader)?) else {
        return not_http("it does not speak HTTP");
    };
    let mut head = Head { status, length: Length::UntilClosed, content_type: None };
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Ok(head);
        }
        let Some((name, value)) = line.split_once(':') else {
            return not_http("a header without a colon");
        };
        take_header(&mut head, name, value.trim())?;
    }
}

/// The number of `HTTP/1.1 200 OK`.
fn status(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("HTTP/1.")?;
    let number = rest.split(' ').nth(1)?;
    number.parse().ok().filter(|number| (100..600).contains(number))
}

fn take_header(head: &mut Head, name: &str, value: &str) -> Result<(), Defect> {
    match name.to_ascii_lowercase().as_str() {
        "content-length" if head.length != Length::Chunked => match value.parse() {
            Ok(length) => head.length = Length::Bytes(length),
            Err(_) => return not_http("its Content-Length is no number"),
        },
        "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => head.length = Length::Chunked,
        "transfer-encoding" => return not_http("its Transfer-Encoding is unknown"),
        "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
            return not_http("it is compressed, which was not asked for");
        }
        "content-type" => {
            head.content_type = value.split(';').next().map(|kind| kind.trim().to_ascii_lowercase());
        }
        _ => {}
    }
    Ok(())
}

/// Against lines without end.
const LONGEST_LINE: u64 = 64 << 10;

/// A line without its end.
pub(super) fn read_line(reader: &mut impl BufRead) -> Result<String, Defect> {
    let mut line = Vec::new();
    let read = reader.take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
    if line.pop() != Some(b'\n') {
        return not_http(if read == LONGEST_LINE { "a line has no end" } else { "it ends too early" });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).or_else(|_| not_http("it does not speak HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Head, String> {
        read_head(&mut text.as_bytes()).map_err(|defect| match defect {
            Defect::NotHttp(reason) => reason,
            Defect::Broken(error) => error.to_string(),
        })
    }

    #[test]
    fn a_head_tells_status_length_and_kind() {
        let text = "HTTP/1.1 200 OK\r\ncontent-type: Text/Plain; charset=utf-8\r\nContent-Length: 12\r\n\r\n";
        let plain = Head { status: 200, length: Length::Bytes(12), content_type: Some("text/plain".into()) };
        assert_eq!(head(text), Ok(plain));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n";
        assert_eq!(head(chunked).unwrap().length, Length::Chunked);
        assert_eq!(head("HTTP/1.0 404 Not Found\n\n").unwrap().length, Length::UntilClosed);
        assert_eq!(head("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n").unwrap().status, 204);
    }

    #[test]
    fn what_is_no_head_is_told() {
        assert_eq!(head("").unwrap_err(), "it ends too early");
        assert_eq!(head("HTTP/1.1 200 OK\r\n").unwrap_err(), "it ends too early");
        assert_eq!(head("SSH-2.0-OpenSSH\r\n").unwrap_err(), "it does not speak HTTP");
        assert_eq!(head("HTTP/1.1 abc\r\n\r\n").unwrap_err(), "it does not speak HTTP");
        assert_eq!(head("HTTP/1.1 200 OK\r\nnothing\r\n\r\n").unwrap_err(), "a header without a colon");
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(100_000));
        assert_eq!(head(&endless).unwrap_err(), "it ends too early");
        assert!(head("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").is_err());
    }
}
