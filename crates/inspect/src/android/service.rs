use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use wait_timeout::ChildExt;

use crate::reason::Reason;
use crate::root::Root;
use crate::software::property;

/// Where Android's own programs are.
const PROGRAMS: &str = "/system/bin";
/// How long a program of Android may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest output that is read.
const LONGEST: u64 = 4 << 20;

/// Whether this is Android. A captured tree may lack Android's own files; then its version property
/// decides.
pub fn is_android(root: &Root) -> bool {
    if root.is_live() {
        flashlag_device::is_android()
    } else {
        property(root, "ro.build.version.release").is_some()
    }
}

/// The output of a program of Android, such as `dumpsys battery`. A captured tree has the latter as
/// `/dumpsys/battery.txt`.
pub fn program(root: &Root, name: &str, arguments: &[&str]) -> Result<String, Reason> {
    let failed = |cause: String| Reason::Program {
        command: format!("{name} {}", arguments.join(" ")),
        cause,
    };
    if !root.is_live() {
        return root.line(format!("/{name}/{}.txt", arguments.join("-")));
    }
    crate::software::can_start().map_err(|reason| failed(reason.to_string()))?;
    let path = format!("{PROGRAMS}/{name}");
    if !root.has(&path) {
        return Err(Reason::none(format!("there is no {path}")));
    }
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output that can't be read is treated as absent.
        let _ = output.map(|output| output.take(LONGEST).read_to_end(&mut bytes));
        bytes
    });
    match child.wait_timeout(PATIENCE) {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => return Err(failed(status.to_string())),
        _ => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(format!("no answer within {} s", PATIENCE.as_secs())));
        }
    }
    let bytes = reader.join().map_err(|_| failed("its output can't be read".to_owned()))?;
    Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
}
