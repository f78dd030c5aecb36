//! tokio's futures in fibers, and tokio's tasks that talk with fibers.

use super::common::waits::in_fibers_and_a_thread;
use super::common::watchdog::guarded;
use super::common::{background, in_fiber_of_each, shut_down};
use sisal::compat::tokio::{Compat, block_on, enter, handle};
use sisal::{spawn, spawn_future};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{sleep, timeout};

#[test]
fn timers_work_in_the_background_runtime() {
    in_fibers_and_a_thread(|| {
        let start = Instant::now();
        block_on(sleep_twice());
        assert!(start.elapsed() >= Duration::from_millis(2));
        let waited = block_on(async { timeout(Duration::from_millis(1), std::future::pending::<()>()).await });
        assert!(waited.is_err());
    });
}

async fn sleep_twice() {
    for _ in 0..2 {
        sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn a_fiber_inside_of_tokio_is_left_only_where_it_waits() {
    in_fiber_of_each(|| {
        let (sender, receiver) = sisal::chan::unbounded();
        let sending = [sender.clone(), sender].map(|sender| {
            spawn_future(Compat::new(async move {
                for number in 0..5_000 {
                    sender.send(number).unwrap();
                }
            }))
        });
        for fiber in sending {
            fiber.join().unwrap();
        }
        assert!(Handle::try_current().is_err());
        assert_eq!(receiver.iter().count(), 10_000);
    });
}

#[test]
fn nothing_of_tokio_is_seen_between_polls() {
    in_fiber_of_each(|| {
        let (tell, told) = sisal::chan::bounded(0);
        let inside = spawn_future(Compat::new(async move {
            assert!(Handle::try_current().is_ok());
            // Other fibers run while this waits.
            tell.send_async(()).await.unwrap();
            sleep(Duration::from_millis(1)).await;
            assert!(Handle::try_current().is_ok());
        }));
        told.recv().unwrap();
        assert!(Handle::try_current().is_err());
        inside.join().unwrap();
        assert!(Handle::try_current().is_err());
    });
}

#[test]
fn many_fibers_sleep_in_tokio_at_once() {
    in_fiber_of_each(|| {
        let sleepers: Vec<_> = (0..100)
            .map(|number| {
                spawn(move || {
                    block_on(async {
                        sleep(Duration::from_millis(number % 5)).await;
                        tokio::task::yield_now().await;
                        number
                    })
                })
            })
            .collect();
        let sum: u64 = sleepers.into_iter().map(|sleeper| sleeper.join().unwrap()).sum();
        assert_eq!(sum, 4950);
    });
}

#[test]
fn a_given_runtime_is_entered_for_polls_and_for_the_drop() {
    struct Inside(Arc<std::sync::atomic::AtomicUsize>);
    impl Drop for Inside {
        fn drop(&mut self) {
            self.0.fetch_add(Handle::try_current().is_ok().into(), std::sync::atomic::Ordering::AcqRel);
        }
    }
    guarded(|| {
        let tokio = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let inside = Inside(Arc::clone(&count));
        let id = tokio.handle().id();
        sisal::run(|| {
            let seen = sisal::block_on(enter(tokio.handle().clone(), async move {
                let _inside = inside;
                sleep(Duration::from_millis(1)).await;
                Handle::current().id()
            }));
            assert_eq!(seen, id);
            drop(enter(tokio.handle().clone(), Inside(Arc::clone(&count))));
        });
        assert_eq!(count.load(std::sync::atomic::Ordering::Acquire), 2);
    });
}

#[test]
fn tokio_channels_join_tasks_and_fibers() {
    in_fiber_of_each(|| {
        let (requests, mut served) = mpsc::channel::<(u32, oneshot::Sender<u32>)>(2);
        let server = handle().spawn(async move {
            let mut count = 0;
            while let Some((number, answer)) = served.recv().await {
                let _ = answer.send(number * 2);
                count += 1;
            }
            count
        });
        let clients: Vec<_> = (0..20)
            .map(|number| {
                let requests = requests.clone();
                spawn(move || {
                    sisal::block_on(async {
                        let (answer, answered) = oneshot::channel();
                        requests.send((number, answer)).await.unwrap();
                        answered.await.unwrap()
                    })
                })
            })
            .collect();
        drop(requests);
        let sum: u32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        assert_eq!(sum, 380);
        assert_eq!(sisal::block_on(server).unwrap(), 20);
    });
}

#[test]
fn our_channels_and_handles_join_fibers_and_tokio_tasks() {
    in_fiber_of_each(|| {
        let (sender, receiver) = sisal::chan::bounded(1);
        let task = handle().spawn(async move {
            let mut sum = 0;
            while let Ok(number) = receiver.recv_async().await {
                sum += number;
            }
            sum
        });
        (1..=100).for_each(|number| sender.send(number).unwrap());
        drop(sender);
        assert_eq!(sisal::block_on(task).unwrap(), 5050);
        let fiber = spawn(|| {
            sisal::yield_now();
            7
        });
        let task = handle().spawn(async move { fiber.await.unwrap() });
        assert_eq!(sisal::block_on(task).unwrap(), 7);
    });
}

#[test]
fn a_notify_wakes_fibers() {
    in_fiber_of_each(|| {
        let (notify, count) = (Arc::new(Notify::new()), 10);
        let (tell, told) = sisal::chan::bounded(0);
        let waiters: Vec<_> = (0..count)
            .map(|_| {
                let (notify, tell) = (Arc::clone(&notify), tell.clone());
                spawn(move || {
                    sisal::block_on(async {
                        let mut notified = std::pin::pin!(notify.notified());
                        notified.as_mut().enable();
                        tell.send_async(()).await.unwrap();
                        notified.await;
                    });
                })
            })
            .collect();
        drop(tell);
        assert_eq!(told.iter().take(count).count(), count);
        handle().spawn(async move { notify.notify_waiters() });
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

#[test]
fn tokio_sockets_work_in_fibers() {
    in_fiber_of_each(|| {
        block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let client = spawn_future(Compat::new(async move {
                let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
                stream.write_all(b"over tokio").await.unwrap();
            }));
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "over tokio");
            client.await.unwrap();
        });
    });
}

#[test]
fn a_cancelled_fiber_drops_its_tokio_future() {
    guarded(|| {
        let runtime = background(2);
        let (tell, told) = sisal::chan::bounded(0);
        let fiber = runtime.run(move || {
            spawn_future(Compat::new(async move {
                tell.send_async(()).await.unwrap();
                sleep(Duration::from_secs(3600)).await;
            }))
        });
        told.recv().unwrap();
        fiber.cancel();
        assert!(fiber.join().is_err());
        shut_down(runtime);
    });
}
