//! A crawler: fetches pages over http:// and the pages they link to, many at a time, but few from one host.
//!
//! ```text
//! cargo run --release --example crawl -- http://example.org/
//! cargo run --release --example crawl -- --pages 500 --at-once 100 --per-host 10 http://127.0.0.1:8080/
//! ```
//!
//! Every page is a fiber of one nursery, which ends with the last of them; that is how the crawler knows that it
//! is done. How many fetch at a time is a matter of semaphores, one for all and one for each host. Ctrl-C cancels the
//! nursery, and so every fetch. A fetch is plain blocking code: a library that knows of threads only, see [`client`].

mod client;
mod page;
mod url;

use page::Page;
use sisal::sync::{Mutex, Semaphore};
use sisal::{Cancelled, Nursery};
use std::collections::{HashMap, HashSet};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::Agent;
use url::Url;

const HELP: &str = "\
A crawler of pages over http.

    crawl [--pages NUMBER] [--at-once NUMBER] [--per-host NUMBER] URL...

    --pages NUMBER      fetch at most so many pages; 100 unless given
    --at-once NUMBER    so many at a time; 32 unless given
    --per-host NUMBER   so many at a time from one host; 4 unless given

A line is printed for each page: what came of it, its size, how long it took, and where it is.
";

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is to be done.
#[derive(Debug)]
struct Plan {
    pages: usize,
    at_once: usize,
    per_host: usize,
    urls: Vec<Url>,
}

fn main() -> ExitCode {
    let plan = match Plan::read(std::env::args().skip(1)) {
        Ok(Some(plan)) => plan,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("crawl: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let fetched = sisal::run(|| crawl(plan));
    println!("pages fetched: {fetched}");
    if fetched > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Plan {
    /// Reads the command line; `None` if it asks for help.
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Option<Plan>, String> {
        let mut plan = Plan { pages: 100, at_once: 32, per_host: 4, urls: Vec::new() };
        while let Some(argument) = arguments.next() {
            let mut number = || match arguments.next().map(|text| text.parse()) {
                Some(Ok(number)) if number > 0 => Ok(number),
                _ => Err(format!("{argument} takes a number above zero")),
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--pages" => plan.pages = number()?,
                "--at-once" => plan.at_once = number()?,
                "--per-host" => plan.per_host = number()?,
                flag if flag.starts_with('-') => return Err(format!("there is no flag {flag}")),
                url => plan.urls.push(Url::parse(url).ok_or_else(|| format!("this is no URL of http: {url}"))?),
            }
        }
        if plan.urls.is_empty() { Err("a URL to begin with is missing".to_owned()) } else { Ok(Some(plan)) }
    }
}

/// What the fibers share.
struct Crawl {
    agent: Agent,
    limit: usize,
    per_host: usize,
    at_once: Semaphore,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
    seen: Mutex<HashSet<Url>>,
    fetched: Mutex<usize>,
}

/// Fetches all there is; how many pages came.
fn crawl(plan: Plan) -> usize {
    let crawl = Crawl {
        agent: client::agent(),
        limit: plan.pages,
        per_host: plan.per_host,
        at_once: Semaphore::new(plan.at_once),
        hosts: Mutex::new(HashMap::new()),
        seen: Mutex::new(HashSet::new()),
        fetched: Mutex::new(0),
    };
    let ended = Nursery::options().cancel_on_signals().run(|n| {
        crawl.follow(plan.urls, n);
        Ok(())
    });
    if let Err(cancelled) = ended {
        sisal::eprintln!("crawl: {cancelled}");
    }
    crawl.fetched.into_inner()
}

impl Crawl {
    /// Has a fiber visit each page that nobody has seen, as long as there may be more.
    fn follow<'scope>(&'scope self, urls: Vec<Url>, nursery: &'scope Nursery<'scope, '_, Cancelled>) {
        let mut seen = self.seen.lock();
        for url in urls {
            if seen.len() < self.limit && seen.insert(url.clone()) {
                nursery.spawn(move || self.visit(&url, nursery));
            }
        }
    }

    /// Fetches a page when it is its turn, and follows its links.
    fn visit<'scope>(
        &'scope self,
        url: &Url,
        nursery: &'scope Nursery<'scope, '_, Cancelled>,
    ) -> Result<(), Cancelled> {
        if let Ok(page) = self.fetch(url)? {
            *self.fetched.lock() += 1;
            self.follow(page.links(url), nursery);
        }
        Ok(())
    }

    /// Waits for the host's turn first: whoever waits for that must not stand in the way of other hosts.
    fn fetch(&self, url: &Url) -> Result<io::Result<Page>, Cancelled> {
        let host = self.host(url);
        let _turn = host.acquire()?;
        let _slot = self.at_once.acquire()?;
        let start = Instant::now();
        let page = sisal::timeout(PATIENCE, || Page::fetch(&self.agent, url));
        let took = start.elapsed().as_millis();
        match &page {
            Ok(page) => sisal::println!("{}  {:>8} B  {took:>5} ms  {url}", page.status, page.body.len()),
            Err(error) => sisal::println!("---              {took:>5} ms  {url}: {error}"),
        }
        Ok(page)
    }

    fn host(&self, url: &Url) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock();
        Arc::clone(hosts.entry(url.authority.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.per_host))))
    }
}
