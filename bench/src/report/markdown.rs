//! The report people read.

use std::fmt::Write as _;

use super::{Allocator, CaseResult, Ratio, Row};
use crate::cases::{Case, Judged, SUBJECT};
use crate::stats::Spread;

/// The case as a Markdown table with its ratio below.
pub fn markdown(result: &CaseResult) -> String {
    let case = result.case;
    let sizes = case.work(result.quick).arguments()[1..].join(", ");
    let rounds = case.rounds(result.quick);
    let mut text = format!("### {}: {}\n\n", case.name, case.about);
    let _ = writeln!(text, "{sizes}, {rounds} rounds\n");

    let extras: String = case.extras.iter().map(|(_, heading)| format!(" {heading} |")).collect();
    let _ = writeln!(text, "| | {}, median | min–max | CPU {} |{extras}", case.unit, case.cpu_unit);
    let _ = writeln!(text, "|---|--:|--:|--:|{}", "--:|".repeat(case.extras.len()));
    for row in result.ranked() {
        text.push_str(&table_row(case, row));
    }
    for allocator in [Allocator::System, Allocator::Mimalloc] {
        if let Some(line) = ratio_line(result, allocator) {
            let _ = write!(text, "\n{line}\n");
        }
    }
    for by in case.also {
        if let Some(Ratio { value, best }) = result.ratio_also(*by) {
            let _ = write!(text, "\n{SUBJECT} to the best peer ({best}), {}: **{value:.2}**\n", name(*by));
        }
    }
    for reference in case.against {
        if let Some(Ratio { value, best }) = result.ratio_to(reference) {
            let _ = write!(text, "\n{SUBJECT} to {best}: **{value:.2}**\n");
        }
    }
    text
}

fn table_row(case: &Case, row: &Row) -> String {
    let reference = if case.is_reference(row.contestant) { " (reference)" } else { "" };
    let Spread { median, min, max } = row.figure;
    let mut text = format!(
        "| {}{reference} | {} | {}–{} | {} |",
        row.name(),
        digits(median),
        digits(min),
        digits(max),
        digits(row.cpu)
    );
    for (key, _) in case.extras {
        let _ = write!(text, " {} |", row.extra(key).map_or_else(|| "–".to_owned(), digits));
    }
    text.push('\n');
    text
}

fn ratio_line(result: &CaseResult, allocator: Allocator) -> Option<String> {
    let what = match result.case.judged {
        Judged::Headline => String::new(),
        by => format!(", {}", name(by)),
    };
    let with = match allocator {
        Allocator::System => "",
        Allocator::Mimalloc => ", with mimalloc",
    };
    match (result.ratio(allocator), allocator) {
        (Some(Ratio { value, best }), _) => {
            Some(format!("{SUBJECT} to the best peer ({best}){what}{with}: **{value:.2}**"))
        }
        (None, Allocator::System) => Some(format!("{SUBJECT} to the best peer: no ratio")),
        (None, Allocator::Mimalloc) => None,
    }
}

/// What a ratio is taken of, in words.
fn name(judged: Judged) -> &'static str {
    match judged {
        Judged::Headline => "median",
        Judged::Cpu => "CPU time",
        Judged::Extra(key) => key,
    }
}

/// Three significant digits, thousands set apart.
fn digits(figure: f64) -> String {
    let decimals = match figure.abs() {
        x if x >= 100.0 || x == 0.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{figure:.decimals$}");
    let (whole, fraction) = text.split_once('.').map_or((&*text, ""), |(w, _)| (w, &text[w.len()..]));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if index > 0 && left % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{result, row};

    #[test]
    fn the_table_ranks_the_rows_and_marks_references() {
        let result = result(
            "wake-idle",
            vec![
                row("sisal", Allocator::System, 30.0, 3.0),
                row("smol", Allocator::System, 20.0, 4.0),
                row("threads", Allocator::System, 8.0, 2.0),
            ],
        );
        let text = markdown(&result);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "count=300, workers=2, 3 rounds");
        assert_eq!(lines[4], "| | us, median | min–max | CPU us per task | p50 us | p99 us |");
        assert_eq!(lines[5], "|---|--:|--:|--:|--:|--:|");
        assert_eq!(lines[6], "| threads (reference) | 8.00 | 7.00–9.00 | 2.00 | 0.500 | 1,234 |");
        assert!(lines[7].starts_with("| smol |") && lines[8].starts_with("| sisal |"));
        assert_eq!(lines[10], "sisal to the best peer (smol): **1.50**");
    }

    #[test]
    fn further_ratios_stand_below_the_first() {
        let rows = vec![row("sisal", Allocator::System, 20.0, 3.0), row("may", Allocator::System, 10.0, 4.0)];
        let text = markdown(&result("echo-100", rows));
        let ratios: Vec<&str> = text.lines().filter(|line| line.contains("best peer")).collect();
        assert_eq!(
            ratios,
            [
                "sisal to the best peer (may): **0.50**",
                "sisal to the best peer (may), CPU time: **0.75**",
                "sisal to the best peer (may), p99: **1.00**",
            ]
        );
    }

    #[test]
    fn figures_have_three_digits_and_their_thousands_apart() {
        for (figure, text) in [
            (0.0, "0"),
            (0.0423, "0.042"),
            (1.5, "1.50"),
            (61.54, "61.5"),
            (171.4, "171"),
            (4_500.0, "4,500"),
            (1_000_000.0, "1,000,000"),
            (-4_500.0, "-4,500"),
            (-450.0, "-450"),
        ] {
            assert_eq!(digits(figure), text);
        }
    }
}
