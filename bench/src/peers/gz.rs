//! Programs that compress: sisal's, and those it would replace.

use std::process::Command;

use super::absent;
use crate::companions;
use crate::sample::{Absent, Outcome};
use crate::work::{Gz, Work};

/// `sisal gz`.
pub(super) fn sisal(load: Gz) -> Outcome {
    let program = companions::tool().map_err(Absent::new)?;
    run(load, Command::new(program).args(["gz", &format!("-p{}", load.workers)]))
}

/// pigz, with as many threads.
pub(super) fn pigz(work: Work) -> Outcome {
    let Work::Gz(load) = work else { return absent("it compresses and nothing else") };
    run(load, Command::new("pigz").arg(format!("-p{}", load.workers)))
}

/// gzip, which has one thread.
pub(super) fn gzip(work: Work) -> Outcome {
    let Work::Gz(load) = work else { return absent("it compresses and nothing else") };
    run(load, &mut Command::new("gzip"))
}

fn run(load: Gz, command: &mut Command) -> Outcome {
    load.program(command.arg(if load.expands { "-dc" } else { "-cn" }))
}
