//! What users of `sisal gz` see: the program is run, beside gzip, pigz and Python where they are.

mod defects;
mod files;
mod interrupted;
mod like_gzip;
mod program;
mod round_trips;
mod samples;
mod terminals;
