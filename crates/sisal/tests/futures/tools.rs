//! Futures to test with.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Something that a future waits for and anybody can raise.
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_raised: bool,
    polls: usize,
    wakers: Vec<Waker>,
}

impl Flag {
    /// Raises it and wakes whoever waits for that.
    pub(crate) fn raise(&self) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.is_raised = true;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// A waker of somebody who has polled, to be called at any time.
    pub(crate) fn waker(&self) -> Option<Waker> {
        self.0.lock().unwrap().wakers.last().cloned()
    }

    pub(crate) fn polls(&self) -> usize {
        self.0.lock().unwrap().polls
    }

    /// Whether somebody has been told to wait.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.0.lock().unwrap().wakers.is_empty()
    }

    /// Waits until it is raised.
    pub(crate) fn raised(&self) -> impl Future<Output = ()> + Send + 'static {
        let state = Arc::clone(&self.0);
        poll_fn(move |context| {
            let mut state = state.lock().unwrap();
            state.polls += 1;
            if state.is_raised {
                return Poll::Ready(());
            }
            state.wakers.push(context.waker().clone());
            Poll::Pending
        })
    }
}

/// A future that is ready when it has been polled so often, and wakes itself each time.
pub(crate) fn after_polls(polls: usize) -> impl Future<Output = usize> + Send {
    let mut polled = 0;
    poll_fn(move |context| {
        polled += 1;
        if polled >= polls {
            return Poll::Ready(polled);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// A waker that counts.
#[derive(Default)]
pub(crate) struct Counter(AtomicUsize);

impl Counter {
    pub(crate) fn new() -> (Arc<Counter>, Waker) {
        let counter = Arc::new(Counter::default());
        (Arc::clone(&counter), Waker::from(counter))
    }

    pub(crate) fn wakes(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Counter>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Polls a future once.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An executor of the plainest kind: a queue of tasks, which its owner runs until all are done.
#[derive(Default)]
pub(crate) struct Executor {
    queue: Arc<Mutex<Vec<Arc<Job>>>>,
    open: Arc<AtomicUsize>,
}

struct Job {
    task: Mutex<Option<Task>>,
    queue: Arc<Mutex<Vec<Arc<Job>>>>,
}

impl Wake for Job {
    fn wake(self: Arc<Job>) {
        let queue = Arc::clone(&self.queue);
        queue.lock().unwrap().push(self);
    }
}

impl Executor {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.open.fetch_add(1, Ordering::AcqRel);
        let open = Arc::clone(&self.open);
        let task: Task = Box::pin(async move {
            task.await;
            open.fetch_sub(1, Ordering::AcqRel);
        });
        Arc::new(Job { task: Mutex::new(Some(task)), queue: Arc::clone(&self.queue) }).wake();
    }

    /// Runs until all tasks are done. Between polls it lets others have a turn.
    pub(crate) fn run(&self) {
        while self.open.load(Ordering::Acquire) > 0 {
            let Some(job) = self.queue.lock().unwrap().pop() else {
                sisal::yield_now();
                continue;
            };
            let waker = Waker::from(Arc::clone(&job));
            let mut slot = job.task.lock().unwrap();
            if let Some(task) = slot.as_mut()
                && task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *slot = None;
            }
        }
    }
}

/// Waits for all of several futures at once, polling each whenever one is woken.
pub(crate) async fn all<F: Future + Unpin>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Ok).collect();
    poll_fn(|context| {
        for future in &mut futures {
            if let Ok(pending) = future
                && let Poll::Ready(output) = Pin::new(pending).poll(context)
            {
                *future = Err(output);
            }
        }
        if futures.iter().all(Result::is_err) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    futures.into_iter().filter_map(Result::err).collect()
}
