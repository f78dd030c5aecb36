//! Our streams under the traits of others.

use super::common::waits::in_fibers_and_a_thread;
use super::common::{in_fiber_of_each, in_main_fiber};
use futures_core::Stream;
use sisal::net::{TcpListener, TcpStream, UnixStream};
use sisal::{block_on, spawn};
use std::future::poll_fn;
use std::io::{IoSlice, Read, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

/// More than the buffers of a socket hold, of an odd length, and such that no part looks like another.
fn pattern() -> Vec<u8> {
    (0..1_000_003u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

mod by_tokio {
    use super::*;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

    /// Sends from one end and receives at the other, both awaited in one future each.
    fn exchange<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>((mut one, mut two): (S, S)) {
        let sending = spawn(move || {
            block_on(async {
                one.write_all(&pattern()).await.unwrap();
                one.shutdown().await.unwrap();
                let mut answer = Vec::new();
                one.read_to_end(&mut answer).await.unwrap();
                answer
            })
        });
        let received = block_on(async {
            let mut received = Vec::new();
            two.read_to_end(&mut received).await.unwrap();
            two.write_all(b"thanks").await.unwrap();
            two.shutdown().await.unwrap();
            received
        });
        assert!(received == pattern());
        assert_eq!(sending.join().unwrap(), b"thanks");
    }

    #[test]
    fn bytes_go_both_ways() {
        in_fiber_of_each(|| {
            exchange(tcp_pair());
            exchange(UnixStream::pair().unwrap());
        });
    }

    /// A read of a Unix stream ends with the bytes that a descriptor comes with, although there are more.
    #[test]
    fn what_stands_behind_a_descriptor_is_received_without_another_event() {
        let send_both = |other: &UnixStream| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let descriptors = [other.as_fd()];
            assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
            sendmsg(other, &[IoSlice::new(b"a")], &mut control, SendFlags::empty()).unwrap();
            sendmsg(other, &[IoSlice::new(b"b")], &mut SendAncillaryBuffer::default(), SendFlags::empty()).unwrap();
        };
        in_fiber_of_each(|| {
            let (mut one, other) = UnixStream::pair().unwrap();
            for _ in 0..3 {
                let other = other.try_clone().unwrap();
                // On one worker both are there when the first wait ends.
                let sending = spawn(move || send_both(&other));
                block_on(async {
                    assert_eq!(AsyncReadExt::read(&mut one, &mut [0; 2]).await.unwrap(), 1);
                    assert_eq!(AsyncReadExt::read(&mut one, &mut [0; 2]).await.unwrap(), 1);
                });
                sending.join().unwrap();
            }
        });
    }

    #[test]
    fn one_future_reads_and_writes_one_stream_at_once() {
        in_fiber_of_each(|| {
            let (one, two) = tcp_pair();
            let echo = spawn(move || std::io::copy(&mut &two, &mut &two).unwrap());
            let received = block_on(async {
                let (mut reading, mut writing) = (&one, &one);
                let data = pattern();
                let send = async {
                    AsyncWriteExt::write_all(&mut writing, &data).await.unwrap();
                    AsyncWriteExt::shutdown(&mut writing).await.unwrap();
                };
                let mut received = Vec::new();
                let (_, read) = tokio::join!(send, AsyncReadExt::read_to_end(&mut reading, &mut received));
                read.unwrap();
                received
            });
            assert!(received == pattern());
            assert_eq!(echo.join().unwrap(), pattern().len() as u64);
        });
    }

    #[test]
    fn a_tokio_task_uses_our_stream_against_a_blocking_fiber() {
        in_fiber_of_each(|| {
            let (mut one, mut two) = tcp_pair();
            let task = sisal::compat::tokio::handle().spawn(async move {
                let mut received = Vec::new();
                AsyncReadExt::read_to_end(&mut two, &mut received).await.unwrap();
                received
            });
            Write::write_all(&mut one, &pattern()).unwrap();
            drop(one);
            assert!(block_on(task).unwrap() == pattern());
        });
    }

    #[test]
    fn a_closed_stream_wakes_its_future() {
        in_fiber_of_each(|| {
            let (one, _two) = tcp_pair();
            let one = std::sync::Arc::new(one);
            let closer = std::sync::Arc::clone(&one);
            let reading = spawn(move || block_on(async { (&*one).read_u8().await }));
            (0..10).for_each(|_| sisal::yield_now());
            closer.close();
            assert!(reading.join().unwrap().is_err());
        });
    }
}

mod by_futures {
    use super::*;
    use futures_io::{AsyncRead, AsyncWrite};

    #[test]
    fn bytes_go_through() {
        in_fibers_and_a_thread(|| {
            let (one, two) = tcp_pair();
            let blocking = std::thread::spawn(move || {
                let mut received = Vec::new();
                (&two).read_to_end(&mut received).unwrap();
                (&two).write_all(b"thanks").unwrap();
                received
            });
            let answer = block_on(async {
                let mut stream = one;
                let data = pattern();
                let mut left = &data[..];
                while !left.is_empty() {
                    let (first, second) = left.split_at(left.len().min(5));
                    let slices = [IoSlice::new(first), IoSlice::new(second)];
                    let sent = poll_fn(|context| Pin::new(&mut stream).poll_write_vectored(context, &slices)).await;
                    left = &left[sent.unwrap()..];
                }
                poll_fn(|context| Pin::new(&mut stream).poll_flush(context)).await.unwrap();
                poll_fn(|context| Pin::new(&mut stream).poll_close(context)).await.unwrap();
                let (mut answer, mut buf) = (Vec::new(), [0; 4]);
                loop {
                    match poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buf)).await.unwrap() {
                        0 => return answer,
                        length => answer.extend_from_slice(&buf[..length]),
                    }
                }
            });
            assert_eq!(answer, b"thanks");
            assert!(blocking.join().unwrap() == pattern());
        });
    }

    /// A task that waits for a descriptor is woken while the fiber that has polled it does nothing but fork.
    #[test]
    fn a_task_is_woken_while_its_fiber_forks() {
        struct Flag(AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Flag>) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        in_main_fiber(1, || {
            let fork = || _ = sisal::par::join(|| sisal::par::join(|| (), || ()), || ());
            (0..100_000).for_each(|_| fork());
            let (mut one, mut other) = UnixStream::pair().unwrap();
            let flag = Arc::new(Flag(AtomicBool::new(false)));
            let waker = Waker::from(Arc::clone(&flag));
            assert!(Pin::new(&mut one).poll_read(&mut Context::from_waker(&waker), &mut [0]).is_pending());
            let writer = std::thread::spawn(move || other.write_all(b"!").unwrap());
            while !flag.0.load(Ordering::Relaxed) {
                fork();
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn a_receiver_is_a_stream() {
        in_fiber_of_each(|| {
            for (sender, receiver) in [sisal::chan::bounded(0), sisal::chan::bounded(2), sisal::chan::unbounded()] {
                let sending = spawn(move || (0..100).for_each(|number| sender.send(number).unwrap()));
                let mut stream = pin!(receiver.into_stream());
                let received = block_on(async {
                    let mut received = Vec::new();
                    while let Some(number) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
                        received.push(number);
                    }
                    received
                });
                assert!(received.into_iter().eq(0..100));
                sending.join().unwrap();
            }
        });
    }
}
