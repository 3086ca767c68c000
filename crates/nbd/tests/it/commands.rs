//! Every command with every flag, negotiated or not: an answer, and a server that lives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;

use crate::common::negotiated::Negotiated;
use crate::common::{Client, connect, fast, socket, start};
use flashlag_serve::Running;

const WRITE: u16 = 1;
const WRITE_ZEROES: u16 = 6;
const NO_HOLE: u16 = 1 << 1;
const FAST_ZERO: u16 = 1 << 4;
/// The number that the protocol has for what is not supported.
const NOT_SUPPORTED: u32 = 95;

/// Commands that there are, and some that there are not; 2 is the end of a connection.
const COMMANDS: [u16; 11] = [0, 1, 3, 4, 5, 6, 7, 8, 9, 100, u16::MAX];

/// All combinations of the flags that there are, and some that there are not.
fn flags() -> impl Iterator<Item = u16> {
    (0..32).chain((5..16).map(|bit| 1 << bit)).chain([u16::MAX])
}

/// Sends all of it, by a client that negotiates nothing and by one that negotiates all there is. Where the
/// server ends a connection it must take the next.
fn send_everything(running: &Running, length: u32) {
    let socket = socket(running);
    let (mut plain, mut full) = (None, None);
    let mut answered = 0;
    for command in COMMANDS {
        for flags in flags() {
            let what = format!(
                "the server is gone at command {command}, flags {flags:#x}, {length} bytes"
            );
            let client = plain.get_or_insert_with(|| Client::connect(&socket).expect(&what));
            let sent = client.send(flags, command, 4096, length);
            let data = vec![1; if command == WRITE { length as usize } else { 0 }];
            let sent = sent.and_then(|()| client.stream.write_all(&data));
            let reply = sent.and_then(|()| client.reply());
            // Data of a read follows its reply; that of a write that was refused lies before the next
            // request.
            plain = plain.filter(|_| reply.is_ok() && command > WRITE);
            let client = full.get_or_insert_with(|| Negotiated::connect(&socket).expect(&what));
            let asked = client.ask(flags, command, 8192, length);
            full = full.filter(|_| asked.is_ok() && command != WRITE);
            answered += u32::from(reply.is_ok()) + u32::from(asked.is_ok());
        }
    }
    assert!(answered > 700, "{answered} requests were answered");
}

#[test]
fn no_command_with_any_flag_ends_the_server() {
    for (profile, lengths) in [("zero", &[4096, 0, 3][..]), ("nexus5-2013", &[4096])] {
        let Some(mut running) = start(fast(profile)) else { return };
        let mut witness = connect(&running);
        assert_eq!(witness.write(0, &[7; 4096], true).unwrap(), 0);
        lengths.iter().for_each(|length| send_everything(&running, *length));
        running.check().unwrap();
        let mut held = [0; 4096];
        assert_eq!(witness.read(0, &mut held).unwrap(), 0, "{profile}");
        assert_eq!(held, [7; 4096], "{profile}");
        drop(witness);
        running.stop().unwrap();
    }
}

#[test]
fn zeros_that_are_asked_for_fast_are_a_discard_or_refused() {
    let Some(running) = start(fast("nexus5-2013")) else { return };
    let mut client = connect(&running);
    assert_eq!(client.write(0, &[7; 8192], true).unwrap(), 0);
    let mut full = Negotiated::connect(&socket(&running)).unwrap();
    let written = full.ask(FAST_ZERO | NO_HOLE, WRITE_ZEROES, 0, 4096).unwrap();
    assert_eq!(written, NOT_SUPPORTED);
    assert_eq!(full.ask(FAST_ZERO, WRITE_ZEROES, 4096, 4096).unwrap(), 0);
    let mut held = [1; 8192];
    assert_eq!(client.read(0, &mut held).unwrap(), 0);
    assert_eq!(held, [[7; 4096], [0; 4096]].concat()[..]);
}
