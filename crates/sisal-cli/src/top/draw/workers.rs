//! The workers: what each runs, and what waits for it.

use super::super::palette::Palette;
use crate::remote::Snapshot;
use crate::remote::snapshot::Worker;
use crate::remote::wording::{called, fit, fit_right};
use ratatui::text::{Line, Span};

const INDEX: usize = 4;
const STATE: usize = 10;
const HOMED: usize = 5;
const QUEUED: usize = 7;
const GAP: &str = " ";

/// A heading, and at most so many lines below.
pub(super) fn lines(snapshot: &Snapshot, palette: Palette, width: usize, most: usize) -> Vec<Line<'static>> {
    let runs = width.saturating_sub(INDEX + STATE + HOMED + QUEUED + GAP.len());
    let heading = [
        fit_right("WRK", INDEX - 1),
        " ".to_owned(),
        fit("STATE", STATE),
        fit_right("HOMED", HOMED),
        fit_right("QUEUED", QUEUED),
        GAP.to_owned(),
        fit("RUNS", runs),
    ];
    let mut lines = vec![Line::styled(heading.concat(), palette.heading())];
    let mut workers: Vec<_> = snapshot.workers.iter().collect();
    if workers.len() > most {
        // Those that do something are not to be among the rest.
        workers.sort_by_key(|worker| worker.running.is_none() && worker.queued == 0);
    }
    let shown = if workers.len() > most { most.saturating_sub(1) } else { workers.len() };
    lines.extend(workers[..shown].iter().map(|worker| line(snapshot, worker, palette, runs)));
    if shown < workers.len() {
        lines.push(Line::from(fit(&rest(&workers[shown..]), width)));
    }
    lines
}

fn line(snapshot: &Snapshot, worker: &Worker, palette: Palette, width: usize) -> Line<'static> {
    Line::from(vec![
        Span::raw(fit_right(&worker.index.to_string(), INDEX - 1) + if worker.added { "+" } else { " " }),
        Span::styled(fit(&worker.state, STATE), palette.state(&worker.state)),
        Span::raw(fit_right(&worker.homed.to_string(), HOMED)),
        Span::raw(fit_right(&worker.queued.to_string(), QUEUED) + GAP),
        Span::raw(fit(&runs(snapshot, worker), width)),
    ])
}

/// The fiber that a worker runs: `#17 accept loop`.
pub(in crate::top) fn runs(snapshot: &Snapshot, worker: &Worker) -> String {
    match worker.running {
        None => String::new(),
        Some(id) => match snapshot.fiber(id) {
            Some(fiber) => format!("#{id} {}", called(fiber)),
            None => format!("#{id}"),
        },
    }
}

/// Those that have no line of their own.
fn rest(workers: &[&Worker]) -> String {
    let running = workers.iter().filter(|worker| worker.running.is_some()).count();
    let stuck = workers.iter().filter(|worker| &*worker.state == "stuck").count();
    let queued: u64 = workers.iter().map(|worker| worker.queued).fold(0, u64::saturating_add);
    format!("  and {} more: {running} running, {stuck} stuck, {queued} queued", workers.len())
}
