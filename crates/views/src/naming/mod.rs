//! Names of things, for people.

mod device;
mod file_save;

use flashlag_explain::SaveKind;
use flashlag_schema::{Mixed, Phase, Run, TargetKind};
use flashlag_spec::State;
use flashlag_spec::replay::ReplayKind;
use flashlag_spec::scenario::{JournalMode, SyncCall, Synchronous};

use crate::format::decapitalized;

pub(crate) use device::device_names;
pub use device::{device_name, filesystem_name};
pub use file_save::file_save_label;
pub(crate) use file_save::{file_save, file_saves};

/// Whether the device was new when the run began: a virtual one, unless its target gave it another
/// state. For a real one this is unknown.
pub(crate) fn began_new(run: &Run) -> bool {
    let mut options = run.target.profile.iter().flat_map(|profile| &profile.device_options);
    let used = options.any(|option| option.starts_with("state=") && option != "state=new");
    matches!(run.target.kind, TargetKind::Simulated | TargetKind::Lab) && !used
}

/// A state as a word that begins a row: `Filled`; `As found` for how a real device was at first.
pub fn state_name(run: &Run, state: State) -> &'static str {
    match state {
        State::New if began_new(run) => "New",
        State::New => "As found",
        State::Filled => "Filled",
        State::Deleted => "Deleted",
        State::Trimmed => "Trimmed",
        State::Idle => "Idle",
    }
}

/// When, within a sentence: `when new`, `as found`, `once full`, `after deleting`, `after trim`,
/// `after idling`.
pub(crate) fn when(run: &Run, state: State) -> &'static str {
    match state {
        State::New if began_new(run) => "when new",
        State::New => "as found",
        State::Filled => "once full",
        State::Deleted => "after deleting",
        State::Trimmed => "after trim",
        State::Idle => "after idling",
    }
}

/// A row of the lifecycle: `New`, `Filled, run 2`; the run only where the state is repeated.
pub fn stage_label(run: &Run, state: State, number: u32) -> String {
    if repeats(run, state) {
        format!("{}, run {number}", state_name(run, state))
    } else {
        state_name(run, state).to_owned()
    }
}

/// Whether some phase of this run repeats that state.
pub(crate) fn repeats(run: &Run, state: State) -> bool {
    run.phases.iter().any(|phase| phase.state == state && phase.run > 1)
}

/// The stage of a phase, as in [`stage_label`].
pub fn stage_of(run: &Run, phase: &Phase) -> String {
    stage_label(run, phase.state, phase.run)
}

/// A test as a person would call it: `4K rand write` for `rand_write_4k`, `1M seq read Q8` for
/// `seq_read_1m_q8`, `4K rand read, mixed` for `rand_mixed_4k_read`, `1M seq fill` for `fill_seq_1m`,
/// `4K rand write, after 10 ms` for `rand_write_4k_after_10ms`; a name of another form as it is.
pub fn test_title(name: &str) -> String {
    titled(name).unwrap_or_else(|| name.to_owned())
}

fn titled(name: &str) -> Option<String> {
    if name == "soak" {
        return Some("Sustained write".to_owned());
    }
    if let Some(kind) = name.strip_prefix("replay_") {
        return replay_title(kind);
    }
    let mut words = name.split('_');
    let (first, second, block) = (words.next()?, words.next()?, words.next()?);
    let (pattern, operation) = if first == "fill" { (second, first) } else { (first, second) };
    let digits = block.strip_suffix(['k', 'm'])?;
    let known = matches!(pattern, "seq" | "rand") && is_number(digits);
    let mut rest: Vec<&str> = words.collect();
    let (operation, mixed) = match operation {
        "read" | "write" | "fill" => (operation, ""),
        "mixed" => (rest.pop().filter(|half| matches!(*half, "read" | "write"))?, ", mixed"),
        _ => return None,
    };
    let depth = match rest.as_slice() {
        [] => String::new(),
        [depth] if depth.strip_prefix('q').is_some_and(is_number) => {
            format!(" {}", depth.to_uppercase())
        }
        ["rest"] => ", rest".to_owned(),
        ["after", rest] => format!(", after {}", rest_title(rest)?),
        _ => return None,
    };
    known.then(|| format!("{} {pattern} {operation}{depth}{mixed}", block.to_uppercase()))
}

