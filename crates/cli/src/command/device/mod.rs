//! `flashlag device`: serves a simulated device over NBD, and controls a served one.

mod control;
mod find;
mod serve;

use anyhow::Result;

use crate::args::{DeviceAction, DeviceArgs};
use crate::exit::Exit;
use crate::terminal::Terminal;

/// Serves a device, or controls a served one.
pub fn device(args: &DeviceArgs, terminal: &Terminal) -> Result<Exit> {
    match &args.action {
        None => serve::serve(&args.serve, terminal),
        Some(DeviceAction::Stat { socket, format }) => control::stat(socket.as_deref(), *format),
        Some(DeviceAction::Cut(cut)) => control::cut(cut),
        Some(DeviceAction::On { socket }) => control::on(socket.as_deref()),
        Some(DeviceAction::Fault(fault)) => control::fault(fault),
        Some(DeviceAction::Repair { socket }) => control::repair(socket.as_deref()),
        Some(DeviceAction::Record(record)) => control::record(record),
    }
}
