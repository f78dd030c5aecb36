//! The calls of the protocol, and the beat of the updates.

use crate::feed::Feed;
use crate::hub::Hub;
use crate::source::Source;
use console_api::instrument::instrument_server::Instrument;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, PauseResponse, ResumeRequest, ResumeResponse, State, StateRequest,
    TaskDetailsRequest, Update,
};
use console_api::tasks::TaskDetails;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tonic::{Request, Response, Status};

/// More often than this nobody is told anything.
const SHORTEST: Duration = Duration::from_millis(1);

/// What the server's calls and its beat share. They run on one thread; the lock is never waited for, and held across no await.
#[derive(Clone)]
pub(crate) struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Mutex<Hub>,
    /// Somebody has begun to watch.
    begun: Notify,
}

impl Service {
    pub(crate) fn new(source: Box<dyn Source>) -> Service {
        Service { shared: Arc::new(Shared { hub: Mutex::new(Hub::new(source)), begun: Notify::new() }) }
    }

    /// Updates the clients once in an interval, while there are any.
    pub(crate) async fn beat(self, interval: Duration) {
        loop {
            self.shared.begun.notified().await;
            loop {
                tokio::time::sleep(interval.max(SHORTEST)).await;
                if !self.hub().publish() {
                    break;
                }
            }
        }
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.shared.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tonic::async_trait]
impl Instrument for Service {
    type WatchUpdatesStream = Feed<Update>;
    type WatchTaskDetailsStream = Feed<TaskDetails>;
    type WatchStateStream = Feed<State>;

    async fn watch_updates(&self, _: Request<InstrumentRequest>) -> Result<Response<Feed<Update>>, Status> {
        let feed = self.hub().watch();
        self.shared.begun.notify_one();
        Ok(Response::new(feed))
    }

    async fn watch_task_details(
        &self,
        request: Request<TaskDetailsRequest>,
    ) -> Result<Response<Feed<TaskDetails>>, Status> {
        let id = request.into_inner().id.ok_or_else(|| Status::invalid_argument("no id of a fiber"))?.id;
        let feed = self.hub().watch_details(id).ok_or_else(|| Status::not_found(format!("no fiber {id}")))?;
        self.shared.begun.notify_one();
        Ok(Response::new(feed))
    }

    async fn watch_state(&self, _: Request<StateRequest>) -> Result<Response<Feed<State>>, Status> {
        Ok(Response::new(self.hub().watch_state()))
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Result<Response<PauseResponse>, Status> {
        self.hub().pause(true);
        Ok(Response::new(PauseResponse {}))
    }

    async fn resume(&self, _: Request<ResumeRequest>) -> Result<Response<ResumeResponse>, Status> {
        self.hub().pause(false);
        Ok(Response::new(ResumeResponse {}))
    }
}
