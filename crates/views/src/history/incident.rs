//! Incidents as rows and lines.

use flashlag_schema::history::{Incident, Second, WaitKind};

use super::answer::word;
use super::time::minute;
use crate::format;

/// An incident in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRow {
    /// When it began.
    pub when: String,
    /// Its longest wait.
    pub longest: String,
    pub waits: String,
    /// What waited.
    pub what: &'static str,
    pub cause: &'static str,
    /// The programs that moved most bytes in the half minute before.
    pub programs: String,
    /// Who was in uninterruptible sleep.
    pub waiting: String,
    /// Bytes a second in the half minute before, as a line of bars.
    pub picture: String,
}

fn what(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Probe => "a durable write",
        WaitKind::Read => "reads",
        WaitKind::Write => "writes",
        WaitKind::Flush => "a flush",
        WaitKind::Freeze => "everything",
    }
}

/// The incidents, the newest first.
pub fn incident_rows(incidents: &[Incident]) -> Vec<IncidentRow> {
    incidents.iter().rev().map(row).collect()
}

fn row(incident: &Incident) -> IncidentRow {
    let programs = incident.before.programs.iter().take(3);
    let programs: Vec<String> =
        programs.map(|program| format!("{} {}", program.name, program.bytes)).collect();
    IncidentRow {
        when: minute(incident.start_ms),
        longest: format::time(incident.longest_ns),
        waits: format::count(u64::from(incident.waits)),
        what: what(incident.kind),
        cause: word(incident),
        programs: programs.join(", "),
        waiting: incident.waiting.join(", "),
        picture: picture(&incident.before.seconds),
    }
}

/// One incident in a sentence, as it is printed when it happens.
pub fn incident_line(incident: &Incident) -> String {
    let row = row(incident);
    let usual = incident
        .usual_ns
        .map_or(String::new(), |usual| format!(" (usual: {})", format::time(usual)));
    let waits = match incident.waits {
        1 => String::new(),
        waits => format!(
            ", {} waits in {}",
            format::count(u64::from(waits)),
            format::time(incident.lasted_ns)
        ),
    };
    let named = |what: &str, names: &str| {
        if names.is_empty() { String::new() } else { format!("; {what}: {names}") }
    };
    format!(
        "{}: {} waited {}{usual}{waits}; cause: {}{}{}{}",
        row.when,
        row.what,
        row.longest,
        row.cause,
        named("before it", &row.programs),
        named("also waiting", &row.waiting),
        named("limited by", &incident.before.limits.join(", ")),
    )
}

/// A bar for each second, by bytes; the highest is the largest second.
pub fn picture(seconds: &[Second]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = seconds.iter().map(|second| second.bytes.0).max().unwrap_or(0).max(1);
    let bar = |second: &Second| {
        let at = u128::from(second.bytes.0) * 7 / u128::from(most);
        BARS[usize::try_from(at).unwrap_or(7).min(7)]
    };
    seconds.iter().map(bar).collect()
}
