//! A phone on a cable, without root: Android's own `atrace`.

use std::collections::HashMap;
use std::time::Duration;

use flashlag_android::{ShellCommand, Transport, the_phone};
use flashlag_schema::trace::{Trace, TraceTask};
use flashlag_spec::TraceSourceKind;
use flashlag_spec::target::PhoneChoice;
use flashlag_trace::{InputFormat, import};
use flashlag_units::Nanos;

use crate::error::LiveError;

/// The kernel's buffer for each CPU, in kilobytes: 10 s of a busy phone.
const BUFFER: &str = "32768";
/// How long atrace may take in addition to the recording: it writes its text, which is sent over
/// the cable.
const BEYOND: Duration = Duration::from_secs(120);
/// Timeout of any other command on the phone.
const QUESTION: Duration = Duration::from_secs(15);

/// Records on a phone for a time. The phone ends the recording itself, even if the cable is pulled.
pub fn record_phone(choice: &PhoneChoice, time: Nanos) -> Result<Trace, LiveError> {
    record(&*the_phone(choice)?.1, time)
}

fn record(phone: &dyn Transport, time: Nanos) -> Result<Trace, LiveError> {
    // atrace takes whole seconds.
    let seconds = time.0.div_ceil(1_000_000_000).clamp(1, 3600);
    let words = ["atrace", "-b", BUFFER, "-t", &seconds.to_string(), "disk", "sched"];
    let limit = Duration::from_secs(seconds).saturating_add(BEYOND);
    let answer = phone.shell(&ShellCommand::of(&words), limit)?;
    let refused =
        |reason: String| LiveError::Unusable { source_name: "the phone's atrace", reason };
    if answer.status != 0 {
        return Err(refused(answer.reason()));
    }
    let imported = import(answer.output.as_bytes(), Some(InputFormat::Ftrace));
    let mut trace =
        imported.map_err(|error| refused(format!("what it printed can't be read: {error}")))?.trace;
    trace.source.kind = TraceSourceKind::Atrace;
    if let Some(overwritten) = overwritten(&answer.output) {
        let lost = trace.source.lost.get_or_insert(0);
        *lost = lost.saturating_add(overwritten);
    }
    trace.source.limits.push(
        "an unrooted phone shows the filesystem's writes and syncs, not every system call"
            .to_owned(),
    );
    let names = ShellCommand::of(&["ps", "-A", "-o", "PID,NAME"]);
    // Without it, names are cut to 15 letters.
    if let Ok(answer) = phone.shell(&names, QUESTION) {
        name_apps(&mut trace.tasks, &answer.output);
    }
    Ok(trace)
}

/// Events that did not fit into the buffer, from the text's header: `#
/// entries-in-buffer/entries-written: 1890/2003   #P:8`.
fn overwritten(text: &str) -> Option<u64> {
    let head = text.lines().take_while(|line| line.starts_with('#') || !line.contains(": "));
    let counts = head.filter_map(|line| line.split_once("entries-written:")).next()?.1;
    let (kept, written) = counts.split_whitespace().next()?.split_once('/')?;
    written.parse::<u64>().ok()?.checked_sub(kept.parse().ok()?)
}

/// Gives processes the full names that `ps` prints: the kernel keeps only the last 15 letters of an
/// app's name.
fn name_apps(tasks: &mut [TraceTask], printed: &str) {
    let lines = printed.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    let names: HashMap<u32, &str> =
        lines.filter_map(|(pid, name)| Some((pid.parse().ok()?, name.trim()))).collect();
    for task in tasks {
        let Some(whole) = task.pid.and_then(|pid| names.get(&pid)) else { continue };
        // The number may belong to another process by now.
        let is_same = |known: &str| known.starts_with('<') || whole.contains(known);
        if task.process.as_deref().is_none_or(is_same) {
            task.process = Some((*whole).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_phone_lost_is_in_the_head_of_the_text() {
        let head = "capturing trace... done\nTRACE:\n# tracer: nop\n#\n\
                    # entries-in-buffer/entries-written: 1890/2003   #P:8\n#\n";
        assert_eq!(overwritten(head), Some(113));
        assert_eq!(overwritten("# tracer: nop\n"), None);
        assert_eq!(overwritten("# entries-in-buffer/entries-written: 9/x\n"), None);
        assert_eq!(overwritten("# entries-in-buffer/entries-written: 9/3\n"), None);
    }

    #[test]
    fn an_app_has_its_whole_name_and_a_number_that_is_used_again_does_not() {
        let task = |pid, process: &str| TraceTask {
            tid: Some(pid),
            pid: Some(pid),
            process: Some(process.to_owned()),
            thread: None,
        };
        let mut tasks = [task(5, "ndroid.messaging"), task(6, "toybox"), task(7, "<...>")];
        name_apps(
            &mut tasks,
            "  PID NAME\n    5 com.android.messaging\n 6 com.evil\n7 com.example.app\n",
        );
        let names: Vec<_> = tasks.iter().map(|task| task.process.as_deref().unwrap()).collect();
        assert_eq!(names, ["com.android.messaging", "toybox", "com.example.app"]);
    }
}
