//! Reads a trace as a viewer would, and checks that it holds together.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A slice on a track, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: String,
    pub(crate) args: Value,
}

/// An arrow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) name: String,
    /// Track and time.
    pub(crate) from: (u64, u64),
    pub(crate) to: (u64, u64),
}

/// A trace that was found to be sound.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) other: Value,
    pub(crate) process: String,
    /// Names of tracks.
    pub(crate) tracks: BTreeMap<u64, String>,
    pub(crate) slices: BTreeMap<u64, Vec<Slice>>,
    /// Names of marks, by track.
    pub(crate) marks: Vec<(u64, String)>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) counters: Vec<f64>,
}

fn nanoseconds(microseconds: &Value) -> u64 {
    (microseconds.as_f64().unwrap() * 1000.0).round() as u64
}

/// Track, time and name.
type FlowEnd = (u64, u64, String);

/// Parses and checks.
pub(crate) fn check(json: &str) -> Checked {
    let parsed: Value = serde_json::from_str(json).unwrap();
    let mut checked = Checked { other: parsed["otherData"].clone(), ..Checked::default() };
    let mut ends: BTreeMap<u64, [Vec<FlowEnd>; 2]> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for event in parsed["traceEvents"].as_array().unwrap() {
        let name = event["name"].as_str().unwrap().to_owned();
        let (tid, at) = (event["tid"].as_u64().unwrap(), nanoseconds(&event["ts"]));
        assert_eq!(event["pid"], parsed["traceEvents"][0]["pid"], "one process");
        match event["ph"].as_str().unwrap() {
            "M" if name == "process_name" => checked.process = event["args"]["name"].as_str().unwrap().to_owned(),
            "M" if name == "thread_name" => {
                let before = checked.tracks.insert(tid, event["args"]["name"].as_str().unwrap().to_owned());
                assert_eq!(before, None, "a track has one name");
            }
            "M" => assert_eq!(name, "thread_sort_index"),
            "X" => {
                in_order(&mut last, tid, at);
                let (end, args) = (at + nanoseconds(&event["dur"]), event["args"].clone());
                checked.slices.entry(tid).or_default().push(Slice { start: at, end, name, args });
            }
            "i" => {
                in_order(&mut last, tid, at);
                checked.marks.push((tid, name));
            }
            "s" => ends.entry(event["id"].as_u64().unwrap()).or_default()[0].push((tid, at, name)),
            "f" => {
                assert_eq!(event["bp"], "e");
                ends.entry(event["id"].as_u64().unwrap()).or_default()[1].push((tid, at, name));
            }
            "C" => checked.counters.push(event["args"]["busy"].as_f64().unwrap()),
            phase => panic!("unknown phase {phase}"),
        }
    }
    for [from, to] in ends.into_values() {
        assert!(from.len() == 1 && to.len() == 1, "an arrow has two ends: {from:?} {to:?}");
        checked.flows.push(Flow { name: from[0].2.clone(), from: (from[0].0, from[0].1), to: (to[0].0, to[0].1) });
        assert_eq!(from[0].2, to[0].2);
    }
    checked.hold_together();
    checked
}

/// Times of a track don't go backwards in the file.
fn in_order(last: &mut BTreeMap<u64, u64>, tid: u64, at: u64) {
    let last = last.entry(tid).or_default();
    assert!(*last <= at, "track {tid} goes back from {last} to {at}");
    *last = at;
}

impl Checked {
    fn hold_together(&self) {
        let tracks: BTreeSet<u64> = self.tracks.keys().copied().collect();
        assert!(self.slices.keys().all(|tid| tracks.contains(tid)), "a slice on a track without a name");
        for slices in self.slices.values() {
            for pair in slices.windows(2) {
                assert!(pair[0].end <= pair[1].start, "slices overlap: {pair:?}");
            }
        }
        for flow in &self.flows {
            assert!(flow.from.1 <= flow.to.1, "an arrow back in time: {flow:?}");
            let (from, to) = (self.slice_at(flow.from), self.slice_at(flow.to));
            assert!(from.is_some(), "{flow:?} comes from no slice");
            assert!(to.is_some_and(|to| to.start == flow.to.1), "{flow:?} leads to no turn: {to:?}");
        }
    }

    /// The slice around a point, the last of several.
    fn slice_at(&self, (tid, at): (u64, u64)) -> Option<&Slice> {
        let slices = &self.slices.get(&tid)?;
        let after = slices.partition_point(|slice| slice.start <= at);
        slices[..after].last().filter(|slice| at <= slice.end)
    }

    /// All turns of the fiber of this name, with their tracks.
    pub(crate) fn turns_of(&self, name: &str) -> Vec<(u64, &Slice)> {
        let all = self.slices.iter().flat_map(|(&tid, slices)| slices.iter().map(move |slice| (tid, slice)));
        all.filter(|(_, slice)| slice.name == name).collect()
    }

    /// The name of the slice that an arrow begins in, the later of two that touch.
    pub(crate) fn source_of(&self, flow: &Flow) -> &str {
        &self.slice_at(flow.from).unwrap().name
    }

    pub(crate) fn target_of(&self, flow: &Flow) -> &str {
        &self.slice_at(flow.to).unwrap().name
    }

    pub(crate) fn has_mark(&self, part: &str) -> bool {
        self.marks.iter().any(|(_, name)| name.contains(part))
    }

    /// A number of `otherData`.
    pub(crate) fn total(&self, name: &str) -> u64 {
        self.other[name].as_str().unwrap().parse().unwrap()
    }
}
