//! Fetching a page, and finding the links in it.
//!
//! The request is of HTTP/1.0, so that a server answers with the page and then closes: there are no chunks to put
//! together, and no connection to keep.

use crate::url::Url;
use sisal::net::TcpStream;
use std::io::{self, Read, Write};

/// The longest page.
const LONGEST: u64 = 4 << 20;
/// The most headers of a page.
const HEADERS: usize = 100;

/// A page that came.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// Where it has gone to.
    location: Option<String>,
}

impl Page {
    /// Fetches it. What is too long is cut off.
    pub(crate) fn fetch(url: &Url) -> io::Result<Page> {
        let Url { authority, target } = url;
        let mut stream = TcpStream::connect(url.address())?;
        let request = format!("GET {target} HTTP/1.0\r\nHost: {authority}\r\nUser-Agent: sisal-crawl\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut bytes = Vec::new();
        stream.take(LONGEST).read_to_end(&mut bytes)?;
        Page::parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an answer by HTTP"))
    }

    fn parse(bytes: &[u8]) -> Option<Page> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = head.parse(bytes).ok()? else { return None };
        let location = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("location"));
        Some(Page {
            status: head.code?,
            body: String::from_utf8_lossy(&bytes[length..]).into_owned(),
            location: location.map(|header| String::from_utf8_lossy(header.value).into_owned()),
        })
    }

    /// Where it leads to: whatever stands in quotes after `href=`.
    pub(crate) fn links(&self, url: &Url) -> Vec<Url> {
        let quoted = |text: &str| -> Option<String> {
            let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            text[1..].split_once(quote).map(|(link, _)| link.replace("&amp;", "&"))
        };
        let in_text = self.body.split("href=").skip(1).filter_map(quoted);
        in_text.chain(self.location.clone()).filter_map(|link| url.join(&link)).collect()
    }
}
