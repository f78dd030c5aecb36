//! Who is asked: an address, or the number of a process.

use super::token::Token;
use std::fmt;
use std::str::FromStr;

const LOOPBACK: &str = "127.0.0.1";
const SCHEME: &str = "http://";
const HTTP_PORT: u16 = 80;

/// As it was said on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Address(Address),
    Process(u32),
}

/// Where a process serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Without the brackets of IPv6.
    pub(super) host: String,
    pub(super) port: u16,
    /// Stands in addresses that were copied from where a program has printed them.
    pub(super) token: Option<Token>,
}

impl FromStr for Who {
    type Err = String;

    fn from_str(text: &str) -> Result<Who, String> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().ok().filter(|number| (1..=i32::MAX as u32).contains(number));
            return number.map(Who::Process).ok_or_else(|| "no process has such a number".to_owned());
        }
        text.parse().map(Who::Address)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        const FORMS: &str = "it looks like 127.0.0.1:PORT, :PORT, http://HOST:PORT, or a PID";
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("https://") {
            return Err("sisal serves by http, not by https".to_owned());
        }
        let is_url = lower.starts_with(SCHEME);
        let (place, token) = if is_url { split_url(&text[SCHEME.len()..])? } else { (text, None) };
        let (host, port) = match place.rsplit_once(':') {
            // Not the colons inside of an IPv6 address.
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port > 0).ok_or("the port is a number from 1 to 65535")?;
                (host, port)
            }
            _ if is_url => (place, HTTP_PORT),
            _ => return Err(FORMS.to_owned()),
        };
        let host = match host {
            "" if is_url => return Err(FORMS.to_owned()),
            "" => LOOPBACK,
            host => match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
                Some(inside) => inside,
                None if host.contains(':') => return Err("an IPv6 address stands in brackets: [::1]:PORT".to_owned()),
                None => host,
            },
        };
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte)) {
            return Err(FORMS.to_owned());
        }
        Ok(Address { host: host.to_owned(), port, token })
    }
}

/// Host and port of an address without its scheme, and the token in it. There is but one server behind an address, so no path.
fn split_url(rest: &str) -> Result<(&str, Option<Token>), String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, rest) = rest.split_at(end);
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !matches!(path, "" | "/") {
        return Err("only http://HOST:PORT is asked for, without a path".to_owned());
    }
    let token = form_urlencoded::parse(query.as_bytes()).find_map(|(name, value)| (name == "token").then_some(value));
    Ok((place, token.map(|token| token.parse()).transpose()?))
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Address(address) => write!(f, "{address}"),
            Who::Process(number) => write!(f, "process {number}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port, .. } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        text.parse::<Who>().map_or_else(|error| error, |who| who.to_string())
    }

    #[test]
    fn addresses_and_process_numbers_are_told_apart() {
        assert_eq!(said("127.0.0.1:6060"), "127.0.0.1:6060");
        assert_eq!(said(":6060"), "127.0.0.1:6060");
        assert_eq!(said("http://localhost:6060"), "localhost:6060");
        assert_eq!(said("HTTP://localhost:6060/"), "localhost:6060");
        assert_eq!(said("http://localhost"), "localhost:80");
        assert_eq!(said("[::1]:6060"), "[::1]:6060");
        assert_eq!(said("http://[::1]"), "[::1]:80");
        assert_eq!(said("6060"), "process 6060");
    }

    #[test]
    fn what_is_neither_is_refused_with_a_reason() {
        assert_eq!(said("0"), "no process has such a number");
        assert_eq!(said("99999999999"), "no process has such a number");
        assert_eq!(said(":0"), "the port is a number from 1 to 65535");
        assert_eq!(said("host:http"), "the port is a number from 1 to 65535");
        assert_eq!(said("::1:80"), "an IPv6 address stands in brackets: [::1]:PORT");
        assert_eq!(said("https://host:1"), "sisal serves by http, not by https");
        assert_eq!(said("http://host:1/debug"), "only http://HOST:PORT is asked for, without a path");
        for text in ["", "host", "http://", "a b:1", "user@host:1", "[::1]", "http:///", "\u{fc}:1"] {
            assert!(said(text).starts_with("it looks like"), "{text}: {}", said(text));
        }
    }

    #[test]
    fn the_token_of_a_copied_address_is_taken() {
        let Ok(Who::Address(address)) = "http://127.0.0.1:80/?a=b&token=secret#x".parse() else { panic!() };
        assert_eq!(address.token.unwrap().as_str(), "secret");
        let Ok(Who::Address(address)) = "http://127.0.0.1:80/?token=a%2Bb%25c".parse() else { panic!() };
        assert_eq!(address.token.unwrap().as_str(), "a+b%c");
        assert_eq!(said("http://127.0.0.1:80/?token="), "a token is not empty");
    }
}
