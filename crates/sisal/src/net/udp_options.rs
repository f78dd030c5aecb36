//! Options of UDP sockets: broadcast, multicast, and how far packets go.

use super::udp_socket::UdpSocket;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

impl UdpSocket {
    /// Whether messages may be sent to broadcast addresses.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_broadcast(true)?;
    /// assert!(socket.broadcast()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.view().set_broadcast(broadcast)
    }

    /// Whether messages may be sent to broadcast addresses.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(!sisal::net::UdpSocket::bind("127.0.0.1:0")?.broadcast()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn broadcast(&self) -> io::Result<bool> {
        self.view().broadcast()
    }

    /// Whether multicast messages over IPv4 come back to this machine.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_multicast_loop_v4(false)?;
    /// assert!(!socket.multicast_loop_v4()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_loop_v4(&self, multicast_loop_v4: bool) -> io::Result<()> {
        self.view().set_multicast_loop_v4(multicast_loop_v4)
    }

    /// Whether multicast messages over IPv4 come back to this machine.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UdpSocket::bind("127.0.0.1:0")?.multicast_loop_v4()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.view().multicast_loop_v4()
    }

    /// Sets how many routers a multicast packet over IPv4 may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_multicast_ttl_v4(3)?;
    /// assert_eq!(socket.multicast_ttl_v4()?, 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_ttl_v4(&self, multicast_ttl_v4: u32) -> io::Result<()> {
        self.view().set_multicast_ttl_v4(multicast_ttl_v4)
    }

    /// How many routers a multicast packet over IPv4 may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert_eq!(sisal::net::UdpSocket::bind("127.0.0.1:0")?.multicast_ttl_v4()?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.view().multicast_ttl_v4()
    }

    /// Whether multicast messages over IPv6 come back to this machine.
    ///
    /// # Errors
    /// Those of the system, and of a socket that is not of IPv6.
    ///
    /// ```
    /// assert!(sisal::net::UdpSocket::bind("127.0.0.1:0")?.set_multicast_loop_v6(false).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_multicast_loop_v6(&self, multicast_loop_v6: bool) -> io::Result<()> {
        self.view().set_multicast_loop_v6(multicast_loop_v6)
    }

    /// Whether multicast messages over IPv6 come back to this machine.
    ///
    /// # Errors
    /// Those of the system, and of a socket that is not of IPv6.
    ///
    /// ```
    /// assert!(sisal::net::UdpSocket::bind("127.0.0.1:0")?.multicast_loop_v6().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.view().multicast_loop_v6()
    }

    /// Sets how many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.set_ttl(100)?;
    /// assert_eq!(socket.ttl()?, 100);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.view().set_ttl(ttl)
    }

    /// How many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// assert!(sisal::net::UdpSocket::bind("127.0.0.1:0")?.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.view().ttl()
    }

    /// Joins a multicast group over IPv4, at the interface with this address, or at any if that is unspecified.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// let no_group = Ipv4Addr::LOCALHOST;
    /// assert!(socket.join_multicast_v4(&no_group, &Ipv4Addr::UNSPECIFIED).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.view().join_multicast_v4(multiaddr, interface)
    }

    /// Joins a multicast group over IPv6, at the interface with this number, or at any if that is 0.
    ///
    /// # Errors
    /// Those of the system.
    ///
    /// ```
    /// use std::net::Ipv6Addr;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// let no_group = Ipv6Addr::LOCALHOST;
    /// assert!(socket.join_multicast_v6(&no_group, 0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.view().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a multicast group that was joined with [`join_multicast_v4`](Self::join_multicast_v4).
    ///
    /// # Errors
    /// Those of the system, and of a group that was not joined.
    ///
    /// ```
    /// use std::net::Ipv4Addr;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(socket.leave_multicast_v4(&Ipv4Addr::new(224, 0, 0, 123), &Ipv4Addr::UNSPECIFIED).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn leave_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.view().leave_multicast_v4(multiaddr, interface)
    }

    /// Leaves a multicast group that was joined with [`join_multicast_v6`](Self::join_multicast_v6).
    ///
    /// # Errors
    /// Those of the system, and of a group that was not joined.
    ///
    /// ```
    /// use std::net::Ipv6Addr;
    /// let socket = sisal::net::UdpSocket::bind("127.0.0.1:0")?;
    /// assert!(socket.leave_multicast_v6(&Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x123), 0).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.view().leave_multicast_v6(multiaddr, interface)
    }
}
