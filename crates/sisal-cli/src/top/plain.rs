//! One look as plain text, for files and other programs: every fiber of the list, no line cut.

use super::app::App;
use super::columns::Column;
use super::draw::{counts, cycle_texts, identity, runs, sorted};
use crate::remote::wording::{fit, fit_right, text_or_unknown};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

const COLUMNS: [Column; 9] = [
    Column::Id,
    Column::State,
    Column::Worker,
    Column::Since,
    Column::StackOfSize,
    Column::Name,
    Column::Reason,
    Column::Place,
    Column::SpawnedAt,
];

pub(super) fn frame(app: &App) -> String {
    let snapshot = &app.snapshot;
    let mut out = format!("{}\n{}\n", identity(app), counts(snapshot));
    let worker = |index: &str, state: &str, homed: &str, queued: &str, runs: &str| {
        format!("{index:>4} {state:10} {homed:>8} {queued:>8}  {runs}").trim_end().to_owned()
    };
    let _ = writeln!(out, "\n{}", worker("WRK", "STATE", "HOMED", "QUEUED", "RUNS"));
    for one in &snapshot.workers {
        let (index, homed, queued) = (one.index.to_string(), one.homed.to_string(), one.queued.to_string());
        let _ = writeln!(out, "{}", worker(&index, &one.state, &homed, &queued, &runs(snapshot, one)));
    }
    let _ = writeln!(out, "\n  FIBERS  PARKED FOR");
    for (reason, count) in sorted(snapshot) {
        let _ = writeln!(out, "{count:>8}  {reason}");
    }
    if !snapshot.fresh.is_empty() {
        let _ = writeln!(out, "\n   FRESH  SPAWNED AT");
    }
    for fresh in &snapshot.fresh {
        let _ = writeln!(out, "{:>8}  {}", fresh.count, text_or_unknown(fresh.spawned_at.as_ref()));
    }
    for (number, cycle) in snapshot.cycles.iter().enumerate() {
        let _ = writeln!(out, "\nDEADLOCK: cycle {}, each waits for the next", number + 1);
        cycle_texts(snapshot, cycle).into_iter().for_each(|text| out += &(text + "\n"));
    }
    out.push('\n');
    table(&mut out, app);
    out
}

/// All fibers of the list, each column as wide as its longest entry.
fn table(out: &mut String, app: &App) {
    let heading = COLUMNS.map(|column| column.title().to_owned());
    let rows =
        app.list.rows().iter().map(|row| COLUMNS.map(|column| column.text(&app.snapshot.fibers[*row]).into_owned()));
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    let widths: [usize; COLUMNS.len()] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0));
    for row in &rows {
        let cells = row.iter().zip(COLUMNS).zip(widths);
        let cells = cells.map(
            |((text, column), width)| {
                if column.is_number() { fit_right(text, width) } else { fit(text, width) }
            },
        );
        let line = cells.collect::<Vec<_>>().join("  ");
        *out += line.trim_end();
        out.push('\n');
    }
}
