//! Dates as tables have them, in the time of the place where we are.

use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// What stands for a time that no calendar here has.
const UNKNOWN: &str = "??? ?? ??:??";

/// Month, day and time.
pub(super) fn date(time: SystemTime) -> String {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()),
        Err(before) => i64::try_from(before.duration().as_secs()).map(|seconds| -seconds),
    };
    let Some(local) = seconds.ok().and_then(local) else { return UNKNOWN.to_owned() };
    let month = usize::try_from(local.tm_mon).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or("???");
    format!("{month} {:2} {:02}:{:02}", local.tm_mday, local.tm_hour, local.tm_min)
}

/// What the calendar and the clock here say, so many seconds after 1970 began elsewhere.
#[allow(unsafe_code, reason = "only the C library knows the zones of time")]
fn local(seconds: i64) -> Option<libc::tm> {
    let mut local = MaybeUninit::uninit();
    // SAFETY: both point to what they should. If the result is not null, the second has been filled. The environment, which the call reads, is
    // not changed by this program.
    unsafe {
        let filled = libc::localtime_r(&raw const seconds, local.as_mut_ptr());
        (!filled.is_null()).then(|| local.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_have_one_width_and_follow_each_other() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        for seconds in [0, 951_782_400, 1_700_000_000, 1_735_689_599] {
            assert_eq!(at(seconds).len(), UNKNOWN.len(), "{}", at(seconds));
            assert_ne!(at(seconds), at(seconds + 60));
        }
        assert_eq!(date(UNIX_EPOCH - Duration::from_secs(86_400)).len(), UNKNOWN.len());
        assert_eq!(at(i64::MAX as u64), UNKNOWN);
    }
}
