//! Requests and answers as bytes. Requests are parsed by `httparse`; what they mean is not looked at here.

use std::fmt::Write;

/// The most that a request may have before its body.
pub(super) const LARGEST_HEAD: usize = 16 << 10;
/// The most headers of a request.
const MOST_HEADERS: usize = 64;

/// What matters of a request.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    /// Whether it is of HTTP/1.1, which wants a host named.
    pub(super) is_modern: bool,
    pub(super) has_body: bool,
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    pub(super) authorization: Option<String>,
    /// Where a browser says that the request comes from: `same-origin`, `cross-site`...
    pub(super) fetch_site: Option<String>,
    /// What a browser makes the request for: `navigate`, `cors`, `no-cors`...
    pub(super) fetch_mode: Option<String>,
    /// What a browser wants to do with the answer: `document`, `iframe`, `empty`...
    pub(super) fetch_dest: Option<String>,
}

impl Request {
    /// Reads a request from its first bytes. `None` if there have to be more.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Request>, Response> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Partial) if bytes.len() < LARGEST_HEAD => Ok(None),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => Err(Response::too_large()),
            Ok(httparse::Status::Complete(_)) => Request::of(&parsed).map(Some),
            Err(error) => Err(Response::text(400, format!("this is not HTTP: {error}\n"))),
        }
    }

    fn of(parsed: &httparse::Request<'_, '_>) -> Result<Request, Response> {
        let mut request = Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            is_modern: parsed.version == Some(1),
            ..Request::default()
        };
        for header in parsed.headers.iter() {
            request.note(header)?;
        }
        Ok(request)
    }

    /// Keeps a header that matters. One that comes twice has no meaning, and may be an attempt to be read in two ways.
    fn note(&mut self, header: &httparse::Header<'_>) -> Result<(), Response> {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let field = if is("host") {
            &mut self.host
        } else if is("origin") {
            &mut self.origin
        } else if is("authorization") {
            &mut self.authorization
        } else if is("sec-fetch-site") {
            &mut self.fetch_site
        } else if is("sec-fetch-mode") {
            &mut self.fetch_mode
        } else if is("sec-fetch-dest") {
            &mut self.fetch_dest
        } else {
            self.has_body |= is("transfer-encoding") || (is("content-length") && header.value.trim_ascii() != b"0");
            return Ok(());
        };
        let Ok(value) = std::str::from_utf8(header.value) else {
            return Err(Response::text(400, format!("the header {} is not text\n", header.name)));
        };
        match field.replace(value.trim().to_owned()) {
            None => Ok(()),
            Some(_) => Err(Response::text(400, format!("the header {} comes twice\n", header.name))),
        }
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The target without and behind its question mark.
    pub(super) fn path_and_query(&self) -> (&str, &str) {
        self.target.split_once('?').unwrap_or((&self.target, ""))
    }
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    content_type: &'static str,
    /// Further headers, each with its end of line.
    headers: String,
    body: String,
}

impl Response {
    pub(super) fn new(status: u16, content_type: &'static str, body: String) -> Response {
        Response { status, content_type, headers: String::new(), body }
    }

    pub(super) fn text(status: u16, body: impl Into<String>) -> Response {
        Response::new(status, "text/plain; charset=utf-8", body.into())
    }

    pub(super) fn json(body: String) -> Response {
        Response::new(200, "application/json", body)
    }

    fn too_large() -> Response {
        Response::text(431, format!("a request may have {MOST_HEADERS} headers and {LARGEST_HEAD} bytes\n"))
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Response {
        debug_assert!(!value.contains(['\r', '\n']), "a header is one line");
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// What goes to the client before the body. Nothing is kept anywhere, framed, or taken for another type than it has.
    pub(super) fn head(&self) -> String {
        format!(
            "HTTP/1.1 {} {}\r\n\
             Content-Type: {}\r\n\
             Content-Length: {}\r\n\
             Connection: close\r\n\
             Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n\
             X-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             {}\r\n",
            self.status,
            reason(self.status),
            self.content_type,
            self.body.len(),
            self.headers,
        )
    }

    pub(super) fn body(&self) -> &[u8] {
        self.body.as_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, u16> {
        Request::parse(text.as_bytes()).map_err(|response| response.status)
    }

    #[test]
    fn a_request_is_read_when_it_is_whole() {
        let text = "GET /debug/fibers?id=1 HTTP/1.1\r\nhost: localhost\r\nCONTENT-LENGTH: 0\r\n\r\n";
        for end in 0..text.len() {
            assert!(parse(&text[..end]).unwrap().is_none(), "{end} bytes");
        }
        let request = parse(text).unwrap().unwrap();
        assert_eq!((&*request.method, request.path_and_query()), ("GET", ("/debug/fibers", "id=1")));
        assert_eq!(request.host.as_deref(), Some("localhost"));
        assert!(request.is_modern && !request.has_body);
    }

    #[test]
    fn bodies_are_noticed() {
        for header in ["Content-Length: 5", "Transfer-Encoding: chunked", "Content-Length: 00"] {
            assert!(parse(&format!("GET / HTTP/1.1\r\n{header}\r\n\r\n")).unwrap().unwrap().has_body, "{header}");
        }
    }

    #[test]
    fn headers_that_matter_come_once() {
        for name in ["Host", "Origin", "Authorization", "Sec-Fetch-Site"] {
            let text = format!("GET / HTTP/1.1\r\n{name}: a\r\n{}: b\r\n\r\n", name.to_lowercase());
            assert_eq!(parse(&text).unwrap_err(), 400, "{name}");
        }
    }

    #[test]
    fn requests_have_limits() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LARGEST_HEAD));
        assert_eq!(parse(&long[..LARGEST_HEAD]).unwrap_err(), 431);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(parse(&many).unwrap_err(), 431);
        assert_eq!(parse("GET / HTTP/7.0\r\n\r\n").unwrap_err(), 400);
    }
}
