//! hyper's time.

use crate::prim::clock::Moment;
use crate::prim::wake_timer::WakeTimer;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Tells hyper the time, and when it is up.
///
/// The times of all futures are kept by one thread of the process.
///
/// ```
/// use hyper::rt::Timer as _;
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// sisal::block_on(sisal::compat::hyper::Timer.sleep(Duration::from_millis(2)));
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// ```
#[derive(Copy, Clone, Debug, Default)]
pub struct Timer;

/// A future that is ready when its time has come. Made by [`Timer`].
///
/// ```
/// use hyper::rt::Timer as _;
/// use std::time::{Duration, Instant};
/// let timer = sisal::compat::hyper::Timer;
/// let mut sleep = timer.sleep(Duration::from_secs(3600));
/// // One of ours is given another time in place.
/// timer.reset(&mut sleep, Instant::now());
/// sisal::block_on(sleep);
/// ```
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    until: Moment,
    timer: Option<WakeTimer>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Moment::now() >= self.until {
            self.timer = None;
            return Poll::Ready(());
        }
        if self.timer.as_ref().is_none_or(|timer| !timer.is_for(self.until, context.waker())) {
            self.timer = Some(WakeTimer::new(self.until, context.waker()));
        }
        Poll::Pending
    }
}

impl ::hyper::rt::Sleep for Sleep {}

impl ::hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn ::hyper::rt::Sleep>> {
        Box::pin(Sleep { until: Moment::now().after(duration), timer: None })
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn ::hyper::rt::Sleep>> {
        Box::pin(Sleep { until: Moment::of(deadline), timer: None })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn ::hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            // Its timer is found to be for another time by the next poll.
            Some(mut sleep) => sleep.until = Moment::of(new_deadline),
            None => *sleep = self.sleep_until(new_deadline),
        }
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}