/// The part of a replayed trace, taken from the end of a phase's name.
fn replay_title(kind: &str) -> Option<String> {
    let kind = ReplayKind::ALL.into_iter().find(|known| known.name() == kind)?;
    let title = match kind {
        ReplayKind::Read => "Trace, reads",
        ReplayKind::Write => "Trace, writes",
        ReplayKind::Sync => "Trace, syncs",
        ReplayKind::Names => "Trace, opens and names",
        ReplayKind::Discard => "Trace, discards",
        ReplayKind::Save => "Trace, transactions",
    };
    Some(title.to_owned())
}

/// `100 ms` for `100ms`.
fn rest_title(text: &str) -> Option<String> {
    let unit = ["us", "ms", "s"]
        .into_iter()
        .find(|unit| text.strip_suffix(unit).is_some_and(is_number))?;
    Some(format!("{} {}", text.strip_suffix(unit)?, unit.replace("us", "µs")))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A phase's test, by the one name that every view gives it: `4K rand write`, `4K rand read Q32 T4`,
/// `4K rand read, mixed 70/30`, `WAL save`, `Rollback insert, NORMAL`, `WAL save, busy`,
/// `SharedPreferences commit, 10 kB`.
pub fn test_name(run: &Run, phase: &Phase) -> String {
    let how = circumstances(phase.background.is_some(), phase.closed_loop, phase.think.is_some());
    if let Some(save) = file_save(run, phase) {
        return format!("{}{how}", file_save_label(&save));
    }
    if let Some(kind) = SaveKind::of(run, phase).filter(|_| phase.replay.is_none()) {
        return format!("{}{how}", save_title(&kind, &phase.name));
    }
    // How many threads replayed a trace is said beside the trace.
    let threads = match phase.threads {
        several if several > 1 && phase.replay.is_none() => format!(" T{several}"),
        _ => String::new(),
    };
    let title = test_title(&phase.name);
    match phase.mixed {
        Some(mixed) => {
            let title = title.strip_suffix(", mixed").unwrap_or(&title);
            format!("{title}{threads}{}", share_of_reads(mixed))
        }
        None => format!("{title}{threads}"),
    }
}

/// `, mixed 70/30`
fn share_of_reads(mixed: Mixed) -> String {
    let reads = mixed.read_percent.min(100);
    format!(", mixed {reads}/{}", 100 - reads)
}

/// What is unusual about when operations are done: `, busy` beside another writer.
pub fn circumstances(beside: bool, closed_loop: bool, rests: bool) -> &'static str {
    match (beside, closed_loop) {
        (true, _) => BUSY,
        (false, false) => ", on a schedule",
        (false, true) if rests => ", after a rest",
        (false, true) => "",
    }
}

/// The end of the name of saves beside another writer.
const BUSY: &str = ", busy";

/// What [`BUSY`] means, for views with a test of that name.
pub fn busy_note<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    names.any(|name| name.contains(BUSY)).then_some("busy: beside another writer")
}

/// Saves of a test with this name: `WAL save`, `Rollback insert, NORMAL`, `WAL save, 10 statements`.
pub fn save_title(kind: &SaveKind, name: &str) -> String {
    let statement = kind.statement_name();
    let what = if name.starts_with(statement) { statement } else { "save" };
    let label = brief_label(&save_label(kind));
    match label.split_once(", ") {
        Some((journal, more)) => format!("{journal} {what}, {more}"),
        None => format!("{label} {what}"),
    }
}

/// The short label of a save: SQLite's name of the journal mode.
pub fn brief_label(label: &str) -> String {
    const NAMES: [(&str, &str); 5] = [
        ("Rollback journal (truncate)", "Truncate"),
        ("Rollback journal (persist)", "Persist"),
        ("Rollback journal", "Rollback"),
        ("Journal in memory", "Memory"),
        ("No journal", "Off"),
    ];
    let shorter = NAMES
        .iter()
        .find_map(|(name, brief)| label.strip_prefix(name).map(|rest| format!("{brief}{rest}")));
    shorter.unwrap_or_else(|| label.to_owned())
}

/// What a phase measured, in the plural: `SQLite saves, rollback journal`, `4 KiB durable random
/// writes`.
pub fn subject_name(run: &Run, phase: &Phase) -> String {
    if let Some(save) = file_save(run, phase) {
        let [_, many] = file_saves(&save);
        return format!("{many}, {}", save.written_at_once());
    }
    match SaveKind::of(run, phase) {
        Some(kind) => format!("SQLite saves, {}", decapitalized(&save_label(&kind))),
        None if phase.is_durable_write() => "4 KiB durable random writes".to_owned(),
        None => test_title(&phase.name),
    }
}

