//! Addresses of Unix sockets, as the kernel's and as `std`'s.

use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// For the kernel.
pub(super) fn to_kernel(address: &SocketAddr) -> io::Result<SocketAddrUnix> {
    if let Some(path) = address.as_pathname() {
        return Ok(SocketAddrUnix::new(path)?);
    }
    match address.as_abstract_name() {
        Some(name) => Ok(SocketAddrUnix::new_abstract_name(name)?),
        None => Ok(SocketAddrUnix::new_unnamed()),
    }
}

/// For the kernel, from a path; what is wrong with that is said as `std` says it.
pub(super) fn of_path(path: &Path) -> io::Result<SocketAddrUnix> {
    to_kernel(&SocketAddr::from_pathname(path)?)
}

/// From the kernel. A socket without a name has no address, or an empty one.
pub(super) fn from_kernel(address: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    let Some(address) = address else { return unnamed() };
    let address = SocketAddrUnix::try_from(address)?;
    if let Some(name) = address.abstract_name() {
        return SocketAddr::from_abstract_name(name);
    }
    match address.path_bytes() {
        Some(path) => SocketAddr::from_pathname(OsStr::from_bytes(path)),
        None => unnamed(),
    }
}

/// An empty path is what `std` makes an address without a name from.
fn unnamed() -> io::Result<SocketAddr> {
    SocketAddr::from_pathname("")
}
