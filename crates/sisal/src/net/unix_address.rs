//! Addresses of Unix sockets, as the kernel's and as `std`'s.

use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// The length of an address without a name, that of one with an empty abstract name, and that of the longest.
const FAMILY: usize = size_of::<libc::sa_family_t>();
const EMPTY_NAME: usize = FAMILY + 1;
const LONGEST: usize = size_of::<libc::sockaddr_un>();

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

/// From the kernel. A socket without a name has no address, or an empty one. None if it can't be said: a path that leaves no room for the zero
/// behind it is longer, with that, than the kernel's own type of addresses, and can't be made into one of `std`'s.
pub(super) fn from_kernel(address: Option<SocketAddrAny>) -> io::Result<Option<SocketAddr>> {
    let Some(address) = address else { return unnamed().map(Some) };
    match address.addr_len() as usize {
        FAMILY => return unnamed().map(Some),
        EMPTY_NAME => return SocketAddr::from_abstract_name("").map(Some),
        ..=LONGEST => {}
        _ => return Ok(None),
    }
    let address = SocketAddrUnix::try_from(address)?;
    if let Some(name) = address.abstract_name() {
        return SocketAddr::from_abstract_name(name).map(Some);
    }
    match address.path_bytes() {
        Some(path) => SocketAddr::from_pathname(OsStr::from_bytes(path)).map(Some),
        None => unnamed().map(Some),
    }
}

/// An empty path is what `std` makes an address without a name from.
pub(super) fn unnamed() -> io::Result<SocketAddr> {
    SocketAddr::from_pathname("")
}
