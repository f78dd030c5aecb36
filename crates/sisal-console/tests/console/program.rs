//! tokio-console itself, in a terminal that tmux plays.

use crate::common::watchdog::guarded;
use crate::common::{LONG, background, shut_down};
use crate::fake::{Fake, asleep, ready, receiving, running};
use sisal_console::Builder;
use sisal_console::source::{Fiber, Object};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Less than the watchdog waits, so that what is on the screen can be told.
const LIMIT: Duration = Duration::from_secs(60);
/// How often it is told what is new.
const INTERVAL: Duration = Duration::from_millis(50);

#[test]
fn tokio_console_shows_fibers_what_they_wait_for_and_that_they_end() {
    guarded(|| {
        if !have_all() {
            return;
        }
        let named = |name: &str, fiber| Fiber { name: Some(name.into()), ..fiber };
        let fibers = vec![
            named("accept loop", receiving(17, 94)),
            named("napper", asleep(18)),
            named("counter", running(19)),
            named("patient", ready(20)),
            Fiber { is_deadlocked: true, ..named("stuck", receiving(21, 94)) },
        ];
        let fake = Fake::new(fibers.clone());
        fake.set_objects(vec![Object { capacity: Some(8), ..Object::new(94, "channel") }]);
        let console = fake.builder().interval(INTERVAL).serve().unwrap();
        let terminal = Terminal::start("fake", console.address());

        let rows = ["accept loop", "napper", "counter", "patient", "stuck", "reason=asleep", "src/main.rs:7:9"];
        let screen =
            terminal.until(|screen| rows.iter().all(|row| screen.contains(row)) && screen.contains("Tasks (5)"));
        let states = [("accept loop", "IDLE"), ("napper", "IDLE"), ("counter", "BUSY"), ("patient", "SCHED")];
        for (name, state) in states {
            assert!(has_row(&screen, &[name, state, "fiber"]), "{screen}");
        }
        assert!(screen.contains("1 tasks have lost their wakers"), "{screen}");

        fake.set(vec![fibers[0].clone(), named("counter", asleep(19))]);
        terminal.until(|screen| has_row(screen, &["napper", "DONE"]) && has_row(screen, &["counter", "IDLE"]));

        terminal.press("r");
        terminal.until(|screen| {
            screen.contains("channel") && screen.contains("capacity=8") && screen.contains("waiting=1")
        });
        ["Down", "Enter"].into_iter().for_each(|key| terminal.press(key));
        terminal.until(|screen| screen.contains("receiving from a channel") && screen.contains("(accept loop)"));
        terminal.press("t");
        terminal.press("Space");
        terminal.until(|screen| screen.contains("PAUSED"));
        terminal.press("Space");
        terminal.until(|screen| screen.contains("Tasks") && !screen.contains("PAUS"));
        ["Down", "Enter"].into_iter().for_each(|key| terminal.press(key));
        terminal.until(|screen| screen.contains("Poll Times Percentiles") && screen.contains("Fields"));
    });
}

#[test]
fn tokio_console_shows_the_fibers_of_a_runtime() {
    guarded(|| {
        if !have_all() {
            return;
        }
        let runtime = background(2);
        let console = Builder::new(runtime.handle().clone()).address("127.0.0.1:0").interval(INTERVAL);
        let console = console.serve().unwrap();
        let terminal = Terminal::start("runtime", console.address());
        let (sender, receiver) = sisal::chan::bounded::<u32>(8);
        let fiber = |name: &str| runtime.handle().builder().name(name);
        let place = format!("console/program.rs:{}:", line!() + 1);
        let waiter = fiber("patient receiver").spawn(move || receiver.recv());
        let sleeper = fiber("long sleeper").spawn(|| sisal::sleep(LONG));
        terminal.until(|screen| has_row(screen, &["long sleeper", "IDLE", "fiber", "reason=asleep"]));
        terminal.until(|screen| {
            has_row(screen, &["patient receiver", "IDLE", "fiber", "reason=receiving from a channel", &place])
        });

        terminal.press("r");
        terminal.until(|screen| has_row(screen, &["channel", "capacity=8", "waiting=1"]));
        ["Down", "Enter"].into_iter().for_each(|key| terminal.press(key));
        terminal.until(|screen| has_row(screen, &["receiving from a channel", "(patient receiver)"]));

        terminal.press("t");
        sender.send(7).unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(7));
        let ended = ["patient receiver", "DONE"];
        terminal.until(|screen| has_row(screen, &ended) && has_row(screen, &["long sleeper", "IDLE"]));
        sleeper.cancel();
        let _ = sleeper.join();
        terminal.until(|screen| has_row(screen, &["long sleeper", "DONE"]));
        drop(console);
        shut_down(runtime);
    });
}

/// Whether a line of the screen has all this in it.
fn has_row(screen: &str, texts: &[&str]) -> bool {
    screen.lines().any(|line| texts.iter().all(|text| line.contains(text)))
}

/// Whether all is there that the tests need.
fn have_all() -> bool {
    ["tokio-console", "tmux"].into_iter().all(have)
}

/// Whether there is a program of that name; if not, says that a test is skipped.
fn have(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).any(|path| path.join(name).is_file());
    if !found {
        let line = format!("skipped: no {name} (sisal-console, tokio-console in a terminal)\n");
        // Past the test harness, which would show it only for tests that fail.
        std::io::stderr().lock().write_all(line.as_bytes()).unwrap();
        if let Some(path) = std::env::var_os("SISAL_SKIPS") {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
    }
    found
}

/// A terminal in which tokio-console runs, of a tmux of its own. Both end with it, and also some time after a watchdog has barked.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    fn start(name: &str, address: SocketAddr) -> Terminal {
        let socket = std::env::temp_dir().join(format!("sisal-console-{name}-{}", std::process::id()));
        let terminal = Terminal { socket };
        let program =
            format!("timeout 150 tokio-console --ascii-only true --no-colors --retain-for 600s http://{address}");
        terminal.tmux(&["-f", "/dev/null", "new", "-d", "-x", "300", "-y", "40", &program]);
        terminal
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Waits for something to be on the screen, and returns that.
    #[track_caller]
    fn until(&self, condition: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if condition(&screen) {
                return screen;
            }
            assert!(start.elapsed() < LIMIT, "not on the screen: {screen}");
        }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        Command::new("tmux").arg("-S").arg(&self.socket).args(arguments).output().unwrap()
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.call(arguments);
        assert!(status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8_lossy(&stdout).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.call(&["kill-server"]);
        let _ = std::fs::remove_file(&self.socket);
    }
}
