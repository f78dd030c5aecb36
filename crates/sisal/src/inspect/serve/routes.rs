//! What is answered to whom.

use super::auth;
use super::http::{Request, Response};
use super::page;
use super::query::Query;
use super::source::{Source, Wait};
use crate::inspect::asked::Token;
use std::sync::{Mutex, MutexGuard, TryLockError};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const PATHS: &str = "/, /debug/fibers, /debug/fibers.json, /debug/trace, /metrics, /metrics.json";

/// What requests are answered from.
pub(super) struct Routes {
    source: std::sync::Arc<dyn Source>,
    token: Option<Token>,
    /// Held while a trace runs: two would disturb each other, and take the threads that others wait for.
    tracing: Mutex<()>,
}

impl Routes {
    pub(super) fn new(source: std::sync::Arc<dyn Source>, token: Option<Token>) -> Routes {
        Routes { source, token, tracing: Mutex::new(()) }
    }

    /// The answer to a request, or why there is none.
    pub(super) fn answer(&self, request: &Request, wait: Wait<'_>) -> Result<Response, Response> {
        auth::check_origin(request)?;
        if !matches!(&*request.method, "GET" | "HEAD") {
            return Err(Response::text(405, "only GET and HEAD do something here\n").with("Allow", "GET, HEAD"));
        }
        if request.has_body {
            return Err(Response::text(413, "requests have no body here\n"));
        }
        let (path, query) = request.path_and_query();
        let query = Query::new(query);
        if path == "/" {
            // With a status that says that its data will be refused; it asks for the token then.
            let status =
                auth::check_token(request, self.token.as_ref()).map_or_else(|refusal| refusal.status, |()| 200);
            return Ok(page::response(status));
        }
        auth::check_token(request, self.token.as_ref())?;
        match path {
            "/debug/fibers" => Ok(Response::text(200, self.source.fibers_text(query.selection()?))),
            "/debug/fibers.json" => Ok(Response::json(self.source.fibers_json(query.selection()?))),
            "/debug/trace" => self.trace(request, &query, wait),
            "/metrics" => Ok(Response::new(200, PROMETHEUS, self.source.metrics_text())),
            "/metrics.json" => Ok(Response::json(self.source.metrics_json())),
            _ => Err(Response::text(404, format!("there is nothing here; there are {PATHS}\n"))),
        }
    }

    fn trace(&self, request: &Request, query: &Query<'_>, wait: Wait<'_>) -> Result<Response, Response> {
        let duration = query.seconds()?;
        if request.is_head() {
            return Ok(Response::json(String::new()));
        }
        // What is recorded already is only read.
        let _one_at_a_time = duration.map(|_| self.begin_trace()).transpose()?;
        let trace = self.source.trace_json(duration, wait);
        Ok(Response::json(trace).with("Content-Disposition", "inline; filename=\"sisal-trace.json\""))
    }

    fn begin_trace(&self) -> Result<MutexGuard<'_, ()>, Response> {
        match self.tracing.try_lock() {
            Ok(guard) => Ok(guard),
            // A trace that panicked is over.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let text = "a trace is running already; try again when it is over\n";
                Err(Response::text(503, text).with("Retry-After", "1"))
            }
        }
    }
}
