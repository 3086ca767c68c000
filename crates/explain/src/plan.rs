//! The scenario of a run, and the statements of its saves.

use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{
    FileSave, JournalMode, Requirement, Save, Scenario, Statement, Step, SyncCall, Synchronous,
    Test,
};

/// The scenario of a run, if it can be parsed again.
pub struct Plan(Option<Scenario>);

impl Plan {
    /// The plan of a run.
    pub fn of(run: &Run) -> Plan {
        let settings: Vec<(String, String)> =
            run.scenario.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Plan(Scenario::parse(&run.scenario.text, &settings).ok())
    }

    /// The test of that name.
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.0.as_ref()?.tests.get(name)
    }

    /// Every test with its name.
    pub fn tests(&self) -> impl Iterator<Item = (&str, &Test)> {
        let tests = self.0.iter().flat_map(|scenario| &scenario.tests);
        tests.map(|(name, test)| (name.as_str(), test))
    }

    /// What the scenario requires of the storage; nothing if it can't be read.
    pub fn requirements(&self) -> &[Requirement] {
        self.0.as_ref().map_or(&[], |scenario| &scenario.requirements)
    }

    /// Whether a fill step runs that test.
    pub fn is_fill(&self, name: &str) -> bool {
        let steps = self.0.iter().flat_map(|scenario| &scenario.steps);
        steps.into_iter().any(|step| matches!(step, Step::Fill { test, .. } if test == name))
    }

    /// How a phase's saves work: from the scenario, or without it from the phase's name
    /// (`save_wal`, `insert_delete_full`). `None` if neither says, and for phases that are no
    /// saves.
    pub fn save(&self, phase: &Phase) -> Option<SaveKind> {
        if phase.operation != Operation::Save {
            return None;
        }
        match self.test(&phase.name) {
            Some(Test::Save(save)) => Some(SaveKind::of_test(save)),
            Some(Test::FileSave(_)) => None,
            _ => SaveKind::from_name(&phase.name),
        }
    }

    /// The file that a phase of saves wrote, if it was not a database of SQLite.
    pub fn file_save(&self, phase: &Phase) -> Option<&FileSave> {
        match self.test(&phase.name) {
            Some(Test::FileSave(save)) if phase.operation == Operation::Save => Some(save),
            _ => None,
        }
    }
}

/// Whether a phase filled the storage, so that its figures span all levels; or ran only for the
/// state that it leaves (`prepares = true`).
pub fn is_fill(plan: &Plan, phase: &Phase) -> bool {
    let prepares = matches!(plan.test(&phase.name), Some(Test::Io(io)) if io.prepares);
    prepares
        || plan.is_fill(&phase.name)
        || phase.intervals.iter().any(|i| i.filled_bytes.is_some())
}

/// The kind of a SQLite save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveKind {
    /// Insert, update or delete.
    pub statement: Statement,
    pub journal: JournalMode,
    pub synchronous: Synchronous,
    /// Databases changed by one save.
    pub databases: u32,
    /// Statements in one transaction.
    pub statements: u32,
    /// The call by which SQLite makes a file durable.
    pub sync_call: SyncCall,
    /// Whether its test requests F2FS's atomic writes.
    pub atomic: bool,
    /// The first Android version that saved this way by default, if the test's name has it:
    /// `…_android4_2012_…`.
    pub android: Option<u32>,
}

/// The version in a test's name that has `androidN` as one of its words.
fn android_of(name: &str) -> Option<u32> {
    name.split('_').find_map(|word| word.strip_prefix("android")?.parse().ok())
}

impl SaveKind {
    /// The kind of a scenario's test.
    pub fn of_test(save: &Save) -> SaveKind {
        SaveKind {
            statement: save.statement,
            journal: save.journal,
            synchronous: save.synchronous,
            databases: save.databases,
            statements: save.statements,
            sync_call: save.sync_call,
            atomic: save.atomic == Some(true),
            android: android_of(&save.name),
        }
    }

    /// As [`Plan::save`], for a single use.
    pub fn of(run: &Run, phase: &Phase) -> Option<SaveKind> {
        // Views call this many times per phase; parsing the scenario again would cost more than
        // everything else.
        (phase.operation == Operation::Save).then(|| Plan::of(run).save(phase)).flatten()
    }

    fn from_name(name: &str) -> Option<SaveKind> {
        let words: Vec<&str> = name.split('_').collect();
        // The statement comes first: `delete_wal_full` deletes, and `save_delete` has a rollback
        // journal.
        let statement = match words.first() {
            Some(&"update") => Statement::Update,
            Some(&"delete") => Statement::Delete,
            _ => Statement::Insert,
        };
        let journal = words.iter().skip(1).find_map(|word| match *word {
            "delete" | "rollback" => Some(JournalMode::Delete),
            "truncate" => Some(JournalMode::Truncate),
            "persist" => Some(JournalMode::Persist),
            "wal" => Some(JournalMode::Wal),
            "memory" => Some(JournalMode::Memory),
            "off" => Some(JournalMode::Off),
            _ => None,
        })?;
        let synchronous = match words.last() {
            Some(&"normal") => Synchronous::Normal,
            Some(&"extra") => Synchronous::Extra,
            _ => Synchronous::Full,
        };
        Some(SaveKind {
            statement,
            journal,
            synchronous,
            databases: 1,
            statements: 1,
            sync_call: SyncCall::default(),
            atomic: words.contains(&"atomic"),
            android: android_of(name),
        })
    }

    /// Whether every commit is on storage when it returns.
    pub fn is_durable(&self) -> bool {
        let journal = !matches!(self.journal, JournalMode::Memory | JournalMode::Off);
        journal && (self.synchronous != Synchronous::Normal || self.journal != JournalMode::Wal)
    }

    /// Whether SQLite does so without a pragma.
    pub fn is_default(&self) -> bool {
        self.journal == JournalMode::Delete && self.synchronous == Synchronous::Full
    }

    /// `insert`, `update`, `delete`.
    pub fn statement_name(&self) -> &'static str {
        match self.statement {
            Statement::Insert => "insert",
            Statement::Update => "update",
            Statement::Delete => "delete",
        }
    }
}
