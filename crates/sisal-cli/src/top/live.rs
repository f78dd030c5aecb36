//! The loop on a terminal.

use super::app::{App, View};
use super::draw::draw;
use super::feed::{self, Question, Reply};
use super::keyboard;
use super::keys::{self, Wish};
use super::palette::Palette;
use super::screen::Screen;
use crate::remote::runtime::Trouble;
use crate::remote::{Failure, Remote};
use crate::wording::plain;
use ratatui::crossterm::event::{Event, KeyEventKind};
use sisal::chan::{self, Receiver, Sender};
use sisal::signal::{self, Signal};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How long nothing may happen while there is nothing to wait for.
const IDLE: Duration = Duration::from_secs(3600);

/// Shows what is new until somebody quits.
pub(super) fn run(remote: Remote, app: App) -> Result<(), Trouble> {
    let on_terminal = |error: io::Error| Trouble::Other(format!("terminal: {}", plain(&error)));
    let signals = signal::listen(&[Signal::HANGUP, Signal::INTERRUPT, Signal::TERMINATE])
        .map_err(|error| Trouble::Other(format!("can't listen to signals: {}", plain(&error))))?;
    let screen = Screen::open().map_err(on_terminal)?;
    let events = keyboard::listen().map_err(on_terminal)?;
    let (asking, questions) = chan::bounded(1);
    let (replying, replies) = chan::bounded(1);
    sisal::nursery(|nursery| {
        let feed = nursery.builder().name("feed").spread().spawn(|| feed::run(&remote, &questions, &replying));
        let due = Some(Instant::now() + app.interval);
        let live = Live { app, palette: Palette::of_environment(), screen, events, signals, asking, replies, due };
        let ended = live.run();
        feed.cancel();
        ended
    })
}

struct Live {
    app: App,
    palette: Palette,
    screen: Screen,
    events: Receiver<Event>,
    signals: Receiver<Signal>,
    asking: Sender<Question>,
    replies: Receiver<Result<Box<Reply>, Failure>>,
    /// When to ask next; None while an answer is awaited.
    due: Option<Instant>,
}

impl Live {
    fn run(mut self) -> Result<(), Trouble> {
        loop {
            self.show()?;
            if let ControlFlow::Break(ended) = self.step() {
                return ended;
            }
        }
    }

    fn show(&mut self) -> Result<(), Trouble> {
        let Live { app, palette, screen, .. } = self;
        screen
            .draw(|frame| draw(frame, app, *palette))
            .map_err(|error| Trouble::Other(format!("terminal: {}", plain(&error))))
    }

    /// Waits until something happens, and takes it.
    fn step(&mut self) -> ControlFlow<Result<(), Trouble>> {
        sisal::select! {
            recv(self.events) -> event => match event {
                Ok(event) => self.take_event(event),
                Err(_) => ControlFlow::Break(Err(Trouble::Other("terminal: it is gone".to_owned()))),
            },
            recv(self.signals) -> signal => match signal {
                Ok(signal) => ControlFlow::Break(Err(Trouble::Signal(signal.as_raw()))),
                Err(_) => ControlFlow::Break(Ok(())),
            },
            recv(self.replies) -> reply => {
                if let Ok(reply) = reply {
                    self.take_reply(reply);
                }
                ControlFlow::Continue(())
            },
            default(self.until_due()) => {
                self.ask();
                ControlFlow::Continue(())
            },
        }
    }

    fn until_due(&self) -> Duration {
        match self.due {
            Some(due) if !self.app.paused => due.saturating_duration_since(Instant::now()),
            _ => IDLE,
        }
    }

    fn take_event(&mut self, event: Event) -> ControlFlow<Result<(), Trouble>> {
        let wish = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => keys::press(&mut self.app, key),
            Event::Resize(..) => {
                // What terminals do with what was there, they don't do alike. If it fails, so will the next picture.
                let _ = self.screen.forget();
                Wish::Nothing
            }
            _ => Wish::Nothing,
        };
        match wish {
            Wish::Quit => return ControlFlow::Break(Ok(())),
            Wish::Ask => self.ask(),
            Wish::Nothing => {}
        }
        ControlFlow::Continue(())
    }

    /// Asks, unless that has been done and there is no answer yet.
    fn ask(&mut self) {
        if self.due.is_none() {
            return;
        }
        let fiber = match self.app.view {
            View::Fiber(id) => Some(id),
            View::List | View::Graph => None,
        };
        if self.asking.try_send(Question { fiber }).is_ok() {
            self.due = None;
        }
    }

    fn take_reply(&mut self, reply: Result<Box<Reply>, Failure>) {
        self.due = Some(Instant::now() + self.app.interval);
        match reply {
            Ok(reply) => {
                let Reply { all, fiber } = *reply;
                self.app.gone = None;
                if !self.app.paused {
                    self.app.update(all);
                }
                if let Some((id, fiber)) = fiber {
                    self.app.update_details(id, fiber);
                }
            }
            Err(failure) => self.app.gone = Some(failure.to_string()),
        }
        if self.app.lacks_details() {
            // Somebody chose to look at a fiber while another question was under way.
            self.ask();
        }
    }
}
