//! One fiber: all that is known of it, what it waits for, who else waits there, and its stack.

use super::super::app::{App, Details};
use super::super::palette::Palette;
use super::super::waiters::{self, Awaited};
use crate::remote::Snapshot;
use crate::remote::snapshot::{Fiber, Frame};
use crate::remote::wording::{called, duration, size, text_or_unknown};
use ratatui::text::{Line, Span};

/// How many of those who wait are named.
const NAMED: usize = 20;
const LABEL: usize = 12;

pub(super) fn lines(app: &App, id: u64, palette: Palette) -> Vec<Line<'static>> {
    let (fiber, remark) = match &app.details {
        Details::Here(fiber) => (Some(&**fiber), None),
        Details::Awaited => (app.snapshot.fiber(id), None),
        Details::Ended(last) => (last.as_deref(), Some("this fiber has ended; what was known of it last:")),
    };
    let mut page = Page { lines: Vec::new(), palette };
    let Some(fiber) = fiber else {
        page.title(format!("fiber {id}"));
        page.text("this fiber has ended");
        return page.lines;
    };
    page.title(format!("fiber {id}: {}", called(fiber)));
    remark.into_iter().for_each(|remark| page.alert(remark));
    facts(&mut page, fiber, &app.snapshot);
    if let Some(object) = fiber.object {
        wait(&mut page, &waiters::of(&app.snapshot, object), &app.snapshot, id);
    }
    let is_awaited = matches!(app.details, Details::Awaited);
    stack(&mut page, fiber.trace.as_deref(), is_awaited);
    page.lines
}

fn facts(page: &mut Page, fiber: &Fiber, snapshot: &Snapshot) {
    page.fact("name", text_or_unknown(fiber.name.as_ref()));
    let since = fiber.known_ns().map(|since| format!(", for {}", duration(since))).unwrap_or_default();
    page.fact("state", format!("{}{since}", fiber.state));
    if fiber.reason.is_some() || fiber.place.is_some() {
        page.fact("waits", text_or_unknown(fiber.reason.as_ref()));
        page.fact("at", text_or_unknown(fiber.place.as_ref()));
    }
    if let Some(worker) = fiber.worker {
        page.fact("worker", worker.to_string());
    }
    page.fact("spawned at", text_or_unknown(fiber.spawned_at.as_ref()));
    if let Some(by) = fiber.spawned_by {
        page.fact("spawned by", named(snapshot, by));
    }
    if let Some(nursery) = fiber.nursery {
        page.fact("nursery", nursery.to_string());
    }
    let used = fiber.stack_used.map_or("unknown".to_owned(), size);
    let whole = fiber.stack_size.map(|whole| format!(" of {}", size(whole))).unwrap_or_default();
    page.fact("stack", format!("{used}{whole} used at most"));
}

fn wait(page: &mut Page, awaited: &Awaited<'_>, snapshot: &Snapshot, id: u64) {
    page.gap();
    page.title(format!("waits for object {}", awaited.id));
    match awaited.object {
        Some(object) => {
            page.fact("is", object.to_string());
            if let Some(owner) = object.owner {
                page.fact("held by", named(snapshot, owner));
            }
        }
        None => page.text("nothing more is known of it"),
    }
    let others: Vec<_> = awaited.fibers.iter().filter(|(other, _)| *other != id).collect();
    page.fact("also there", (others.len() + awaited.threads.len()).to_string());
    for (other, reason) in others.iter().take(NAMED) {
        page.text(format!("{:LABEL$}{} ({reason})", "", named(snapshot, *other)));
    }
    for thread in awaited.threads.iter().take(NAMED) {
        let (name, reason) = (text_or_unknown(thread.name.as_ref()), text_or_unknown(thread.reason.as_ref()));
        let since = thread.since_ns.map(|since| format!(" for {}", duration(since))).unwrap_or_default();
        let place = text_or_unknown(thread.place.as_ref());
        page.text(format!("{:LABEL$}thread {name} ({reason} at {place}{since})", ""));
    }
    let left_out = others.len().saturating_sub(NAMED) + awaited.threads.len().saturating_sub(NAMED);
    if left_out > 0 {
        page.text(format!("{:LABEL$}and {left_out} more", ""));
    }
}

fn stack(page: &mut Page, trace: Option<&[Frame]>, is_awaited: bool) {
    page.gap();
    page.title("stack, innermost call first");
    match trace {
        None if is_awaited => page.text("asking for it"),
        None => page.text("not known: the program has to be built with the feature `stack-traces` of sisal"),
        Some([]) => page.text("empty"),
        Some(frames) => frames.iter().enumerate().for_each(|(number, frame)| {
            let address = || text_or_unknown(frame.address.as_ref());
            page.text(format!("{number:3}  {}", frame.function.as_deref().unwrap_or_else(address)));
            match (&frame.file, frame.line) {
                (Some(file), Some(line)) => page.text(format!("       at {file}:{line}")),
                (Some(file), None) => page.text(format!("       at {file}")),
                (None, _) => {}
            }
        }),
    }
}

/// A fiber by number and name.
pub(in crate::top) fn named(snapshot: &Snapshot, id: u64) -> String {
    match snapshot.fiber(id) {
        Some(fiber) => format!("#{id} {}", called(fiber)),
        None => format!("#{id}"),
    }
}

/// Lines, one below the other.
struct Page {
    lines: Vec<Line<'static>>,
    palette: Palette,
}

impl Page {
    fn title(&mut self, text: impl Into<String>) {
        self.lines.push(Line::styled(text.into(), self.palette.title()));
    }

    fn alert(&mut self, text: &str) {
        self.lines.push(Line::styled(text.to_owned(), self.palette.alert()));
    }

    fn fact(&mut self, label: &str, text: impl Into<String>) {
        let label = Span::styled(format!("{label:LABEL$}"), self.palette.key());
        self.lines.push(Line::from(vec![Span::raw("  "), label, Span::raw(text.into())]));
    }

    fn text(&mut self, text: impl Into<String>) {
        self.lines.push(Line::from(format!("  {}", text.into())));
    }

    fn gap(&mut self) {
        self.lines.push(Line::default());
    }
}
