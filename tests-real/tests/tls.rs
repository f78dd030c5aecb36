//! TLS by rustls over our sockets, and OpenSSL at the other end.

#[path = "../../crates/sisal/tests/common/mod.rs"]
mod common;

use common::watchdog::guarded;
use common::{background, shut_down};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, Stream};
use sisal::net::{Shutdown, TcpStream};
use sisal_tests_real::{Folder, Listening, Server, program};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

const NAME: &str = "localhost";

/// A certificate made just now, as rustls takes it and as files for the others.
struct Identity {
    certified: CertifiedKey<rcgen::KeyPair>,
    folder: Folder,
}

impl Identity {
    fn new() -> Identity {
        let certified = generate_simple_self_signed(vec![NAME.into()]).unwrap();
        let folder = Folder::new();
        folder.file("certificate.pem", certified.cert.pem());
        folder.file("key.pem", certified.signing_key.serialize_pem());
        Identity { certified, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn of_server(&self) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::try_from(self.certified.signing_key.serialize_der()).unwrap();
        let certificates = vec![self.certified.cert.der().clone()];
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, key);
        Arc::new(config.unwrap())
    }

    fn of_client(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certified.cert.der().clone()).unwrap();
        Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
    }
}

/// Sends back in upper case what comes, line by line, until an empty line.
fn shout(config: Arc<ServerConfig>, mut socket: TcpStream) -> io::Result<()> {
    let mut connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(Stream::new(&mut connection, &mut socket));
    let mut line = String::new();
    while stream.read_line(&mut line)? > 1 {
        stream.get_mut().write_all(line.to_uppercase().as_bytes())?;
        line.clear();
    }
    let mut stream = stream.into_inner();
    stream.conn.send_close_notify();
    stream.flush()?;
    socket.shutdown(Shutdown::Write)
}

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("line {number} of those that are sent\n")).collect()
}

#[test]
fn openssl_talks_to_rustls_in_both_versions() {
    guarded(|| {
        let Some(openssl) = program("openssl") else { return };
        let (runtime, identity) = (background(2), Identity::new());
        let config = identity.of_server();
        let server = Listening::start(runtime.handle(), move |socket| shout(Arc::clone(&config), socket));
        for version in ["-tls1_2", "-tls1_3"] {
            let (address, roots) = (server.address().to_string(), identity.path("certificate.pem"));
            let arguments = ["s_client", "-connect", &address, "-servername", NAME, version, "-CAfile", &roots];
            let client = openssl.with(arguments.into_iter().chain(["-verify_return_error", "-quiet"]));
            let answer = client.input(lines(1_000) + "\n").text();
            assert!(answer == lines(1_000).to_uppercase(), "{version}: {answer}");
        }
        drop(server);
        shut_down(runtime);
    });
}

#[test]
fn rustls_talks_to_openssl() {
    guarded(|| {
        let Some(openssl) = program("openssl") else { return };
        let (runtime, identity) = (background(2), Identity::new());
        let server = Server::start(Signal::KILL, "ACCEPT", |port| {
            let mut command = openssl.command();
            command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-rev"]);
            command.args(["-cert", &identity.path("certificate.pem"), "-key", &identity.path("key.pem")]);
            command
        });
        let (address, config) = (server.address(), identity.of_client());
        runtime.run(move || {
            let mut socket = TcpStream::connect(address).unwrap();
            let mut connection = ClientConnection::new(config, NAME.try_into().unwrap()).unwrap();
            let mut stream = BufReader::new(Stream::new(&mut connection, &mut socket));
            for number in 0..100 {
                let text = format!("text {number}");
                stream.get_mut().write_all(format!("{text}\n").as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_line(&mut answer).unwrap();
                assert_eq!(answer.trim_end().chars().rev().collect::<String>(), text);
            }
        });
        shut_down(runtime);
    });
}

#[test]
fn rustls_talks_to_rustls_in_many_fibers() {
    guarded(|| {
        let (runtime, identity) = (background(2), Identity::new());
        let (config, client) = (identity.of_server(), identity.of_client());
        let server = Listening::start(runtime.handle(), move |socket| shout(Arc::clone(&config), socket));
        let address = server.address();
        runtime.run(move || {
            let client = move || {
                let mut socket = TcpStream::connect(address).unwrap();
                let mut connection = ClientConnection::new(Arc::clone(&client), NAME.try_into().unwrap()).unwrap();
                let mut stream = Stream::new(&mut connection, &mut socket);
                stream.write_all((lines(100) + "\n").as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert_eq!(answer, lines(100).to_uppercase());
            };
            let fibers: Vec<_> = (0..50).map(|_| sisal::spawn(client.clone())).collect();
            fibers.into_iter().for_each(|fiber| fiber.join().unwrap());
        });
        drop(server);
        shut_down(runtime);
    });
}
