//! What stands behind the question mark of a path: `?id=17&traces=0`.

use super::http::Response;
use super::source::Selection;
use std::borrow::Cow;
use std::time::Duration;

/// How long a trace is if nobody says.
const USUAL_TRACE: Duration = Duration::from_secs(1);
/// The shortest and the longest there are, in seconds. Only one runs at a time, and it is held in memory.
const TRACE_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// The parameters of a request. Those that nobody knows don't matter.
pub(super) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(super) fn new(text: &'a str) -> Query<'a> {
        Query(text)
    }

    /// The first parameter of this name.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        form_urlencoded::parse(self.0.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Which fibers, and how much of each.
    pub(super) fn selection(&self) -> Result<Selection, Response> {
        let id = match self.get("id") {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| wrong("id", &text, "the number of a fiber"))?),
        };
        let traces = match self.get("traces").as_deref() {
            None | Some("1") => true,
            Some("0") => false,
            Some(text) => return Err(wrong("traces", text, "0 or 1")),
        };
        Ok(Selection { id, traces })
    }

    /// How long to trace; `None` for what is recorded already.
    pub(super) fn seconds(&self) -> Result<Option<Duration>, Response> {
        let Some(text) = self.get("seconds") else {
            return Ok(Some(USUAL_TRACE));
        };
        match text.parse::<f64>() {
            Ok(0.0) => Ok(None),
            Ok(seconds) if TRACE_SECONDS.contains(&seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
            _ => Err(wrong("seconds", &text, "a number from 0.1 to 60, or 0 for what the flight recorder holds")),
        }
    }
}

fn wrong(name: &str, given: &str, expected: &str) -> Response {
    Response::text(400, format!("{name}={given:?}: expected {expected}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_of_a_name_counts() {
        let query = Query::new("token=a%2Bb+c&id=7&id=8&&=&x");
        assert_eq!(query.get("token").as_deref(), Some("a+b c"));
        assert_eq!(query.selection().unwrap(), Selection { id: Some(7), traces: true });
        assert_eq!(query.get("x").as_deref(), Some(""));
        assert_eq!(query.get("missing"), None);
    }

    #[test]
    fn seconds_have_limits() {
        let seconds = |text| Query::new(text).seconds().map_err(|response| response.status);
        assert_eq!(seconds(""), Ok(Some(USUAL_TRACE)));
        assert_eq!(seconds("seconds=0"), Ok(None));
        assert_eq!(seconds("seconds=0.1"), Ok(Some(Duration::from_millis(100))));
        assert_eq!(seconds("seconds=60"), Ok(Some(Duration::from_secs(60))));
        for wrong in
            ["seconds=", "seconds=-1", "seconds=61", "seconds=NaN", "seconds=inf", "seconds=1s", "seconds=0.01"]
        {
            assert_eq!(seconds(wrong), Err(400), "{wrong}");
        }
    }

    #[test]
    fn numbers_and_switches_that_make_no_sense_are_refused() {
        for wrong in ["id=", "id=-1", "id=x", "id=99999999999999999999", "traces=", "traces=yes"] {
            assert_eq!(Query::new(wrong).selection().unwrap_err().status, 400, "{wrong}");
        }
    }
}
