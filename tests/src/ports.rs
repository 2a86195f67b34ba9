//! Ports for programs that cannot choose one themselves.

use std::io;
use std::net::TcpListener;

/// A loopback port nobody listens on at this moment. Another program may take it before it is
/// used; who starts a server on it tries again with another.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
