//! The control socket answers every command in plain text.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::common::open;
use flashlag_serve::{Command, CommandError, ControlServer};
use proptest::prelude::*;

/// The reply to a line.
fn reply(socket: &Path, line: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A line that is too long is not read to its end.
    let _ = writeln!(stream, "{line}");
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    reply
}

/// No character, as it is or by its number, that would steer a terminal.
#[track_caller]
fn assert_plain(reply: &str) {
    let reason: serde_json::Value = serde_json::from_str(reply).unwrap();
    let reason = reason["error"].as_str().unwrap();
    assert!(!reason.contains(|c: char| c.is_control() || c == '\u{202e}'), "{reason:?}");
    assert!(reply.len() < 4096, "{} bytes", reply.len());
}

#[test]
fn no_reply_steers_a_terminal_or_repeats_a_line_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    let evil = "\u{1b}[31m\u{1b}]0;owned\u{7}\r\n\u{9b}2J\u{202e}";
    let answer =
        move |_: &Command| Err(CommandError::Store(std::io::Error::other(evil.repeat(500))));
    let server = ControlServer::start(&socket, answer, || {}).unwrap();
    assert_plain(&reply(&socket, "{\"do\":\"stat\"}"));
    let escaped = "\\u001b[31m\\u202e";
    assert_plain(&reply(&socket, &format!("{{\"do\":\"{escaped}\"}}")));
    assert_plain(&reply(&socket, &format!("{{\"do\":\"{}\"}}", "x".repeat(60_000))));
    assert_plain(&reply(&socket, &"x".repeat(70_000)));
    drop(server);
    assert!(!socket.exists());
}

const NUMBERS: [u64; 6] = [0, 1, 4096, 1 << 32, 1 << 63, u64::MAX];

/// Lines that are commands, with numbers at their ends.
fn lines() -> impl Strategy<Value = Vec<(u8, String)>> {
    let number = prop::sample::select(&NUMBERS[..]);
    let forms = [
        "{\"do\":\"stat\"}",
        "{\"do\":\"on\"}",
        "{\"do\":\"repair\"}",
        "{\"do\":\"record_stop\"}",
        "{\"do\":\"cut\"}",
        "{\"do\":\"cut\",\"moment\":{\"after_commands\":N},\"stay_off\":true}",
        "{\"do\":\"cut\",\"moment\":{\"after_ns\":N}}",
        "{\"do\":\"cut\",\"moment\":{\"drawn\":{\"seed\":N,\"within_commands\":N}}}",
        "{\"do\":\"fault\",\"kind\":\"error\",\"offset\":N,\"length\":N,\"times\":N,\"share\":0.5}",
        "{\"do\":\"fault\",\"kind\":\"error\",\"op\":\"write\",\"share\":N}",
        "{\"do\":\"fault\",\"kind\":{\"stall_ns\":N}}",
        "{\"do\":\"fault\",\"kind\":\"read_only\"}",
        "{\"do\":\"time_scale\",\"times\":N}",
        "{\"do\":\"load\",\"image\":\"/dev/null/no\"}",
    ];
    let line = (0u8..5, prop::sample::select(forms.to_vec()), number);
    let line = line.prop_map(|(work, form, n)| (work, form.replace('N', &n.to_string())));
    prop::collection::vec(line, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_device_survives_every_command(lines in lines(), plain: bool) {
        let device = open(if plain { "zero" } else { "nexus5-2013" }, 1);
        for (work, line) in &lines {
            let command: Command = serde_json::from_str(line).unwrap();
            let stalls = line.contains("stall");
            // Why it does not is as good an answer.
            let _ = device.tell(&command);
            if stalls {
                device.tell(&Command::Repair).unwrap();
            }
            let _ = match work {
                0 => device.read(0, &mut [0; 4096]),
                1 => device.write(4096, &[1; 8192], true),
                2 => device.flush(),
                3 => device.trim(0, 65536, false),
                _ => device.zero(512, 8192, true, false),
            };
        }
        for line in ["{\"do\":\"on\"}", "{\"do\":\"repair\"}", "{\"do\":\"time_scale\",\"times\":100000}"] {
            device.tell(&serde_json::from_str(line).unwrap()).unwrap();
        }
        let stats = device.tell(&Command::Stat);
        prop_assert!(stats.is_ok(), "{:?}", stats);
    }
}
