//! What the examples say to arguments, good and bad.

use crate::common::watchdog::Watchdog;
use crate::program::example;
use std::process::{Command, Output};

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(example(name)).args(arguments).output().unwrap()
}

#[test]
fn every_example_has_help() {
    let body = || {
        for name in ["echo", "http", "proxy", "chat", "crawl"] {
            let output = run(name, &["--help"]);
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && text.contains(&format!("    {name} ")), "{name}: {text}");
        }
    };
    let _watchdog = Watchdog::over(&body, "help");
    body();
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_the_help() {
    let body = || {
        let cases: [(&str, &[&str], &str); 8] = [
            ("echo", &["--port", "7"], "one address"),
            ("http", &["127.0.0.1:0", "more"], "one address"),
            ("proxy", &["127.0.0.1:0"], "two addresses"),
            ("chat", &["--loud"], "one address"),
            ("crawl", &[], "a URL to begin with"),
            ("crawl", &["ftp://localhost/"], "no URL of http"),
            ("crawl", &["--pages", "none", "http://localhost/"], "--pages takes a number"),
            ("crawl", &["--page", "7"], "no flag --page"),
        ];
        for (name, arguments, complaint) in cases {
            let output = run(name, arguments);
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{name}: {text}");
            assert!(text.contains(complaint) && text.contains(&format!("    {name} ")), "{name}: {text}");
        }
    };
    let _watchdog = Watchdog::over(&body, "bad arguments");
    body();
}

#[test]
fn an_address_that_cannot_be_listened_on_is_an_error_that_names_it() {
    let body = || {
        for name in ["echo", "http", "chat"] {
            let output = run(name, &["192.0.2.1:80"]);
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{name}: {text}");
            assert!(text.starts_with(&format!("{name}: 192.0.2.1:80: ")), "{name}: {text}");
        }
    };
    let _watchdog = Watchdog::over(&body, "addresses");
    body();
}