/// A kind of save as a row's name: `Rollback journal`, `WAL`, `WAL, NORMAL`, `Rollback journal
/// (truncate)`; with several statements or another call than usual `WAL, 10 statements, fsync`; as an
/// Android saved by default `Rollback journal (persist), Android 4`.
pub fn save_label(kind: &SaveKind) -> String {
    let mut label = journal_name(kind.journal).to_owned();
    match kind.synchronous {
        Synchronous::Full => {}
        Synchronous::Extra => label += ", EXTRA",
        Synchronous::Normal => label += ", NORMAL",
    }
    if kind.statements > 1 {
        label += &format!(", {} statements", kind.statements);
    }
    if kind.sync_call != SyncCall::default() {
        label += ", fsync";
    }
    if kind.atomic {
        label += ", atomic";
    }
    if let Some(version) = kind.android {
        label += &format!(", Android {version}");
    }
    label
}

/// A journal mode as a row's name.
pub fn journal_name(journal: JournalMode) -> &'static str {
    match journal {
        JournalMode::Delete => "Rollback journal",
        JournalMode::Truncate => "Rollback journal (truncate)",
        JournalMode::Persist => "Rollback journal (persist)",
        JournalMode::Wal => "WAL",
        JournalMode::Memory => "Journal in memory",
        JournalMode::Off => "No journal",
    }
}

/// A kind of device as its makers write it.
pub fn kind_name(kind: &str) -> &str {
    match kind {
        "emmc" => "eMMC",
        "sd" => "SD card",
        "ufs" => "UFS",
        "nvme" => "NVMe",
        "sata" => "SATA",
        "usb" => "USB",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use flashlag_spec::scenario::Statement;

    use super::*;

    #[test]
    fn several_statements_and_another_call_are_in_the_name_of_a_save() {
        let kind = SaveKind {
            statement: Statement::Insert,
            journal: JournalMode::Wal,
            synchronous: Synchronous::Full,
            databases: 1,
            statements: 1,
            sync_call: SyncCall::Fdatasync,
            atomic: false,
            android: None,
        };
        assert_eq!(save_label(&kind), "WAL");
        assert_eq!(save_label(&SaveKind { statements: 10, ..kind }), "WAL, 10 statements");
        let (statements, sync_call) = (10, SyncCall::Fsync);
        let synchronous = Synchronous::Normal;
        let both = SaveKind { statements, sync_call, synchronous, ..kind };
        assert_eq!(save_label(&both), "WAL, NORMAL, 10 statements, fsync");
        let atomic = SaveKind { atomic: true, journal: JournalMode::Truncate, ..kind };
        assert_eq!(save_label(&atomic), "Rollback journal (truncate), atomic");
        let persist = SaveKind { android: Some(4), journal: JournalMode::Persist, ..kind };
        assert_eq!(save_label(&persist), "Rollback journal (persist), Android 4");
        let title = |kind: &SaveKind, name: &str| save_title(kind, name);
        assert_eq!(title(&persist, "save_persist"), "Persist save, Android 4");
        assert_eq!(title(&both, "insert_wal_normal"), "WAL insert, NORMAL, 10 statements, fsync");
        assert_eq!(title(&SaveKind { journal: JournalMode::Delete, ..kind }, "x"), "Rollback save");
    }

    #[test]
    fn names_of_tests_become_what_people_call_them() {
        let cases = [
            ("seq_read_256k", "256K seq read"),
            ("rand_write_4k", "4K rand write"),
            ("rand_write_64k", "64K rand write"),
            ("seq_write_1m_q8", "1M seq write Q8"),
            ("rand_read_4k_q32", "4K rand read Q32"),
            ("rand_mixed_4k_read", "4K rand read, mixed"),
            ("rand_mixed_4k_q8_write", "4K rand write Q8, mixed"),
            ("rand_write_4k_rest", "4K rand write, rest"),
            ("rand_write_4k_after_100ms", "4K rand write, after 100 ms"),
            ("rand_write_4k_after_2s", "4K rand write, after 2 s"),
            ("rand_write_4k_after_lunch", "rand_write_4k_after_lunch"),
            ("fill_seq_1m", "1M seq fill"),
            ("soak", "Sustained write"),
        ];
        for (name, title) in cases {
            assert_eq!(test_title(name), title);
        }
        for name in ["seq_read", "rand_mixed_4k", "save_wal", "rand_write_4k_x", "", "a_b_k"] {
            assert_eq!(test_title(name), name);
        }
    }
}
