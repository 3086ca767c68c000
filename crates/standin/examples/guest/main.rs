//! A stand-in phone that boots: an aarch64 machine (QEMU) with a kernel of its own and F2FS, as `/data`,
//! on a block device that another program serves.
//!
//! `guest KERNEL PROGRAM SOCKET PORT`, where KERNEL is the folder of `scripts/lab-packages --arm`,
//! PROGRAM this same program for aarch64, and SOCKET an NBD server's with an F2FS on its device. adb
//! then connects to 127.0.0.1:PORT. As the first process of the machine it is the phone.
//! `scripts/phone-guest` calls it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it says where adb connects to")]

mod boot;
mod phone;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = match arguments.as_slice() {
        _ if std::process::id() == 1 => phone::be(),
        [kernel, program, socket, port] => boot::boot([kernel, program, socket, port]),
        _ => Err("usage: guest KERNEL PROGRAM SOCKET PORT".into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guest: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serial number of the disk that is `/data`.
const DATA: &str = "data";
/// Where the machine has the phone's model.
const MODEL: &str = "/model";
/// The machine's port of adb.
const ADB: u16 = 5555;
/// What the machine's console says when adb can connect.
const READY: &str = "phone: ready";

type Outcome = Result<(), Box<dyn std::error::Error>>;
