//! A measured case in short: a row for each contestant, and sisal's ratio to the best of them.

use crate::cases::{Better, Case, Judged, SUBJECT};
use crate::sample::Sample;
use crate::stats::Spread;

/// Who allocates for a row's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// The system's, and for Go its own.
    System,
    /// mimalloc.
    Mimalloc,
}

impl Allocator {
    /// The name of a contestant's row with this allocator.
    pub fn row_name(self, contestant: &str) -> String {
        match self {
            Self::System => contestant.to_owned(),
            Self::Mimalloc => format!("{contestant}+mimalloc"),
        }
    }
}

/// A contestant's rounds in short.
#[derive(Clone, Debug)]
pub struct Row {
    /// The contestant.
    pub contestant: &'static str,
    /// Its allocator.
    pub allocator: Allocator,
    /// The headline figure.
    pub figure: Spread,
    /// Median CPU time.
    pub cpu: f64,
    /// Medians of the extras that every round had.
    pub extras: Vec<(String, f64)>,
}

/// A measured case.
#[derive(Debug)]
pub struct CaseResult {
    /// The case.
    pub case: &'static Case,
    /// Whether at the smaller size.
    pub quick: bool,
    /// The contestants that ran it to the end.
    pub rows: Vec<Row>,
}

/// sisal's figure by that of the best peer with the same allocator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Below 1: better than every peer.
    pub value: f64,
    /// Who the best peer was.
    pub best: &'static str,
}

impl Row {
    /// Of at least one sample.
    pub fn new(contestant: &'static str, allocator: Allocator, samples: &[Sample]) -> Self {
        let median = |figures: Vec<f64>| Spread::of(&figures).median;
        let figures: Vec<f64> = samples.iter().map(|sample| sample.figure).collect();
        let extra = |key: &str| -> Option<f64> {
            let figures: Option<Vec<f64>> = samples.iter().map(|s| s.extra(key)).collect();
            figures.map(median)
        };
        let keys = samples[0].extras.iter().map(|(key, _)| key);
        Self {
            contestant,
            allocator,
            figure: Spread::of(&figures),
            cpu: median(samples.iter().map(|sample| sample.cpu).collect()),
            extras: keys.filter_map(|key| Some((key.clone(), extra(key)?))).collect(),
        }
    }

    /// The name in the first column.
    pub fn name(&self) -> String {
        self.allocator.row_name(self.contestant)
    }

    /// What a ratio is taken of.
    fn judged(&self, by: Judged) -> f64 {
        match by {
            Judged::Headline => self.figure.median,
            Judged::Cpu => self.cpu,
            Judged::Extra(key) => self.extra(key).unwrap_or(f64::NAN),
        }
    }

    /// The extra of that key.
    pub(super) fn extra(&self, key: &str) -> Option<f64> {
        self.extras.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }
}

impl CaseResult {
    /// sisal's ratio to the best peer with that allocator; `None` if either did not run.
    pub fn ratio(&self, allocator: Allocator) -> Option<Ratio> {
        self.ratio_by(self.case.judged, self.case.better, allocator, |contestant| !self.case.is_reference(contestant))
    }

    /// The ratio of one of the further times, with the system's allocator.
    pub fn ratio_also(&self, by: Judged) -> Option<Ratio> {
        self.ratio_by(by, Better::Lower, Allocator::System, |contestant| !self.case.is_reference(contestant))
    }

    /// The ratio to one contestant, with the system's allocator.
    pub fn ratio_to(&self, other: &str) -> Option<Ratio> {
        self.ratio_by(self.case.judged, self.case.better, Allocator::System, |contestant| contestant == other)
    }

    fn ratio_by(
        &self,
        by: Judged,
        better: Better,
        allocator: Allocator,
        counts: impl Fn(&str) -> bool,
    ) -> Option<Ratio> {
        let rows = || self.rows.iter().filter(|row| row.allocator == allocator);
        let ours = rows().find(|row| row.contestant == SUBJECT)?.judged(by);
        let peers = rows().filter(|row| row.contestant != SUBJECT && counts(row.contestant));
        // What sisal takes of a peer's time, or a peer has of sisal's rate.
        let ratio = |row: &Row| Ratio {
            best: row.contestant,
            value: match better {
                Better::Lower => ours / row.judged(by),
                Better::Higher => row.judged(by) / ours,
            },
        };
        // The best peer is the one that sisal looks worst beside.
        peers.map(ratio).filter(|ratio| ratio.value.is_finite()).max_by(|a, b| a.value.total_cmp(&b.value))
    }

