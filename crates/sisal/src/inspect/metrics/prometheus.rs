//! The text that Prometheus reads: version 0.0.4 of its exposition format.

use super::table::{Family, Kind, LATENCY, LATENCY_HELP, RUNTIME};
use super::{LatencyHistogram, Metrics};
use std::fmt::{self, Display, Write};

impl Metrics {
    /// As Prometheus reads it (`text/plain; version=0.0.4`). Every series has a label with the name of the runtime.
    ///
    /// ```
    /// let runtime = sisal::Runtime::builder().workers(2).name("crunch").build()?;
    /// let text = runtime.metrics().to_prometheus();
    /// assert!(text.contains("sisal_workers{runtime=\"crunch\",kind=\"base\"} 2\n"));
    /// # Ok::<(), sisal::BuildError>(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut out = String::new();
        // A string takes everything.
        let _ = self.write_prometheus(&mut out);
        out
    }

    fn write_prometheus(&self, out: &mut String) -> fmt::Result {
        for family in self.families() {
            write_family(out, &self.runtime, &family)?;
        }
        write_latency(out, &self.runtime, &self.latency)
    }
}

fn write_family(out: &mut String, runtime: &str, family: &Family) -> fmt::Result {
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    write_head(out, family.name, family.help, kind)?;
    for series in &family.series {
        write!(out, "{}{{{RUNTIME}=\"{}\"", family.name, Escaped(runtime))?;
        for (label, value) in &series.labels {
            write!(out, ",{label}=\"{}\"", Escaped(value))?;
        }
        writeln!(out, "}} {}", series.value)?;
    }
    Ok(())
}

/// Each range counts what took no longer, as Prometheus wants it.
fn write_latency(out: &mut String, runtime: &str, latency: &LatencyHistogram) -> fmt::Result {
    write_head(out, LATENCY, LATENCY_HELP, "histogram")?;
    let runtime = Escaped(runtime);
    let mut up_to_here = 0;
    for range in &latency.ranges {
        up_to_here += range.count;
        let bound: &dyn Display = match &range.up_to {
            Some(up_to) => &up_to.as_secs_f64(),
            None => &"+Inf",
        };
        writeln!(out, "{LATENCY}_bucket{{{RUNTIME}=\"{runtime}\",le=\"{bound}\"}} {up_to_here}")?;
    }
    writeln!(out, "{LATENCY}_sum{{{RUNTIME}=\"{runtime}\"}} {}", latency.sum.as_secs_f64())?;
    writeln!(out, "{LATENCY}_count{{{RUNTIME}=\"{runtime}\"}} {up_to_here}")
}

fn write_head(out: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

/// The value of a label.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            _ => f.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        assert_eq!(Escaped("a \"b\" \\ c\nd {e=\"ü\"}").to_string(), "a \\\"b\\\" \\\\ c\\nd {e=\\\"ü\\\"}");
    }
}
