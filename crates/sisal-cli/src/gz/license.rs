//! Under which license this is.

use super::PROGRAM;
use super::files::print;
use super::report::Report;
use crate::wording::plain;

/// Tells it.
pub(super) fn tell(report: &Report) {
    let text = format!(
        "{PROGRAM} {}
Copyright (c) The sisal contributors

Licensed under the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0) or the MIT license
(https://opensource.org/licenses/MIT), at your option. There is no warranty, to the extent permitted by law.
",
        env!("CARGO_PKG_VERSION")
    );
    if let Err(error) = print(&text) {
        report.error(format_args!("stdout: {}", plain(&error)));
    }
}
