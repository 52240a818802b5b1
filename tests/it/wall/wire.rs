//! A proxy that writes down every byte that passes, both ways.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    passed: Arc<Mutex<Vec<u8>>>,
}

impl Wire {
    /// Listens, and hands on to `far`.
    pub(super) fn to(far: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let wire = Self {
            address: listener.local_addr().expect("an address"),
            passed: Arc::default(),
        };
        let own = wire.clone();
        thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(far)) else {
                    continue;
                };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let ends = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = ends else { continue };
                    let wire = own.clone();
                    thread::spawn(move || wire.hand_on(from, to));
                }
            }
        });
        wire
    }

    fn hand_on(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let part = bytes.get(..count).unwrap_or_default();
            let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
            passed.extend_from_slice(part);
            drop(passed);
            if to.write_all(part).is_err() {
                break;
            }
        }
        // The other side hears that no more comes.
        let _ended = to.shutdown(Shutdown::Write).is_ok();
    }

    /// Everything that has passed.
    pub(super) fn bytes_seen(&self) -> Vec<u8> {
        let passed = self.passed.lock();
        passed.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