    /// The rows in the table's order: by allocator, then best first.
    pub(super) fn ranked(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by(|a, b| {
            let (x, y) = (a.judged(self.case.judged), b.judged(self.case.judged));
            let by_figure = match self.case.better {
                Better::Lower => x.total_cmp(&y),
                Better::Higher => y.total_cmp(&x),
            };
            (a.allocator as u8).cmp(&(b.allocator as u8)).then(by_figure)
        });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{result, row};

    fn value(ratio: Option<Ratio>) -> f64 {
        ratio.unwrap().value
    }

    #[test]
    fn the_ratio_is_to_the_best_peer_with_the_same_allocator() {
        use Allocator::{Mimalloc, System};
        let result = result(
            "spawn-10k",
            vec![
                row("sisal", System, 50.0, 1.0),
                row("tokio", System, 400.0, 1.0),
                row("rayon", System, 200.0, 1.0),
                row("threads", System, 5.0, 1.0),
                row("sisal", Mimalloc, 40.0, 1.0),
                row("tokio", Mimalloc, 20.0, 1.0),
            ],
        );
        assert_eq!(result.ratio(System), Some(Ratio { value: 0.25, best: "rayon" }));
        assert_eq!(result.ratio(Mimalloc), Some(Ratio { value: 2.0, best: "tokio" }));
    }

    #[test]
    fn the_ratio_is_of_cpu_where_the_case_says_so() {
        let rows = vec![row("sisal", Allocator::System, 4.0, 1.0), row("smol", Allocator::System, 2.0, 4.0)];
        assert_eq!(value(result("sleepers", rows.clone()).ratio(Allocator::System)), 2.0);
        assert_eq!(value(result("sleepers-30k", rows).ratio(Allocator::System)), 0.25);
    }

    #[test]
    fn the_ratio_of_rates_is_inverted() {
        let rate: &'static Case =
            Box::leak(Box::new(Case { better: Better::Higher, ..*Case::find("yield-2").unwrap() }));
        let rows = vec![
            row("may", Allocator::System, 25.0, 1.0),
            row("sisal", Allocator::System, 100.0, 1.0),
            row("tokio", Allocator::System, 50.0, 1.0),
        ];
        let result = CaseResult { case: rate, quick: true, rows };
        let ratio = result.ratio(Allocator::System);
        assert_eq!(ratio, Some(Ratio { value: 0.5, best: "tokio" }));
        assert_eq!(result.ranked()[0].contestant, "sisal");
    }

    #[test]
    fn further_times_have_their_own_best_peer() {
        let row = |name, rate, cpu, p99| Row {
            extras: vec![("p99".to_owned(), p99)],
            ..row(name, Allocator::System, rate, cpu)
        };
        let rows = vec![row("sisal", 100.0, 6.0, 4.0), row("tokio", 80.0, 8.0, 3.0), row("may", 50.0, 4.0, 8.0)];
        let result = result("echo-100", rows);
        assert_eq!(result.ratio(Allocator::System), Some(Ratio { value: 0.8, best: "tokio" }));
        assert_eq!(result.ratio_also(Judged::Cpu), Some(Ratio { value: 1.5, best: "may" }));
        assert_eq!(result.ratio_also(Judged::Extra("p99")), Some(Ratio { value: 4.0 / 3.0, best: "tokio" }));
        assert_eq!(result.ratio_also(Judged::Extra("p50")), None);
    }

    #[test]
    fn a_reference_has_a_ratio_of_its_own() {
        let rows = [("sisal", 3.0), ("rayon", 4.0), ("threads", 2.0)];
        let result = result("sum-10m", rows.map(|(name, figure)| row(name, Allocator::System, figure, 1.0)).into());
        assert_eq!(result.ratio(Allocator::System), Some(Ratio { value: 0.75, best: "rayon" }));
        assert_eq!(result.ratio_to("threads"), Some(Ratio { value: 1.5, best: "threads" }));
        assert_eq!(result.ratio_to("serial"), None);
        assert!(crate::report::json(&result).ends_with(r#""ratio":0.75,"ratio_to":{"threads":1.5}}"#));
        assert!(crate::report::markdown(&result).ends_with("sisal to threads: **1.50**\n"));
    }

    #[test]
    fn there_is_no_ratio_without_sisal_or_without_peers() {
        let alone = result("sleepers", vec![row("sisal", Allocator::System, 4.0, 1.0)]);
        assert_eq!(alone.ratio(Allocator::System), None);
        let others = result("sleepers", vec![row("smol", Allocator::System, 4.0, 1.0)]);
        assert_eq!(others.ratio(Allocator::System), None);
    }
}
