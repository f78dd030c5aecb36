//! Cases of whole programs: `sisal gz` beside those it would replace.
//!
//! | case | what is asked of sisal, as the ratios have it |
//! |---|---|
//! | `gz-compress` | at most 0.87: 1.15 times the rate of pigz, to a size within 1 % of its; no slower than threads |
//! | `gz-decompress` | at most 0.87; no slower than threads |
//!
//! Programs have to be started, which takes sisal's 4 ms; the threads are those of the bench, and need not.

use super::{Better, Case, WORKERS};
use crate::work::{Gz, Work};

const fn gz(bytes: usize, expands: bool) -> Work {
    Work::Gz(Gz { bytes, expands, workers: WORKERS })
}

/// A rate, of text.
const fn rate(name: &'static str, about: &'static str, work: [Work; 2]) -> Case {
    Case { cpu_unit: "ms", against: &["threads"], better: Better::Higher, ..Case::new(name, about, "MB per s", work) }
}

/// The full size, then the quick one.
pub(super) static CASES: &[Case] = &[
    Case {
        extras: &[("size", "MB of output")],
        ..rate(
            "gz-compress",
            "128 MiB of source code compressed at the usual level",
            [gz(128 << 20, false), gz(32 << 20, false)],
        )
    },
    rate("gz-decompress", "the same expanded", [gz(128 << 20, true), gz(32 << 20, true)]),
];
