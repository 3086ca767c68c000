//! The cable between client and phone: which connections use it, and when it is cut.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::message::{Kind, Message};

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the client to the phone.
    ToPhone,
    /// From the phone to the client.
    FromPhone,
}

#[derive(Default)]
struct State {
    open: Vec<(u64, TcpStream)>,
    next: u64,
    traffic: u64,
    /// Bytes that may still pass.
    left: Option<u64>,
    /// When to cut the cable: once the count has reached zero.
    at: Option<(Kind, Way, u64)>,
    cuts: u64,
    refuse_after_cut: bool,
    refuses: bool,
    stalls: bool,
}

/// All connections of a phone, and its faults.
#[derive(Default)]
pub struct Cable {
    state: Mutex<State>,
    changed: Condvar,
}

impl Cable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection; `None` while the phone refuses connections.
    pub fn plug(self: &Arc<Cable>, socket: &TcpStream) -> Option<u64> {
        let mut state = self.state();
        if state.refuses {
            return None;
        }
        state.next += 1;
        let id = state.next;
        state.open.push((id, socket.try_clone().ok()?));
        Some(id)
    }

    /// Forgets a connection that has ended.
    pub fn unplug(&self, id: u64) {
        let mut state = self.state();
        for (_, socket) in state.open.extract_if(.., |(open, _)| *open == id) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Ends every connection.
    pub fn cut(&self) {
        cut(&mut self.state());
        self.changed.notify_all();
    }

    /// Stops all traffic, or lets it pass again.
    pub fn set_stalls(&self, stalls: bool) {
        self.state().stalls = stalls;
        self.changed.notify_all();
    }

    /// Cuts once this many more bytes have passed.
    pub fn cut_after(&self, bytes: u64) {
        let mut state = self.state();
        state.left = Some(bytes);
        if bytes == 0 {
            cut(&mut state);
        }
    }

    /// Cuts at the message of that kind and way with this index.
    pub fn cut_at(&self, kind: Kind, way: Way, index: u64) {
        self.state().at = Some((kind, way, index + 1));
    }

    /// Cancels a cut that is to come.
    pub fn keep(&self) {
        let mut state = self.state();
        (state.left, state.at) = (None, None);
    }

    /// Sets whether connections are refused after a cut.
    pub fn refuse_after_cut(&self, refuse: bool) {
        self.state().refuse_after_cut = refuse;
    }

    /// Sets whether new connections are refused from now on; returns the previous setting.
    pub fn set_refuses(&self, refuses: bool) -> bool {
        std::mem::replace(&mut self.state().refuses, refuses)
    }

    /// How often it was cut.
    pub fn cuts(&self) -> u64 {
        self.state().cuts
    }

    /// Bytes that passed.
    pub fn traffic(&self) -> u64 {
        self.state().traffic
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.state().open.len()
    }

    /// How many of `wanted` bytes pass, and whether the cable is cut after them.
    fn pass(&self, wanted: usize) -> (usize, bool) {
        let mut state = self.state();
        let cuts = state.cuts;
        while state.stalls && state.cuts == cuts {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let wanted = wanted as u64;
        let passed = state.left.map_or(wanted, |left| left.min(wanted));
        state.traffic += passed;
        let ends = match &mut state.left {
            Some(left) => {
                *left -= passed;
                *left == 0
            }
            None => false,
        };
        (usize::try_from(passed).unwrap_or(usize::MAX), ends)
    }

    /// Counts a message; returns whether the cable is cut instead of passing it.
    pub fn ends_at(&self, message: &Message, way: Way) -> bool {
        let mut state = self.state();
        let Some((kind, cut_way, count)) = &mut state.at else { return false };
        if *kind == message.kind && *cut_way == way {
            *count -= 1;
        }
        let ends = *count == 0;
        if ends {
            cut(&mut state);
        }
        ends
    }
}

fn cut(state: &mut State) {
    for (_, socket) in state.open.drain(..) {
        let _ = socket.shutdown(Shutdown::Both);
    }
    (state.left, state.at) = (None, None);
    state.cuts += 1;
    state.refuses |= state.refuse_after_cut;
}

/// One end of a connection, which sends only what the cable lets pass.
pub struct End {
    pub socket: TcpStream,
    pub cable: Arc<Cable>,
}

fn was_cut() -> Error {
    Error::new(ErrorKind::ConnectionAborted, "the cable was cut")
}

impl Read for End {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let read = self.socket.read(into)?;
        let (passed, ends) = self.cable.pass(read);
        if ends {
            self.cable.cut();
        }
        if passed < read { Err(was_cut()) } else { Ok(read) }
    }
}

impl End {
    /// Sends all of `bytes`, or as much as the cable lets pass.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let (passed, ends) = self.cable.pass(bytes.len());
        let sent = self.socket.write_all(&bytes[..passed]);
        if ends {
            self.cable.cut();
        }
        if passed < bytes.len() { Err(was_cut()) } else { sent }
    }
}
