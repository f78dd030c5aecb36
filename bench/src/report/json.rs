//! The report programs read: one object a case, on one line.

use std::fmt::Write as _;

use super::{Allocator, CaseResult, Row};
use crate::cases::Judged;
use crate::stats::Spread;

/// The case as one line of JSON. Beside the figures: who is a reference only, what the ratio is of,
/// the ratio with mimalloc where there are such rows, and those of further figures and to references that the case names.
pub fn json(result: &CaseResult) -> String {
    let case = result.case;
    let rows: Vec<String> = result.rows.iter().map(json_row).collect();
    let references: Vec<String> =
        result.rows.iter().filter(|row| case.is_reference(row.contestant)).map(|row| quoted(&row.name())).collect();
    let ratio = |allocator| match result.ratio(allocator) {
        Some(ratio) => ratio.value.to_string(),
        None => "null".to_owned(),
    };
    let ratio_of = key(case.judged);
    let mut text = format!(
        r#"{{"case":{},"unit":{},"cpu_unit":{},"results":{{{}}},"references":[{}],"ratio_of":"{ratio_of}","ratio":{}"#,
        quoted(case.name),
        quoted(case.unit),
        quoted(case.cpu_unit),
        rows.join(","),
        references.join(","),
        ratio(Allocator::System),
    );
    if case.allocates {
        let _ = write!(text, r#","ratio_mimalloc":{}"#, ratio(Allocator::Mimalloc));
    }
    if !case.also.is_empty() {
        let value = |by| result.ratio_also(by).map_or_else(|| "null".to_owned(), |ratio| ratio.value.to_string());
        let ratios: Vec<String> = case.also.iter().map(|by| format!("{}:{}", quoted(key(*by)), value(*by))).collect();
        let _ = write!(text, r#","ratios":{{{}}}"#, ratios.join(","));
    }
    if !case.against.is_empty() {
        let value = |name| result.ratio_to(name).map_or_else(|| "null".to_owned(), |ratio| ratio.value.to_string());
        let ratios: Vec<String> = case.against.iter().map(|name| format!("{}:{}", quoted(name), value(name))).collect();
        let _ = write!(text, r#","ratio_to":{{{}}}"#, ratios.join(","));
    }
    text.push('}');
    text
}

/// The key in a row of what a ratio is taken of.
fn key(judged: Judged) -> &'static str {
    match judged {
        Judged::Headline => "median",
        Judged::Cpu => "cpu",
        Judged::Extra(key) => key,
    }
}

fn json_row(row: &Row) -> String {
    let Spread { median, min, max } = row.figure;
    let mut text = format!(r#"{}:{{"median":{median},"min":{min},"max":{max},"cpu":{}"#, quoted(&row.name()), row.cpu);
    for (key, value) in &row.extras {
        let _ = write!(text, ",{}:{value}", quoted(key));
    }
    text.push('}');
    text
}

/// A JSON string. The names here are plain ASCII without quotes or backslashes.
fn quoted(name: &str) -> String {
    debug_assert!(name.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\'), "{name}");
    format!("\"{name}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{result, row};

    #[test]
    fn json_has_a_row_for_every_contestant() {
        let result = result(
            "wake-idle",
            vec![
                row("sisal", Allocator::System, 10.0, 3.0),
                row("smol", Allocator::System, 20.0, 4.0),
                row("threads", Allocator::System, 8.0, 2.0),
            ],
        );
        assert_eq!(
            json(&result),
            concat!(
                r#"{"case":"wake-idle","unit":"us","cpu_unit":"us per task","results":{"#,
                r#""sisal":{"median":10,"min":9,"max":11,"cpu":3,"p50":0.5,"p99":1234.5},"#,
                r#""smol":{"median":20,"min":19,"max":21,"cpu":4,"p50":0.5,"p99":1234.5},"#,
                r#""threads":{"median":8,"min":7,"max":9,"cpu":2,"p50":0.5,"p99":1234.5}},"#,
                r#""references":["threads"],"ratio_of":"median","ratio":0.5}"#,
            )
        );
    }

    #[test]
    fn ratios_of_further_times_stand_by_their_keys() {
        let rows = vec![row("sisal", Allocator::System, 20.0, 3.0), row("may", Allocator::System, 10.0, 4.0)];
        let text = json(&result("echo-100", rows));
        assert!(text.ends_with(r#""ratio":0.5,"ratios":{"cpu":0.75,"p99":1}}"#), "{text}");
    }

    #[test]
    fn a_ratio_that_is_not_there_is_null() {
        let text = json(&result("yield-2", vec![row("smol", Allocator::System, 4.0, 1.0)]));
        assert!(text.ends_with(r#""ratio":null}"#), "{text}");
        let text = json(&result("spawn-100", Vec::new()));
        assert!(text.ends_with(r#""ratio":null,"ratio_mimalloc":null}"#), "{text}");
    }
}
