//! Who may ask.
//!
//! 1. The `Host` has to be an IP address or `localhost`. A site that lets its own name resolve to 127.0.0.1, so that its
//!    scripts may read what they get from there, comes with its name.
//! 2. An `Origin` has to be our own, and a browser that says where a request comes from (`Sec-Fetch-Site`) must not name
//!    another site, unless somebody followed a link to the page. It holds nothing and makes nobody work: a link to data would let
//!    any site have traces taken and stacks walked. Nothing here is for a frame in a page.
//! 3. If a token is set, it has to be brought. The page itself holds nothing and is given out, to ask for it.

use super::http::{Request, Response};
use super::query::Query;
use crate::inspect::asked::Token;
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq;

/// Refuses a request that no program and no page of ours would make.
pub(super) fn check_origin(request: &Request) -> Result<(), Response> {
    match &request.host {
        Some(host) if is_address_or_localhost(host) => {}
        Some(_) => {
            let text = "the host has to be an IP address or localhost: names are refused, as a site could make its own lead here\n";
            return Err(Response::text(403, text));
        }
        // Whoever speaks HTTP/1.0 is no browser.
        None if !request.is_modern => {}
        None => return Err(Response::text(400, "the header Host is missing\n")),
    }
    if is_foreign(request) {
        return Err(Response::text(403, "requests from pages of other origins are refused\n"));
    }
    Ok(())
}

/// Refuses a request without the token, if one is set.
pub(super) fn check_token(request: &Request, token: Option<&Token>) -> Result<(), Response> {
    let Some(token) = token else {
        return Ok(());
    };
    let is_it = |given: &str| bool::from(given.as_bytes().ct_eq(token.as_str().as_bytes()));
    let in_header = request.authorization.as_deref().and_then(bearer);
    let in_query = Query::new(request.path_and_query().1).get("token");
    if in_header.is_some_and(is_it) || in_query.is_some_and(|given| is_it(&given)) {
        return Ok(());
    }
    let text = "this needs the token: send `Authorization: Bearer TOKEN`, or add ?token=TOKEN\n";
    Err(Response::text(401, text).with("WWW-Authenticate", "Bearer"))
}

/// The token of `Bearer TOKEN`.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// `127.0.0.1`, `127.0.0.1:80`, `[::1]`, `[::1]:80`, `localhost`, `localhost:80`
fn is_address_or_localhost(host: &str) -> bool {
    if host.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let is_v6 = |host: &str| host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).is_some_and(is_v6_address);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => {
            if port.parse::<u16>().is_err() {
                return false;
            }
            name
        }
        _ => host,
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::Ipv4Addr>().is_ok() || is_v6(name)
}

fn is_v6_address(text: &str) -> bool {
    matches!(text.parse(), Ok(IpAddr::V6(_)))
}

/// Whether a page of another origin made this request, or one to show the answer inside of it.
fn is_foreign(request: &Request) -> bool {
    if let Some(origin) = &request.origin {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_ours = authority.is_some() && authority == request.host.as_deref();
        return !is_ours;
    }
    if matches!(request.fetch_dest.as_deref(), Some("iframe" | "frame" | "embed" | "object")) {
        return true;
    }
    let is_link = request.fetch_mode.as_deref() == Some("navigate") && request.path_and_query().0 == "/";
    match request.fetch_site.as_deref() {
        None | Some("same-origin" | "none") => false,
        Some(_) => !is_link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_localhost() {
        let good = ["127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "localhost", "LOCALHOST:6060", "192.168.0.7:1"];
        for host in good {
            assert!(is_address_or_localhost(host), "{host}");
        }
        let bad = ["", "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example:80", "::1"];
        let worse = [
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "[::1",
            "[localhost]",
            "127.0.0.1:80:80",
            "evil@127.0.0.1",
        ];
        for host in bad.into_iter().chain(worse) {
            assert!(!is_address_or_localhost(host), "{host}");
        }
    }

    fn request(origin: Option<&str>, site: Option<&str>, mode: Option<&str>) -> Request {
        request_for("/", origin, site, mode)
    }

    fn request_for(target: &str, origin: Option<&str>, site: Option<&str>, mode: Option<&str>) -> Request {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Request {
            target: target.to_owned(),
            host: Some("127.0.0.1:80".to_owned()),
            origin: owned(origin),
            fetch_site: owned(site),
            fetch_mode: owned(mode),
            ..Request::default()
        }
    }

    #[test]
    fn only_our_own_page_and_links_may_ask() {
        let ours = [
            (None, None, None),
            (Some("http://127.0.0.1:80"), Some("same-origin"), Some("cors")),
            (None, Some("same-origin"), Some("cors")),
            (None, Some("none"), Some("navigate")),
            (None, Some("cross-site"), Some("navigate")),
        ];
        for (origin, site, mode) in ours {
            assert!(!is_foreign(&request(origin, site, mode)), "{origin:?} {site:?} {mode:?}");
        }
        let foreign = [
            (Some("http://evil.example"), None, None),
            (Some("http://127.0.0.1:81"), None, None),
            (Some("http://localhost:80"), None, None),
            (Some("null"), None, None),
            (Some(""), None, None),
            (None, Some("cross-site"), Some("no-cors")),
            (None, Some("same-site"), Some("cors")),
            (None, Some("cross-site"), None),
        ];
        for (origin, site, mode) in foreign {
            assert!(is_foreign(&request(origin, site, mode)), "{origin:?} {site:?} {mode:?}");
        }
    }

    #[test]
    fn links_of_other_sites_lead_to_the_page_and_not_to_data() {
        let linked = |target: &str, site: &str| is_foreign(&request_for(target, None, Some(site), Some("navigate")));
        for site in ["cross-site", "same-site"] {
            assert!(!linked("/", site) && !linked("/?token=s3cret", site));
            for data in ["/debug/trace?seconds=60", "/debug/fibers", "/metrics", "//", "/debug/trace?/"] {
                assert!(linked(data, site), "{data}");
            }
        }
        assert!(!linked("/debug/fibers", "none"), "somebody typed it");
        assert!(!linked("/debug/fibers", "same-origin"));
    }

    #[test]
    fn nothing_is_shown_inside_of_a_page() {
        for place in ["iframe", "frame", "embed", "object"] {
            for site in ["cross-site", "same-site", "same-origin"] {
                let mut request = request(None, Some(site), Some("navigate"));
                request.fetch_dest = Some(place.to_owned());
                assert!(is_foreign(&request), "{place} {site}");
            }
        }
    }

    #[test]
    fn tokens_come_in_a_header_or_a_query() {
        let token = Token::new("s3cret+");
        let check = |authorization: Option<&str>, target: &str| {
            let request = Request {
                authorization: authorization.map(str::to_owned),
                target: target.to_owned(),
                ..Request::default()
            };
            check_token(&request, Some(&token)).is_ok()
        };
        assert!(check(Some("Bearer s3cret+"), "/"));
        assert!(check(Some("bearer  s3cret+"), "/"));
        assert!(check(None, "/?a=b&token=s3cret%2B"));
        for wrong in
            ["Bearer", "Bearer ", "Bearer s3cret", "Bearer s3cret-", "Bearer s3cret+x", "Basic s3cret+", "s3cret+"]
        {
            assert!(!check(Some(wrong), "/?token="), "{wrong}");
        }
        assert!(!check(None, "/token=s3cret%2B"));
        assert!(check_token(&Request::default(), None).is_ok());
    }
}
