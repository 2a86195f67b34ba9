//! Ports for programs that cannot choose one themselves.

use std::io;
use std::net::TcpListener;

/// Returns a loopback port that nobody listens on now. Another program may take it before it is used, so a caller whose
/// server fails to listen tries again with another port.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
