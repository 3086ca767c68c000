//! `flashlag device`: a simulated device that anything can use, and what is said to it.

mod find;
mod serve;
mod told;

use anyhow::Result;

use crate::args::{DeviceAction, DeviceArgs};
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Serves a device, or talks to one that is served.
pub fn device(args: &DeviceArgs, terminal: &Terminal) -> Result<Exit> {
    match &args.action {
        None => serve::serve(&args.serve, terminal),
        Some(DeviceAction::Stat { socket, format }) => told::stat(socket.as_deref(), *format),
        Some(DeviceAction::Cut(cut)) => told::cut(cut),
        Some(DeviceAction::On { socket }) => told::on(socket.as_deref()),
        Some(DeviceAction::Fault(fault)) => told::fault(fault),
        Some(DeviceAction::Repair { socket }) => told::repair(socket.as_deref()),
        Some(DeviceAction::Record(record)) => told::record(record),
    }
}
