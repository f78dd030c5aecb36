//! The terminal: taken as a whole, and given back as it was, however it ends.
//!
//! It is given back by whichever comes first: this value goes, or something panics, whose message is to be read. Signals that end the process
//! are listened to by the [loop](super::live), so that they end it in that order, too.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::io::{self, Stdout, Write, stdout};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours. One process has but one.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, until this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn open() -> io::Result<Screen> {
        give_back_on_panic();
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::Relaxed);
        let opened = execute!(stdout(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match opened {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(picture).map(drop)
    }

    /// Draws every cell anew with the next picture, whatever is there.
    ///
    /// Not by `clear`: that asks the terminal for the cursor, and the answer can be read only by the thread that waits for keys.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    if IS_TAKEN.swap(false, Ordering::Relaxed) {
        // If the terminal is gone, there is nothing to give back.
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = stdout().flush();
    }
}

fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
