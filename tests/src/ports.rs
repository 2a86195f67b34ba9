//! Ports for programs that cannot choose one themselves.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// The ports to choose from. Linux gives ports from 32,768 on to sockets that ask for any, so none of the tests' own
/// sockets takes one of these (net.ipv4.ip_local_port_range).
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The number of ports that this process has tried.
static TRIED: AtomicU16 = AtomicU16::new(0);

/// Returns a loopback port that nobody listens on now, and that no other call of this process returns, unless there were
/// 12,000 between. Another process may take it before it is used.
pub fn free_port() -> io::Result<u16> {
    let count = PORTS.end - PORTS.start;
    // Each process begins at a place of its own.
    let begin = (std::process::id() % u32::from(count)) as u16;
    for _ in 0..count {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed) % count;
        let port = PORTS.start + (begin + tried) % count;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice_and_none_that_is_taken() {
        // Another process may take a port before this one does.
        let mut tries = (0..50).map(|_| free_port().unwrap());
        let taken = tries.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
        let taken = taken.expect("one of 50 ports stays free");
        let first = taken.local_addr().unwrap().port();
        let mut given: Vec<u16> = (0..50).map(|_| free_port().unwrap()).collect();
        drop(taken);
        given.push(first);
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 51);
        assert!(given.iter().all(|port| PORTS.contains(port)));
    }
}
