//! What a child tells its parent, as one line on standard output.
//!
//! Either `sample figure=61.5 cpu=98.2 p99=3.1`, any number of further keys, or `absent` and the
//! reason why this contestant has no part in this case. The Go program writes the same lines.

use std::fmt;

/// A contestant's figures in one run of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The headline, in the case's unit.
    pub figure: f64,
    /// CPU time, in the case's CPU unit.
    pub cpu: f64,
    /// The case's further columns by key.
    pub extras: Vec<(String, f64)>,
}

/// A contestant that has no part in a case, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Why, as a clause that can stand after the contestant's name and a colon.
    pub reason: String,
}

/// What a contestant makes of a case.
pub type Outcome = Result<Sample, Absent>;

impl Sample {
    /// A sample without extras.
    pub fn new(figure: f64, cpu: f64) -> Self {
        Self { figure, cpu, extras: Vec::new() }
    }

    /// The sample with one more column.
    #[must_use]
    pub fn with(mut self, key: &str, value: f64) -> Self {
        self.extras.push((key.to_owned(), value));
        self
    }

    /// The extra of that key.
    pub fn extra(&self, key: &str) -> Option<f64> {
        self.extras.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }
}

impl Absent {
    /// Absent for that reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// Absent because the system refused something.
    pub fn from_error(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sample figure={} cpu={}", self.figure, self.cpu)?;
        self.extras.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "absent {}", self.reason)
    }
}

/// Reads a child's standard output; `None` if it holds no such line.
pub fn parse(output: &str) -> Option<Outcome> {
    output.lines().rev().find_map(|line| match line.split_once(' ')? {
        ("sample", fields) => parse_sample(fields).map(Ok),
        ("absent", reason) => Some(Err(Absent::new(reason))),
        _ => None,
    })
}

/// Reads the fields of a sample.
fn parse_sample(fields: &str) -> Option<Sample> {
    let mut pairs = fields.split_whitespace().map(|field| {
        let (key, value) = field.split_once('=')?;
        let value: f64 = value.parse().ok()?;
        value.is_finite().then(|| (key.to_owned(), value))
    });
    let mut expect = |name: &str| match pairs.next()?? {
        (key, value) if key == name => Some(value),
        _ => None,
    };
    let (figure, cpu) = (expect("figure")?, expect("cpu")?);
    Some(Sample { figure, cpu, extras: pairs.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_comes_back_as_it_was_written() {
        let sample = Sample::new(61.5, 0.000_123_456_789).with("p50", 1.0).with("p99", 3e9);
        assert_eq!(parse(&format!("{sample}\n")), Some(Ok(sample)));
    }

    #[test]
    fn an_absence_keeps_its_reason() {
        let absent = Absent::new("its tasks cannot park");
        assert_eq!(parse(&absent.to_string()), Some(Err(absent)));
    }

    #[test]
    fn other_lines_are_passed_over_and_broken_ones_are_no_sample() {
        assert_eq!(parse("hello\nsample figure=1 cpu=2\nbye\n"), Some(Ok(Sample::new(1.0, 2.0))));
        assert_eq!(parse(""), None);
        assert_eq!(parse("sample cpu=2 figure=1"), None);
        assert_eq!(parse("sample figure=1 cpu=x"), None);
        assert_eq!(parse("sample figure=NaN cpu=1"), None);
    }
}
