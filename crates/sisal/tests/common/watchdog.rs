//! Ends a test that hangs, and says what can be said of it.

use sisal::Handle;
use std::cell::RefCell;
use std::io::Write;
use std::panic::Location;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a test may take. One that hangs is to be told from one on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Aborts the process if it is not dropped in time.
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
    /// None for one inside another: that watches already.
    thread: Option<thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    is_over: bool,
    /// What the test does at the moment.
    what: String,
    runtimes: Vec<Handle>,
}

thread_local! {
    static OF_THIS_TEST: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

impl Watchdog {
    /// Watches until it is dropped. The type of a test's closure has the test's name in it.
    #[track_caller]
    pub(crate) fn over<F>(_body: &F, what: &str) -> Watchdog {
        Watchdog::over_test(&super::child::test_of::<F>(), what)
    }

    /// The same, for a test of that name.
    #[track_caller]
    pub(crate) fn over_test(test: &str, what: &str) -> Watchdog {
        let what = format!("{test}, {what} ({})", Location::caller());
        super::quiet::panics_on_purpose();
        let outer = OF_THIS_TEST.with_borrow(Clone::clone);
        let is_new = outer.is_none();
        let shared = outer.unwrap_or_else(|| Arc::new(Shared { state: Mutex::default(), ended: Condvar::new() }));
        shared.state.lock().unwrap().what = what;
        let thread = is_new.then(|| Watchdog::start(&shared));
        Watchdog { shared, thread }
    }

    fn start(shared: &Arc<Shared>) -> thread::JoinHandle<()> {
        OF_THIS_TEST.set(Some(Arc::clone(shared)));
        let shared = Arc::clone(shared);
        thread::Builder::new().name("watchdog".into()).spawn(move || shared.wait()).unwrap()
    }
}

/// Adds a runtime of which the statistics are to be printed if this test hangs.
pub(crate) fn watch(runtime: &Handle) {
    OF_THIS_TEST.with_borrow(|watchdog| {
        if let Some(watchdog) = watchdog {
            let mut state = watchdog.state.lock().unwrap();
            // Of a storm that starts many, the last ones tell enough.
            let surplus = state.runtimes.len().saturating_sub(3);
            state.runtimes.drain(..surplus);
            state.runtimes.push(runtime.clone());
        }
    });
}

impl Shared {
    fn wait(&self) {
        let state = self.state.lock().unwrap();
        let (state, time) = self.ended.wait_timeout_while(state, LIMIT, |state| !state.is_over).unwrap();
        if time.timed_out() {
            // Not `eprintln`, which the test harness captures, and would lose.
            let mut stderr = std::io::stderr().lock();
            let _ = writeln!(stderr, "watchdog: {} has not ended after {LIMIT:?}", state.what);
            for runtime in &state.runtimes {
                let _ = writeln!(stderr, "watchdog: {runtime:?}: {}", runtime.stats());
            }
            std::process::abort();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        OF_THIS_TEST.set(None);
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.shared.ended.notify_all();
        let _ = thread.join();
    }
}

/// Calls `body` under a watchdog.
#[track_caller]
pub(crate) fn guarded<F: FnOnce() -> T, T>(body: F) -> T {
    let _watchdog = Watchdog::over(&body, "guarded");
    body()
}
