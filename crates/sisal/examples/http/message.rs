//! Requests and responses as they are on the wire.

#[path = "date.rs"]
mod date;

use httparse::{Error, Header, Status as Progress};
use std::borrow::Cow;
use std::io::Write;
use std::mem::MaybeUninit;

/// The longest head of a request: its first line and its headers.
pub(super) const HEAD_LIMIT: usize = 8 << 10;
/// The longest body of a request.
pub(super) const BODY_LIMIT: usize = 1 << 20;
/// The most headers of a request.
const HEADERS: usize = 64;
/// What a client wants to hear before it sends a long body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request, which lies in the buffer of its connection.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Without the query.
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// Whether the client wants to send more on this connection.
    pub(crate) keep_alive: bool,
}

/// What is there of a request.
pub(super) enum Parsed<'a> {
    Whole { request: Request<'a>, length: usize },
    Part { wants_encouragement: bool },
}

/// Reads a request from the front of `bytes`, or says what is wrong with it.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, Status> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut head = httparse::Request::new(&mut []);
    let length = match head.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Progress::Complete(length)) if length <= HEAD_LIMIT => length,
        Ok(Progress::Partial) if bytes.len() < HEAD_LIMIT => return Ok(Parsed::Part { wants_encouragement: false }),
        Ok(_) | Err(Error::TooManyHeaders) => return Err(Status::HeadersTooLarge),
        Err(_) => return Err(Status::BadRequest),
    };
    let fields = Fields::read(head.headers, head.version == Some(1))?;
    let (Some(method), Some(target)) = (head.method, head.path) else { return Err(Status::BadRequest) };
    let Some(body) = bytes[length..].get(..fields.body) else {
        return Ok(Parsed::Part { wants_encouragement: fields.wants_encouragement });
    };
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    let request = Request { method, path, body, keep_alive: fields.keep_alive };
    Ok(Parsed::Whole { request, length: length + fields.body })
}

/// What the headers say of the request's form.
struct Fields {
    body: usize,
    keep_alive: bool,
    wants_encouragement: bool,
}

impl Fields {
    fn read(headers: &[Header<'_>], is_new: bool) -> Result<Fields, Status> {
        let mut fields = Fields { body: 0, keep_alive: is_new, wants_encouragement: false };
        let (mut hosts, mut length, mut is_chunked) = (0, None, false);
        for Header { name, value } in headers {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("host") {
                hosts += 1;
            } else if is("content-length") {
                let given = number(value).ok_or(Status::BadRequest)?;
                if length.replace(given).is_some_and(|before| before != given) {
                    return Err(Status::BadRequest);
                }
            } else if is("transfer-encoding") {
                is_chunked = true;
            } else if is("connection") {
                for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    if word.eq_ignore_ascii_case(b"close") {
                        fields.keep_alive = false;
                    } else if word.eq_ignore_ascii_case(b"keep-alive") && !is_new {
                        fields.keep_alive = true;
                    }
                }
            } else if is("expect") {
                fields.wants_encouragement = value.eq_ignore_ascii_case(b"100-continue");
            }
        }
        match (is_new, hosts, is_chunked, length) {
            (true, 0 | 2.., ..) | (_, _, true, Some(_)) => Err(Status::BadRequest),
            (_, _, true, None) => Err(Status::NotImplemented),
            (_, _, _, Some(long)) if long > BODY_LIMIT as u64 => Err(Status::BodyTooLarge),
            _ => Ok(Fields { body: length.unwrap_or(0) as usize, ..fields }),
        }
    }
}

/// A number of digits alone; one too great to be true is the greatest there is.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

/// How a request fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    NotAllowed,
    Timeout,
    BodyTooLarge,
    HeadersTooLarge,
    NotImplemented,
    Unavailable,
}

impl Status {
    /// Its number and its words.
    const fn words(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::NotAllowed => "405 Method Not Allowed",
            Status::Timeout => "408 Request Timeout",
            Status::BodyTooLarge => "413 Content Too Large",
            Status::HeadersTooLarge => "431 Request Header Fields Too Large",
            Status::NotImplemented => "501 Not Implemented",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// A response. Its body may lie in that of the request.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    status: Status,
    content_type: &'static str,
    /// The methods that are, if that of the request is not.
    allowed: Option<&'static str>,
    body: Cow<'a, [u8]>,
}

impl<'a> Response<'a> {
    /// One that says no more than this.
    pub(crate) fn status(status: Status) -> Response<'a> {
        Response::text("").with_status(status).with_text(status.words())
    }

    /// A text.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Response<'a> {
        let body = Cow::Borrowed(&[][..]);
        Response { status: Status::Ok, content_type: "text/plain; charset=utf-8", allowed: None, body }.with_text(text)
    }

    /// Whatever this is.
    pub(crate) fn bytes(body: impl Into<Cow<'a, [u8]>>) -> Response<'a> {
        Response { content_type: "application/octet-stream", body: body.into(), ..Response::text("") }
    }

    /// That these methods are the ones for this path.
    pub(crate) fn not_allowed(methods: &'static str) -> Response<'a> {
        Response { allowed: Some(methods), ..Response::status(Status::NotAllowed) }
    }

    /// The same with another text.
    pub(crate) fn with_text(self, text: impl Into<Cow<'a, str>>) -> Response<'a> {
        let body = match text.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        Response { body, ..self }
    }

    fn with_status(self, status: Status) -> Response<'a> {
        Response { status, ..self }
    }

    /// Writes it out; for a `HEAD` request without the body.
    pub(super) fn write(&self, output: &mut Vec<u8>, is_head: bool, is_last: bool) {
        let mut put = |text: &str| output.extend_from_slice(text.as_bytes());
        put("HTTP/1.1 ");
        put(self.status.words());
        put("\r\nContent-Type: ");
        put(self.content_type);
        put("\r\nDate: ");
        date::with_now(&mut put);
        if let Some(methods) = self.allowed {
            put("\r\nAllow: ");
            put(methods);
        }
        put(if is_last { "\r\nConnection: close" } else { "\r\nConnection: keep-alive" });
        // Writing to a vector can't fail.
        let _ = write!(output, "\r\nContent-Length: {}\r\n\r\n", self.body.len());
        if !is_head {
            output.extend_from_slice(&self.body);
        }
    }
}
