//! What reports are compared with.

use crate::Ended;

/// A certain deadlock, and the end of the process: the first two lines are as always, and each of `lines` stands in the report. A line is
/// given without what differs from run to run: numbers of objects, lengths of time, places in this file.
pub(crate) fn certain(ended: &Ended, lines: &[&str]) {
    assert_eq!(ended.code, Some(124), "the exit code");
    let report = last_report(ended);
    assert!(report.starts_with("sisal: deadlock: no fiber can ever run again\n"), "{report}");
    contains_all(&report, lines);
    assert!(report.contains("sisal: exit code 124"), "{report}");
}

/// Without what was said of a cycle before, if somebody looked at that while the last fiber had not yet come to its wait.
fn last_report(ended: &Ended) -> String {
    let report = plain(&ended.stderr);
    let is_of_some = report.starts_with("sisal: deadlock: ")
        && report.lines().next().is_some_and(|line| line.ends_with(", while others run"));
    let rest = if is_of_some { report.match_indices("\nsisal: ").next().map(|(at, _)| at + 1) } else { None };
    report[rest.unwrap_or(0)..].to_owned()
}

/// A certain deadlock, of which just this is said between the first line and the last. Places are given by the name of the file; objects, which
/// stand in the order of their addresses, in the order of their lines.
pub(crate) fn certain_with(ended: &Ended, report: &str) {
    certain(ended, &[]);
    let said = last_report(ended);
    let body: Vec<&str> = said.lines().skip(1).take_while(|line| line.starts_with("  ")).collect();
    let is_object = |line: &&&str| {
        ["channel _", "mutex _", "nursery _", "event _"].iter().any(|kind| line.trim().starts_with(kind))
    };
    let (mut objects, others): (Vec<&str>, Vec<&str>) = body.iter().partition(is_object);
    objects.sort_unstable();
    let (mut expected_objects, expected): (Vec<&str>, Vec<&str>) =
        report.trim_start_matches('\n').lines().partition(|line| is_object(&line));
    expected_objects.sort_unstable();
    assert_eq!((others.join("\n"), objects), (expected.join("\n"), expected_objects), "all of it:\n{said}");
    assert_eq!(said.lines().count(), body.len() + 2, "and nothing else: {said}");
}

/// Ended by itself, without a word about deadlocks.
pub(crate) fn none(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "the exit code");
    assert!(!ended.stderr.contains("deadlock"), "{}", ended.stderr);
}

/// Ended by itself; at most it was said that it might not.
pub(crate) fn nothing_certain(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "the exit code");
    assert!(!ended.stderr.contains("sisal: deadlock"), "{}", ended.stderr);
}

/// Ended by itself, after a report that it might not.
pub(crate) fn possible(ended: &Ended, lines: &[&str]) {
    assert_eq!(ended.code, Some(0), "the exit code");
    let report = plain(&ended.stderr);
    assert!(report.starts_with("sisal: possible deadlock: "), "{report}");
    contains_all(&report, lines);
    assert_eq!(report.matches("possible deadlock").count(), 1, "once: {report}");
}

pub(crate) fn contains_all(report: &str, lines: &[&str]) {
    for line in lines {
        assert!(report.lines().any(|found| found.trim() == *line), "no line {line:?} in\n{report}");
    }
}

/// A report without numbers of objects, lengths of time and columns.
pub(crate) fn plain(report: &str) -> String {
    let mut lines = Vec::new();
    for line in report.lines() {
        let mut words: Vec<String> = Vec::new();
        for word in line.split(' ') {
            let bare = word.trim_end_matches([',', ')', ':']);
            let rest = &word[bare.len()..];
            if bare.starts_with("0x") {
                words.push(format!("_{rest}"));
            } else if let Some((path, _)) = bare.split_once(".rs:") {
                let file = path.rsplit('/').next().unwrap_or(path);
                words.push(format!("{file}.rs{rest}"));
            } else {
                words.push(word.to_owned());
            }
        }
        let line = words.join(" ");
        // `for 105 ms` ends the line of a fiber.
        let line = match line.rfind(" for ") {
            Some(at) if line[at + 5..].starts_with(|c: char| c.is_ascii_digit()) => line[..at].to_owned(),
            _ => line,
        };
        lines.push(line);
    }
    lines.join("\n") + "\n"
}
