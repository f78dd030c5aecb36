//! tokio-console itself, in a terminal that tmux plays.

use crate::common::watchdog::guarded;
use crate::fake::{Fake, asleep, ready, receiving, running};
use sisal_console::source::{Fiber, Object};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Less than the watchdog waits, so that what is on the screen can be told.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn tokio_console_shows_fibers_what_they_wait_for_and_that_they_end() {
    guarded(|| {
        if !["tokio-console", "tmux"].into_iter().all(have) {
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
        let console = fake.builder().interval(Duration::from_millis(50)).serve().unwrap();
        let terminal = Terminal::start(console.address());

        let rows = ["accept loop", "napper", "counter", "patient", "stuck", "reason=asleep", "src/main.rs:7:9"];
        let screen =
            terminal.until(|screen| rows.iter().all(|row| screen.contains(row)) && screen.contains("Tasks (5)"));
        let row = |name: &str| screen.lines().find(|line| line.contains(name)).unwrap();
        let states = [("accept loop", "IDLE"), ("napper", "IDLE"), ("counter", "BUSY"), ("patient", "SCHED")];
        for (name, state) in states {
            assert!(row(name).contains(state) && row(name).contains("fiber"), "{screen}");
        }
        assert!(screen.contains("1 tasks have lost their wakers"), "{screen}");

        fake.set(vec![fibers[0].clone(), named("counter", asleep(19))]);
        terminal.until(|screen| {
            let row = |name: &str| screen.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
            row("napper").contains("DONE") && row("counter").contains("IDLE")
        });

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
    fn start(address: SocketAddr) -> Terminal {
        let terminal = Terminal { socket: std::env::temp_dir().join(format!("sisal-console-{}", std::process::id())) };
        let program =
            format!("timeout 150 tokio-console --ascii-only true --no-colors --retain-for 600s http://{address}");
        terminal.tmux(&["-f", "/dev/null", "new", "-d", "-x", "220", "-y", "40", &program]);
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
