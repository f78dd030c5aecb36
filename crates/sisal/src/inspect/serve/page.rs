//! The page: one answer that needs no other, put together from `page/`.
//!
//! The browser is told to load nothing from anywhere, to talk to nobody but this server, and to run only the script that
//! carries this answer's nonce, so that even a fiber's name that found its way into the page as HTML could do nothing. The
//! page itself shows names as text only.

use super::http::Response;
use std::hash::{BuildHasher, Hasher, RandomState};

const PAGE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [&str; 7] = [
    include_str!("page/model.js"),
    include_str!("page/overview.js"),
    include_str!("page/fibers.js"),
    include_str!("page/detail.js"),
    include_str!("page/graph.js"),
    include_str!("page/timeline.js"),
    include_str!("page/app.js"),
];

pub(super) fn response(status: u16) -> Response {
    let nonce = nonce();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("{style}", STYLE).replace("{script}", &SCRIPTS.concat()).replace("{nonce}", &nonce);
    let response = Response::new(status, "text/html; charset=utf-8", page).with("Content-Security-Policy", &policy);
    if status == 401 { response.with("WWW-Authenticate", "Bearer") } else { response }
}

/// A word that nobody can guess. The keys of `RandomState` come from the system's randomness.
fn nonce() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_asks_nobody() {
        let response = response(200);
        let page = String::from_utf8(response.body().to_vec()).unwrap();
        for left in ["{style}", "{script}", "{nonce}"] {
            assert!(!page.contains(left), "{left} was replaced");
        }
        // The one URL is the name of SVG, which nobody fetches.
        assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
        assert!(!page.contains("innerHTML"), "names are text");
    }

    #[test]
    fn no_nonce_comes_twice() {
        assert_ne!(nonce(), nonce());
        assert_eq!(nonce().len(), 32);
    }
}
