//! smol's tasks at sockets and files.

use std::path::Path;
use std::sync::Arc;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::TcpListener;

use super::{EXECUTOR, start};
use crate::work::{BUFFER, Echo, Files, answer};

/// An echo server.
pub(super) fn echo(load: Echo) -> ! {
    start(load.workers);
    let listener = smol::block_on(TcpListener::bind(("127.0.0.1", 0))).expect("the loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let accept = async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection comes");
            let connection = async move {
                let mut buffer = [0; BUFFER];
                while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                    if stream.write_all(&buffer[..count]).await.is_err() {
                        break;
                    }
                }
            };
            EXECUTOR.spawn(connection).detach();
        }
    };
    EXECUTOR.spawn(accept).detach();
    answer(port)
}

/// Every file, by a task each, so many times.
pub(super) async fn read(files: Arc<Files>, repeats: usize) {
    for _ in 0..repeats {
        let task = |path: &Path| {
            let (files, path) = (Arc::clone(&files), path.to_owned());
            EXECUTOR.spawn(async move { files.check(smol::fs::read(path).await) })
        };
        let tasks: Vec<_> = files.paths().map(task).collect();
        for task in tasks {
            task.await;
        }
    }
}
