//! `run --on adb:all`: measures all connected phones at the same time, with a run file for each,
//! and one comparison at the end.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};

use anyhow::{Context, Result, bail};
use flashlag_commands::{compared, run_from};
use flashlag_runner::android;
use flashlag_schema::RunStatus;
use flashlag_spec::target::{PhoneChoice, PhoneSpec, TargetSpec};
use flashlag_term::SideBySide;

use super::repeats::worse;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::results::default_output;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// The target, if it names every phone.
pub(super) fn every(on: &str) -> Option<PhoneSpec> {
    match TargetSpec::parse(on) {
        Ok(TargetSpec::Phone(spec)) if spec.choice == PhoneChoice::Every => Some(spec),
        _ => None,
    }
}

/// A phone, its run file, and the arguments of the command that measures it.
struct OnePhone {
    serial: String,
    output: PathBuf,
    words: Vec<String>,
}

/// A message of a phone's process.
enum Heard {
    Line(String),
    Ended(Option<i32>),
}

/// Measures all phones at the same time. A phone that fails does not stop the others.
pub(super) fn side_by_side(args: &RunArgs, spec: &PhoneSpec, terminal: &Terminal) -> Result<Exit> {
    if args.runs > 1 {
        bail!("adb:all and --runs can't be combined: name one phone, or repeat the command");
    }
    let base = args.output.clone().unwrap_or_else(|| default_output(&args.scenario));
    let phones: Vec<OnePhone> = android::phones(spec)?
        .into_iter()
        .map(|phone| one_phone(args, spec, &base, phone.serial))
        .collect();
    // Ctrl-C also reaches the phones' processes, which end their runs; this process waits for them.
    let _stop = stop_flag()?;
    let ended = measured(&phones, terminal)?;
    let mut files = Vec::new();
    let mut exit = Exit::Done;
    for (phone, (code, last)) in phones.iter().zip(ended) {
        match code {
            Some(0) => {}
            Some(1) => exit = worse(exit, Exit::Crossed),
            Some(3) => exit = worse(exit, Exit::Untrusted),
            _ => {
                exit = worse(exit, Exit::CouldNotRun);
                say::note(&format!("{}: {last}", phone.serial));
                continue;
            }
        }
        files.push(phone.output.clone());
    }
    conclude(&files, terminal)?;
    Ok(exit)
}

/// Compares the finished runs, or shows the only one.
fn conclude(files: &[PathBuf], terminal: &Terminal) -> Result<()> {
    let complete =
        |file: &&PathBuf| run_from(file).is_ok_and(|run| matches!(run.status, RunStatus::Complete));
    let files: Vec<PathBuf> = files.iter().filter(complete).cloned().collect();
    match files.as_slice() {
        [] => {}
        [one] => say::view(&terminal.summary(&run_from(one)?))?,
        several => say::view(&terminal.comparison(&compared(several, false)?.1))?,
    }
    for file in &files {
        say::note(&format!("Data    {}", file.display()));
    }
    Ok(())
}

/// Runs a process for each phone and shows the last line of each. Returns how each ended, and its last
/// line.
fn measured(phones: &[OnePhone], terminal: &Terminal) -> Result<Vec<(Option<i32>, String)>> {
    let names: Vec<_> = phones.iter().map(|phone| phone.serial.clone()).collect();
    let mut shown = SideBySide::new(terminal.progress, &names);
    let (sender, receiver) = channel();
    for (index, phone) in phones.iter().enumerate() {
        follow(phone, index, sender.clone())?;
    }
    drop(sender);
    let mut ended = vec![(None, String::new()); phones.len()];
    for (index, heard) in receiver {
        match heard {
            Heard::Line(line) => {
                shown.show(index, &line);
                ended[index].1 = line;
            }
            Heard::Ended(code) => ended[index].0 = code,
        }
    }
    shown.finished();
    Ok(ended)
}

fn follow(phone: &OnePhone, index: usize, sender: Sender<(usize, Heard)>) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(&phone.words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start this program again")?;
    let errors = child.stderr.take();
    std::thread::spawn(move || {
        let lines = errors.map(BufReader::new).into_iter().flat_map(BufRead::lines);
        for line in lines.map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
            // If the receiver is gone, the program is ending.
            let _ = sender.send((index, Heard::Line(line)));
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let _ = sender.send((index, Heard::Ended(code)));
    });
    Ok(())
}

fn one_phone(args: &RunArgs, spec: &PhoneSpec, base: &Path, serial: String) -> OnePhone {
    let choice = PhoneChoice::Serial(serial.clone());
    let on = PhoneSpec { choice, path: spec.path.clone() }.to_string();
    let output = beside(base, &serial);
    let mut words: Vec<String> = ["run", &args.scenario, "--on", &on].map(str::to_owned).to_vec();
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    option("-o", Some(output.to_string_lossy().into_owned()));
    option("--seed", Some(args.seed.to_string()));
    option("--label", args.label.clone());
    option("--leave", args.leave.map(|leave| format!("{}B", leave.0)));
    option("--budget", args.budget.map(|budget| format!("{}B", budget.0)));
    let celsius = |millicelsius: i64| (millicelsius as f64 / 1000.0).to_string();
    option("--min-battery", args.limits.min_battery.map(|percent| percent.to_string()));
    option("--max-temperature", args.limits.max_temperature.map(celsius));
    option("--cool-to", args.limits.cool_to.map(celsius));
    for (key, value) in &args.set {
        option("--set", Some(format!("{key}={value}")));
    }
    for threshold in &args.fail_if {
        option("--fail-if", Some(threshold.clone()));
    }
    let flags = [
        ("--yes", args.yes),
        ("--force", args.force),
        // A phone without a run file begins a new run.
        ("--resume", args.resume && output.exists()),
        ("--verify", args.verify),
    ];
    words.extend(flags.iter().filter(|(_, given)| *given).map(|(flag, _)| (*flag).to_owned()));
    OnePhone { serial, output, words }
}

/// A phone's serial number or address, with characters that a file name should not have as `-`.
pub fn plain(serial: &str) -> String {
    let plain = |one: char| if one.is_ascii_alphanumeric() || one == '.' { one } else { '-' };
    serial.chars().map(plain).collect()
}

/// `run-0A1B2C.json` for `run.json`.
fn beside(base: &Path, serial: &str) -> PathBuf {
    let serial = plain(serial);
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    let ending = base.extension().map_or("json".into(), |ending| ending.to_string_lossy());
    base.with_file_name(format!("{stem}-{serial}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phone_has_a_file_of_its_own_whose_name_is_plain() {
        let file = |serial: &str| beside(Path::new("a/run.json"), serial);
        assert_eq!(file("0A1B2C"), Path::new("a/run-0A1B2C.json"));
        assert_eq!(file("192.168.1.7:5555"), Path::new("a/run-192.168.1.7-5555.json"));
        assert_eq!(beside(Path::new("run"), "../x y"), Path::new("run-..-x-y.json"));
    }

    #[test]
    fn only_all_means_every_phone() {
        assert!(every("adb:all").is_some() && every("adb:all:/sdcard").is_some());
        assert!(every("adb:").is_none() && every("adb:0A1B2C").is_none() && every(".").is_none());
    }
}
