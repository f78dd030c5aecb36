//! A server that says what it is told to.

use crate::samples;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

type Answer = Box<dyn Fn(&Request, &TcpStream) -> io::Result<()> + Send>;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// With what follows a question mark.
    pub(crate) path: String,
    /// All lines of the head.
    pub(crate) head: Vec<String>,
}

/// Answers one request per connection, until it is dropped.
pub(crate) struct Server {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

struct Shared {
    answer: Mutex<Option<Answer>>,
    requests: Mutex<Vec<Request>>,
}

impl Server {
    /// Answers with whatever bytes.
    pub(crate) fn new(answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Server {
        Server::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    /// The same, at a port that another had before.
    pub(crate) fn at(port: u16, answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Server {
        Server::on(TcpListener::bind(("127.0.0.1", port)).unwrap(), answer)
    }

    fn on(listener: TcpListener, answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Server {
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { answer: Mutex::default(), requests: Mutex::default() });
        shared.set(whole(answer));
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || of_thread.serve(&listener));
        Server { port, shared, thread: Some(thread) }
    }

    /// Answers every question of a snapshot with this.
    pub(crate) fn of(json: String) -> Server {
        Server::new(move |_| ok("application/json", &json))
    }

    /// Says something, and then nothing more until the guard is dropped, which has to be before the server is.
    pub(crate) fn stalls(&self, after: &'static [u8]) -> Stalled {
        let (guard, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        self.shared.set(move |_, mut stream| {
            stream.write_all(after)?;
            // Ends when the guard is gone.
            let _ = released.lock().unwrap().recv();
            Ok(())
        });
        Stalled(guard)
    }

    /// A process with a few fibers that answers as sisal does.
    pub(crate) fn small() -> Server {
        Server::new(small)
    }

    /// Answers with something else from now on.
    pub(crate) fn says(&self, answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) {
        self.shared.set(whole(answer));
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// All that was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.shared.answer.lock().unwrap() = None;
        // It looks again when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Holds a server back.
pub(crate) struct Stalled(#[allow(dead_code, reason = "it is there to be dropped")] mpsc::Sender<()>);

/// An answer that is written in one piece.
fn whole(answer: impl Fn(&Request) -> Vec<u8>) -> impl Fn(&Request, &TcpStream) -> io::Result<()> {
    move |request, mut stream| stream.write_all(&answer(request))
}

impl Shared {
    fn set(&self, answer: impl Fn(&Request, &TcpStream) -> io::Result<()> + Send + 'static) {
        *self.answer.lock().unwrap() = Some(Box::new(answer));
    }

    fn serve(&self, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if self.answer.lock().unwrap().is_none() {
                return;
            }
            // Whoever goes away early has what it wants.
            let _ = self.answer(&stream);
        }
    }

    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        let lines = BufReader::new(stream).lines();
        let head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let request = Request { path, head };
        self.requests.lock().unwrap().push(request.clone());
        match &*self.answer.lock().unwrap() {
            Some(answer) => answer(&request, stream),
            None => Ok(()),
        }
    }
}

/// An answer that is all right.
pub(crate) fn ok(kind: &str, body: &str) -> Vec<u8> {
    status("200 OK", kind, body)
}

pub(crate) fn status(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn small(request: &Request) -> Vec<u8> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let id = query.split('&').find_map(|pair| pair.strip_prefix("id=")).map(|id| id.parse::<u64>().unwrap());
    match (path, id) {
        ("/debug/fibers.json", Some(18)) => ok("application/json", &samples::one(18)),
        ("/debug/fibers.json", None) => ok("application/json", &samples::small()),
        ("/debug/fibers", None) => ok("text/plain; charset=utf-8", "fiber 1 [parked]\n\tmain.rs:3\n"),
        ("/debug/fibers", Some(18)) => ok("text/plain; charset=utf-8", "fiber 18 [parked]\n"),
        ("/debug/trace", _) => ok("application/json", r#"{"traceEvents":[{"ph":"X"}],"displayTimeUnit":"ns"}"#),
        _ => status("404 Not Found", "text/plain", "there is no such thing\n"),
    }
}
