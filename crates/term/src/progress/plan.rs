use flashlag_spec::scenario::{IoOperation, Scenario, Step, Test};
use flashlag_units::Bytes;
use flashlag_views::{SaveKind, circumstances, file_save_label, save_title, test_title};

/// The rest of the run, taken from the scenario: groups (`new`, `fill`, `filled 2`) of tests.
#[derive(Debug, Default)]
pub(super) struct Plan {
    phases: Vec<(String, String)>,
    kinds: Vec<(String, Kind)>,
    titles: Vec<(String, String)>,
}

/// What a phase does, for its words and for what counts as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    /// Reads and writes: the share of reads, in a hundred.
    Mixed {
        read_percent: u32,
    },
    Write,
    Save,
    #[default]
    Unknown,
}

impl Kind {
    /// How many of the `bytes` that were moved were written.
    pub(super) fn written(self, bytes: Bytes) -> Bytes {
        match self {
            Kind::Read => Bytes::ZERO,
            Kind::Mixed { read_percent } => {
                let writes = u64::from(100u32.saturating_sub(read_percent));
                Bytes((u128::from(bytes.0) * u128::from(writes) / 100) as u64)
            }
            Kind::Write | Kind::Save | Kind::Unknown => bytes,
        }
    }

    /// The word for one operation.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Save => "save",
            Kind::Mixed { .. } | Kind::Unknown => "operation",
        }
    }
}

impl Plan {
    pub(super) fn of(scenario: &Scenario) -> Plan {
        let mut phases = Vec::new();
        for step in &scenario.steps {
            match step {
                Step::Measure { tests, state, repeat } => {
                    for run in 1..=*repeat {
                        let group = match state {
                            flashlag_spec::State::New => "new".to_owned(),
                            state => format!("{} {run}", state.name()),
                        };
                        phases.extend(tests.iter().map(|test| (group.clone(), test.clone())));
                    }
                }
                Step::Fill { test, .. } => phases.push(("fill".to_owned(), test.clone())),
                Step::Delete | Step::Trim | Step::Idle { .. } => {}
            }
        }
        let kind = |test: &Test| match test {
            Test::Io(io) if io.operation == IoOperation::Read => Kind::Read,
            Test::Io(io) if io.operation == IoOperation::Mixed => {
                Kind::Mixed { read_percent: io.read_percent.unwrap_or_default() }
            }
            Test::Io(_) => Kind::Write,
            Test::Save(_) | Test::FileSave(_) => Kind::Save,
            // Reads, writes, syncs and names together.
            Test::Replay(_) | Test::Card(_) => Kind::Unknown,
        };
        let kinds = scenario.tests.iter().map(|(name, test)| (name.clone(), kind(test)));
        let titles = scenario.tests.iter().map(|(name, test)| (name.clone(), title_of(test)));
        Plan { phases, kinds: kinds.collect(), titles: titles.collect() }
    }

    /// A phase as a person would call it: `Filled 2: 4K rand write`; without its group if the run
    /// has only one.
    pub(super) fn title(&self, label: &str) -> String {
        let (group, test) = split(label);
        let test = self.test(test);
        let several = self.phases.iter().any(|(other, _)| other != group);
        match group {
            "" => test,
            "fill" => test,
            _ if !several && !self.phases.is_empty() => test,
            "new" => format!("At first: {test}"),
            _ => {
                let mut letters = group.chars();
                let first: String =
                    letters.next().into_iter().flat_map(char::to_uppercase).collect();
                format!("{first}{}: {test}", letters.as_str())
            }
        }
    }

    fn test(&self, name: &str) -> String {
        let found = self.titles.iter().find(|(known, _)| known == name);
        found.map_or_else(|| test_title(name), |(_, title)| title.clone())
    }

    /// What the phase with this label does.
    pub(super) fn kind(&self, label: &str) -> Kind {
        let (_, test) = split(label);
        let found = self.kinds.iter().find(|(name, _)| name == test);
        found.map(|(_, kind)| *kind).unwrap_or_default()
    }

    /// The phases after the one with this label: the tests left in its group, then the groups'
    /// states, each once.
    pub(super) fn after(&self, label: &str) -> Vec<String> {
        let (group, test) = split(label);
        let found = self.phases.iter().position(|(g, t)| g == group && t == test);
        let rest = found.map(|found| &self.phases[found + 1..]).unwrap_or_default();
        let mut words: Vec<String> = Vec::new();
        for (next_group, next_test) in rest {
            let word = if next_group == group {
                self.test(next_test)
            } else {
                next_group.split(' ').next().unwrap_or_default().to_owned()
            };
            if words.last() != Some(&word) {
                words.push(word);
            }
        }
        words
    }
}

/// The name of a test, as every view calls it.
fn title_of(test: &Test) -> String {
    let how = |background: bool, scheduled: bool, rests: bool| {
        circumstances(background, !scheduled, rests)
    };
    match test {
        Test::Io(io) => test_title(&io.name),
        Test::Save(save) => {
            let scheduled = save.arrivals.per_second.is_some();
            let how = how(save.background.is_some(), scheduled, save.think.is_some());
            format!("{}{how}", save_title(&SaveKind::of_test(save), &save.name))
        }
        Test::FileSave(save) => {
            let scheduled = save.arrivals.per_second.is_some();
            let how = how(save.background.is_some(), scheduled, save.think.is_some());
            format!("{}{how}", file_save_label(save))
        }
        Test::Card(_) => "Card".to_owned(),
        Test::Replay(replay) => format!("Replay of a trace ({})", replay.name),
    }
}

/// `filled 2: rand_write_4k` in two.
fn split(label: &str) -> (&str, &str) {
    label.split_once(": ").unwrap_or(("", label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_replay_does_are_operations() {
        let text = "name = \"x\"\n[[replay]]\nname = \"t\"\ntrace = \"t.txt\"\nspan = \"1GB\"\n\
                    [[step]]\nmeasure = [\"t\"]\n";
        let scenario = Scenario::parse(text, &[]).expect("a scenario");
        assert_eq!(Plan::of(&scenario).kind("new: t").noun(), "operation");
    }

    #[test]
    fn of_a_mixed_test_only_the_writes_count_as_written() {
        let text = "name = \"x\"\n[[io]]\nname = \"t\"\noperation = \"mixed\"\nread_percent = 70\n\
                    pattern = \"random\"\nblock = \"4KiB\"\nspan = \"1MB\"\ntime = \"1s\"\n\
                    [[step]]\nmeasure = [\"t\"]\n";
        let scenario = Scenario::parse(text, &[]).expect("a scenario");
        let kind = Plan::of(&scenario).kind("new: t");
        assert_eq!(kind, Kind::Mixed { read_percent: 70 });
        assert_eq!(kind.written(Bytes(1_000)), Bytes(300));
        assert_eq!(Kind::Read.written(Bytes(1_000)), Bytes::ZERO);
        assert_eq!(Kind::Save.written(Bytes(1_000)), Bytes(1_000));
        assert_eq!(kind.written(Bytes(u64::MAX)).0, 5_534_023_222_112_865_484);
    }
}
