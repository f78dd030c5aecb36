//! Fetching a page, and finding the links in it.

use crate::url::Url;
use std::io::{self, Read};
use ureq::{Agent, http::header::LOCATION};

/// The longest page.
const LONGEST: u64 = 4 << 20;

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
    pub(crate) fn fetch(agent: &Agent, url: &Url) -> io::Result<Page> {
        let mut answer = agent.get(url.to_string()).call().map_err(ureq::Error::into_io)?;
        let mut body = Vec::new();
        answer.body_mut().as_reader().take(LONGEST).read_to_end(&mut body)?;
        let location = answer.headers().get(LOCATION);
        Ok(Page {
            status: answer.status().as_u16(),
            body: String::from_utf8_lossy(&body).into_owned(),
            location: location.map(|header| String::from_utf8_lossy(header.as_bytes()).into_owned()),
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
