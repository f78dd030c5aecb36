//! A server that keeps all waiting until the last has asked. It runs on a thread of its own, in no runtime.

use sisal::net::{SocketAddr, TcpStream};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// See the [module](self).
pub(crate) struct LateServer {
    address: SocketAddr,
    thread: thread::JoinHandle<()>,
}

impl LateServer {
    /// For so many questions. The last one is answered first.
    pub(crate) fn start(questions: usize) -> LateServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let asked = (0..questions).map(|_| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut question = [0; 4];
                stream.read_exact(&mut question).unwrap();
                (stream, u32::from_le_bytes(question))
            });
            let mut asked: Vec<_> = asked.collect();
            while let Some((mut stream, question)) = asked.pop() {
                stream.write_all(&(2 * question).to_le_bytes()).unwrap();
            }
        });
        LateServer { address, thread }
    }

    /// Asks for twice a number.
    pub(crate) fn ask(&self, number: u32) -> u32 {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(&number.to_le_bytes()).unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        u32::from_le_bytes(answer)
    }

    /// All have been answered.
    pub(crate) fn end(self) {
        self.thread.join().unwrap();
    }
}
