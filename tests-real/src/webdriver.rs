//! A browser without a window, driven by `chromedriver`: HTTP and JSON, as the WebDriver standard has it.

use crate::program::program;
use crate::server::Server;
use base64::prelude::{BASE64_STANDARD, Engine};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A browser with one page. It ends with this.
#[derive(Debug)]
pub struct Browser {
    driver: Server,
    session: String,
}

impl Browser {
    /// Starts one with a window of this size. None if it is not installed, which is said and counted.
    pub fn start(width: u32, height: u32) -> Option<Browser> {
        let (driver, chromium) = (program("chromedriver")?, program("chromium")?);
        let driver = Server::start(Signal::TERM, "started successfully", |port| {
            let mut command = driver.command();
            command.arg(format!("--port={port}"));
            command
        });
        let size = format!("--window-size={width},{height}");
        // Root may not use the sandbox, and the pages are ours. With a pipe the browser ends when its driver does, whatever
        // happens. The rest keeps it from talking to its maker.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            &size,
        ];
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
            "goog:chromeOptions": { "binary": chromium.path(), "args": arguments },
        } } });
        let mut browser = Browser { driver, session: String::new() };
        let answer = browser.call("POST", "/session", &capabilities);
        browser.session = answer["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Goes to a page.
    pub fn go(&self, url: &str) {
        self.command("url", &json!({ "url": url }));
    }

    /// Runs the body of a function in the page; what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true in the page. A watchdog has to be about.
    pub fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        while self.run(&script) != Value::Bool(true) {}
    }

    /// The text of an element, as it is to be seen.
    pub fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({}).innerText", json!(selector));
        self.run(&script).as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub fn press(&self, keys: &str) {
        let one = |key: char| {
            [
                json!({ "type": "keyDown", "value": key.to_string() }),
                json!({ "type": "keyUp", "value": key.to_string() }),
            ]
        };
        let actions: Vec<_> = keys.chars().flat_map(one).collect();
        self.command("actions", &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }));
    }

    /// Shows the page as in a window of this size.
    pub fn resize(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Shows the page as to somebody who prefers this colour scheme: `light` or `dark`.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Every address that a request was made to since it was last asked for, and every complaint on the page's console.
    pub fn requests_and_complaints(&self) -> (Vec<String>, Vec<String>) {
        let log = |kind: &str| self.command("se/log", &json!({ "type": kind })).as_array().cloned().unwrap_or_default();
        let sent = log("performance").into_iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let is_request = message["message"]["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["message"]["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        let complaints = log("browser").into_iter().filter_map(|entry| entry["message"].as_str().map(str::to_owned));
        (sent.collect(), complaints.collect())
    }

    /// A picture of what is to be seen, in PNG.
    pub fn screenshot(&self) -> Vec<u8> {
        let picture = self.call("GET", &format!("/session/{}/screenshot", self.session), &Value::Null);
        BASE64_STANDARD.decode(picture.as_str().unwrap()).unwrap()
    }

    /// What only this browser can do.
    fn devtools(&self, command: &str, parameters: &Value) {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let mut stream = TcpStream::connect(self.driver.address()).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (head, body) = read_answer(&mut BufReader::new(stream));
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()["value"].take()
    }
}

/// The driver keeps its connections open, so the body ends where its length says.
fn read_answer(reader: &mut impl BufRead) -> (String, String) {
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap() > 2 {}
    let length = head.lines().find_map(|line| {
        line.to_lowercase().strip_prefix("content-length:").map(|length| length.trim().parse().unwrap())
    });
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.session.is_empty() {
            self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
    }
}
