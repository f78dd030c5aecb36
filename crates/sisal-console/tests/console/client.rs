//! A client that keeps what it was told, as tokio-console does.

use console_api::instrument::instrument_client::InstrumentClient;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, ResumeRequest, StateRequest, TaskDetailsRequest, Temporality, Update,
};
use console_api::tasks::{Stats, Task, TaskDetails};
use console_api::{async_ops, resources};
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::time::SystemTime;
use tokio::runtime::{self, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

pub(crate) struct Client {
    runtime: Runtime,
    stub: InstrumentClient<Channel>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::try_connect(address).unwrap()
    }

    pub(crate) fn try_connect(address: SocketAddr) -> Result<Client, tonic::transport::Error> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = runtime.block_on(endpoint.connect())?;
        Ok(Client { runtime, stub: InstrumentClient::new(channel) })
    }

    fn wait<T>(&mut self, call: impl AsyncFnOnce(&mut InstrumentClient<Channel>) -> T) -> T {
        self.runtime.block_on(call(&mut self.stub))
    }

    pub(crate) fn watch(&mut self) -> World {
        let updates = self.wait(async |stub| stub.watch_updates(InstrumentRequest {}).await).unwrap().into_inner();
        World { updates, tasks: BTreeMap::new(), resources: BTreeMap::new(), ops: BTreeMap::new(), faces: 0, now: None }
    }

    pub(crate) fn details(&mut self, id: u64) -> Result<Streaming<TaskDetails>, Status> {
        let request = TaskDetailsRequest { id: Some(id.into()) };
        self.wait(async |stub| stub.watch_task_details(request).await).map(tonic::Response::into_inner)
    }

    pub(crate) fn states(&mut self) -> Streaming<console_api::instrument::State> {
        self.wait(async |stub| stub.watch_state(StateRequest {}).await).unwrap().into_inner()
    }

    pub(crate) fn pause(&mut self) {
        self.wait(async |stub| stub.pause(PauseRequest {}).await).unwrap();
    }

    pub(crate) fn resume(&mut self) {
        self.wait(async |stub| stub.resume(ResumeRequest {}).await).unwrap();
    }

    /// The next message of a stream. None if it has ended, in whatever way.
    pub(crate) fn next<T>(&mut self, stream: &mut Streaming<T>) -> Option<T> {
        self.block_on(stream.message()).unwrap_or_default()
    }

    pub(crate) fn is_paused(&mut self, states: &mut Streaming<console_api::instrument::State>) -> bool {
        self.next(states).unwrap().temporality() == Temporality::Paused
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Reads updates until the condition holds.
    pub(crate) fn until(&mut self, world: &mut World, condition: impl Fn(&World) -> bool) {
        while !condition(world) {
            let update = self.next(&mut world.updates).expect("the stream goes on");
            world.take(update);
        }
    }
}

/// What a client knows.
pub(crate) struct World {
    pub(crate) updates: Streaming<Update>,
    pub(crate) tasks: BTreeMap<u64, (Task, Stats)>,
    pub(crate) resources: BTreeMap<u64, (resources::Resource, resources::Stats)>,
    pub(crate) ops: BTreeMap<u64, (async_ops::AsyncOp, async_ops::Stats)>,
    /// How many tasks it was told of, the same one once more included.
    pub(crate) faces: usize,
    pub(crate) now: Option<SystemTime>,
}

impl World {
    pub(crate) fn take(&mut self, update: Update) {
        self.now = Some(update.now.unwrap().try_into().unwrap());
        let mut tasks = update.task_update.unwrap();
        self.faces += tasks.new_tasks.len();
        merge(&mut self.tasks, tasks.new_tasks, &mut tasks.stats_update, |task| task.id);
        let mut objects = update.resource_update.unwrap();
        merge(&mut self.resources, objects.new_resources, &mut objects.stats_update, |object| object.id);
        let mut ops = update.async_op_update.unwrap();
        merge(&mut self.ops, ops.new_async_ops, &mut ops.stats_update, |op| op.id);
    }

    /// A field of a task, as it is shown.
    pub(crate) fn field(&self, id: u64, name: &str) -> Option<String> {
        let (task, _) = self.tasks.get(&id)?;
        let start = format!("{name}=");
        task.fields.iter().find_map(|field| field.to_string().strip_prefix(&start).map(str::to_owned))
    }

    /// The state that tokio-console shows, by the same rules.
    pub(crate) fn state(&self, id: u64) -> &'static str {
        let Some((_, stats)) = self.tasks.get(&id) else { return "unknown" };
        let time = |stamp: Option<_>| stamp.map(|stamp| SystemTime::try_from(stamp).unwrap());
        let polls = stats.poll_stats.as_ref().unwrap();
        let started = time(polls.last_poll_started);
        if stats.dropped_at.is_some() {
            "completed"
        } else if started > time(polls.last_poll_ended) {
            "running"
        } else if time(stats.last_wake) > started {
            "scheduled"
        } else {
            "idle"
        }
    }

    pub(crate) fn polls(&self, id: u64) -> u64 {
        self.tasks[&id].1.poll_stats.as_ref().unwrap().polls
    }

    /// An attribute of a resource, as it is shown.
    pub(crate) fn attribute(&self, id: u64, name: &str) -> Option<String> {
        let (_, stats) = self.resources.get(&id)?;
        let start = format!("{name}=");
        let mut fields = stats.attributes.iter().filter_map(|attribute| attribute.field.as_ref());
        fields.find_map(|field| field.to_string().strip_prefix(&start).map(str::to_owned))
    }
}

/// New things must come with their figures, and figures belong to something that was told of.
fn merge<F, S>(
    known: &mut BTreeMap<u64, (F, S)>,
    faces: Vec<F>,
    figures: &mut std::collections::HashMap<u64, S>,
    id: impl Fn(&F) -> Option<console_api::Id>,
) {
    for face in faces {
        let id = id(&face).unwrap().id;
        known.insert(id, (face, figures.remove(&id).expect("a new thing comes with its figures")));
    }
    for (id, figures) in figures.drain() {
        known.get_mut(&id).expect("figures are of a known thing").1 = figures;
    }
}
