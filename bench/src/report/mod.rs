//! What the parent prints about a case: [`markdown`] or [`json`], both from a [`CaseResult`].

mod json;
mod markdown;
mod result;

pub use json::json;
pub use markdown::markdown;
pub use result::{Allocator, CaseResult, Ratio, Row};

#[cfg(test)]
mod fixture {
    //! Results made up for tests.

    use super::{Allocator, CaseResult, Row};
    use crate::cases::Case;
    use crate::sample::Sample;

    pub(super) fn row(contestant: &'static str, allocator: Allocator, figure: f64, cpu: f64) -> Row {
        let sample = |x: f64| Sample::new(figure + x, cpu).with("p50", 0.5).with("p99", 1234.5);
        Row::new(contestant, allocator, &[sample(1.0), sample(0.0), sample(-1.0)])
    }

    pub(super) fn result(case: &str, rows: Vec<Row>) -> CaseResult {
        CaseResult { case: Case::find(case).unwrap(), quick: true, rows }
    }
}
