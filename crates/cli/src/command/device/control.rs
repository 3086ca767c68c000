//! Commands to a served device.

use std::path::Path;

use anyhow::Result;
use flashlag_export::{device_metrics, device_prometheus};
use flashlag_serve::{Answer, Command, Control, CutMoment, Fault, FaultKind, FaultOp, Loses};
use flashlag_term::{Style, device_stats, power_cut};
use flashlag_views::format;

use super::find::connect;
use crate::args::{CutArgs, FaultArgs, FaultWhat, RecordArgs, StatFormat};
use crate::exit::Exit;
use crate::say;

fn print(text: &str) -> Result<Exit> {
    say::text(text)?;
    Ok(Exit::Done)
}

fn draw(view: &str) -> Result<Exit> {
    say::view(view)?;
    Ok(Exit::Done)
}

/// Sends a command, ignoring the reply.
fn send(mut control: Control, command: &Command) -> Result<Exit> {
    control.ask(command)?;
    Ok(Exit::Done)
}

/// Shows the statistics of a served device.
pub fn stat(socket: Option<&Path>, format: StatFormat) -> Result<Exit> {
    let stats = connect(socket)?.stat()?;
    match format {
        StatFormat::Text => draw(&device_stats(&stats, Style::of_stdout())),
        StatFormat::Json => {
            say::json(&format!("{}\n", flashlag_schema::to_json_pretty(&stats)?))?;
            Ok(Exit::Done)
        }
        StatFormat::Openmetrics => print(&device_metrics(&stats)),
        StatFormat::Prometheus => print(&device_prometheus(&stats)),
    }
}

/// Cuts a served device's power.
pub fn cut(args: &CutArgs) -> Result<Exit> {
    let moment = match (args.after_commands, args.after, args.within_commands) {
        (Some(commands), ..) => CutMoment::AfterCommands(commands),
        (_, Some(time), _) => CutMoment::AfterNs(time),
        (_, _, Some(within_commands)) => CutMoment::Drawn { seed: args.seed, within_commands },
        _ => CutMoment::Now,
    };
    let command = Command::Cut { moment, stay_off: args.stay_off };
    match connect(args.socket.as_deref())?.ask(&command)? {
        Answer::Cut(report) => draw(&power_cut(&report, Style::of_stdout())),
        _ => print("The power will be cut at that moment.\n"),
    }
}

/// Restores a served device's power.
pub fn on(socket: Option<&Path>) -> Result<Exit> {
    send(connect(socket)?, &Command::On)
}

/// Ends a served device's faults.
pub fn repair(socket: Option<&Path>) -> Result<Exit> {
    send(connect(socket)?, &Command::Repair)
}

/// Makes requests to a served device fail or stall.
pub fn fault(args: &FaultArgs) -> Result<Exit> {
    let (kind, op) = match args.what {
        FaultWhat::Read => (FaultKind::Error, FaultOp::Read),
        FaultWhat::Write => (FaultKind::Error, FaultOp::Write),
        FaultWhat::Flush => (FaultKind::Error, FaultOp::Flush),
        FaultWhat::Discard => (FaultKind::Error, FaultOp::Discard),
        FaultWhat::Any => (FaultKind::Error, FaultOp::Any),
        FaultWhat::Stall => (FaultKind::StallNs(args.time), FaultOp::Any),
        FaultWhat::ReadOnly => {
            (args.after.map_or(FaultKind::ReadOnly, FaultKind::ReadOnlyAfter), FaultOp::Any)
        }
        FaultWhat::Wrap => (FaultKind::Wrap, FaultOp::Any),
        FaultWhat::LoseOld => (FaultKind::Lose(Loses::Old), FaultOp::Any),
        FaultWhat::LoseZeros => (FaultKind::Lose(Loses::Zeros), FaultOp::Any),
        FaultWhat::LoseOnes => (FaultKind::Lose(Loses::Ones), FaultOp::Any),
        FaultWhat::LoseNoise => (FaultKind::Lose(Loses::Noise), FaultOp::Any),
        FaultWhat::Flip => (FaultKind::Flip, FaultOp::Any),
    };
    let fault = Fault {
        kind,
        op,
        offset: args.offset,
        length: args.length,
        share: args.share,
        seed: args.seed,
        times: args.times,
    };
    send(connect(args.socket.as_deref())?, &Command::Fault(fault))
}

/// Records every request to a served device in a file, or ends that.
pub fn record(args: &RecordArgs) -> Result<Exit> {
    let mut control = connect(args.socket.as_deref())?;
    let Some(file) = &args.file else {
        return match control.ask(&Command::RecordStop)? {
            Answer::Recorded { requests, complete } => {
                let requests = format::plural(requests as usize, "request", "requests");
                let end = if complete { "" } else { "; the file reached its limit" };
                print(&format!("{requests}{end}\n"))
            }
            _ => Ok(Exit::Done),
        };
    };
    let path = std::path::absolute(file)?;
    send(control, &Command::Record { path, data: args.data, limit: args.limit })
}
