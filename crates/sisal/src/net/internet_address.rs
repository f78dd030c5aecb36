//! Addresses of internet sockets, as the kernel's and as `std`'s.

use super::addresses::no_address;
use rustix::net::SocketAddrAny;
use std::io;
use std::net::SocketAddr;

/// `std` has the flow information of an address as the kernel has it, and rustix takes it for a number. So it is exchanged on the way to
/// rustix and back.
pub(super) fn swap(mut address: SocketAddr) -> SocketAddr {
    if let SocketAddr::V6(address) = &mut address {
        address.set_flowinfo(address.flowinfo().to_be());
    }
    address
}

/// From the kernel: the address of a peer.
pub(super) fn from_kernel(address: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    let address = address.ok_or_else(no_address)?;
    Ok(swap(SocketAddr::try_from(address)?))
}
