//! As much of URLs as a crawler needs: `http://AUTHORITY/TARGET`.

use std::fmt;

/// Where a page is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Url {
    /// Host and, if it is not 80, port.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) target: String,
}

impl Url {
    /// An absolute one of http.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        let text = text.strip_prefix("http://")?;
        let text = text.split('#').next()?;
        let (authority, target) = text.split_at(text.find(['/', '?']).unwrap_or(text.len()));
        if authority.is_empty() || authority.contains('@') || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        Some(Url { authority: authority.to_ascii_lowercase(), target: format!("{}{query}", without_dots(path)) })
    }

    /// What `link` means on the page at this URL; `None` if that is the same page, or not of http.
    pub(crate) fn join(&self, link: &str) -> Option<Url> {
        let Url { authority, target } = self;
        let path = target.split('?').next()?;
        let folder = &path[..=path.rfind('/')?];
        match link.trim() {
            "" => None,
            link if link.starts_with('#') => None,
            link if has_scheme(link) => Url::parse(link),
            link if link.starts_with("//") => Url::parse(&format!("http:{link}")),
            link if link.starts_with('/') => Url::parse(&format!("http://{authority}{link}")),
            link if link.starts_with('?') => Url::parse(&format!("http://{authority}{path}{link}")),
            link => Url::parse(&format!("http://{authority}{folder}{link}")),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.target)
    }
}

/// Whether a link begins like `mailto:`.
fn has_scheme(link: &str) -> bool {
    link.split_once(':').is_some_and(|(scheme, _)| !scheme.contains(['/', '?', '#']))
}

/// The path without its `.` and `..`, and with a slash in front.
fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
