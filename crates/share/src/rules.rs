//! What happens to each free-text field when a run is shared. Words of a fixed list always stay.

/// The fate of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Stays: a word of a fixed list, a figure in words, or what a device reports about its kind.
    /// Private values are removed from it all the same: a loop device's model is its file.
    Stays,
    /// Stays, but paths, and private values that other fields of the run contain, are replaced.
    Scrubbed,
    /// As `Scrubbed`, and is shown to the owner, because a person wrote it.
    Shown,
    /// As `Scrubbed`, and text in backquotes, which names another program, is replaced.
    Neighbours,
    /// Keeps those mount options that are known to be the filesystem's.
    MountOptions,
    /// Stays if it is the kernel's name of a device, such as `mmcblk0`.
    DeviceName,
    /// Stays if the target is not a place on a machine: a simulation.
    TargetName,
    /// Stays if it is a quantity or a word that scenarios know: any other value may name a file.
    Setting,
    /// Replaced by the word `removed`.
    Blanked,
    /// Replaced by an unavailable reading.
    Withheld,
    /// Removed: the field may be absent.
    Dropped,
    /// Made an empty list.
    Emptied,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The fields: a path with `[]` for each list; one that ends in `.**` covers everything below.
    pub fields: &'static str,
    /// The fate of these fields.
    pub fate: Fate,
    /// Why, where something goes.
    pub reason: &'static str,
}

const fn rule(fields: &'static str, fate: Fate, reason: &'static str) -> Rule {
    Rule { fields, fate, reason }
}

const PATHS: &str = "paths";

/// If two rules cover a field, the first one applies.
const RULES: &[Rule] = &[
    rule("command[]", Fate::Emptied, "a command line"),
    rule("target.name", Fate::TargetName, PATHS),
    rule("target.directory", Fate::Dropped, "a path"),
    rule("target.profile.**", Fate::Stays, ""),
    rule("label", Fate::Shown, PATHS),
    rule("scenario.text", Fate::Shown, PATHS),
    rule("scenario.name", Fate::Shown, PATHS),
    rule("scenario.settings.*", Fate::Setting, "a name or a path"),
    rule("scenario.assumptions[]", Fate::Scrubbed, PATHS),
    rule("scenario.hash", Fate::Stays, ""),
    rule("environment.filesystem.mount_point", Fate::Withheld, "a path"),
    rule("environment.filesystem.source", Fate::Withheld, "a mount source"),
    rule(
        "environment.filesystem.options[]",
        Fate::MountOptions,
        "options that may name users or paths",
    ),
    rule("environment.filesystem.layers[]", Fate::Scrubbed, PATHS),
    rule("environment.device.name", Fate::DeviceName, "the name of a volume"),
    rule("environment.device.stack[]", Fate::DeviceName, "the name of a volume"),
    rule("environment.layers[].name", Fate::DeviceName, "a mount point or the name of a volume"),
    rule("environment.software.**", Fate::Stays, ""),
    rule("environment.cpu.**", Fate::Stays, ""),
    rule("environment.encryption.**", Fate::Stays, ""),
    rule("environment.device.**", Fate::Stays, ""),
    rule("environment.**", Fate::Scrubbed, PATHS),
    rule("status.error", Fate::Scrubbed, PATHS),
    rule("skipped[].**", Fate::Scrubbed, PATHS),
    rule("downgrades[].**", Fate::Scrubbed, PATHS),
    rule("options.**", Fate::Scrubbed, PATHS),
    rule("conditions[].**", Fate::Scrubbed, PATHS),
    rule("cards[].**", Fate::Scrubbed, PATHS),
    rule("phases[].**", Fate::Scrubbed, PATHS),
    rule("trust.checks[].detail", Fate::Neighbours, "paths and names of programs"),
    rule("trust.checks[].**", Fate::Scrubbed, PATHS),
    rule("findings.list[].evidence[].value", Fate::Neighbours, "paths and names of programs"),
    rule("findings.**", Fate::Scrubbed, PATHS),
    rule("wear.**", Fate::Scrubbed, PATHS),
    rule("flashlag.**", Fate::Stays, ""),
    rule("started", Fate::Stays, ""),
    rule("schema", Fate::Stays, ""),
    rule("integrity.sha256", Fate::Stays, ""),
    rule("shared.**", Fate::Stays, ""),
];

/// All rules, in the order in which they apply.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// The rule of a field.
pub(crate) fn of(field: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| covers(rule.fields, field))
}

fn covers(fields: &str, field: &str) -> bool {
    if let Some(above) = fields.strip_suffix(".**") {
        return field.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
    }
    match fields.strip_suffix(".*") {
        Some(above) => field
            .strip_prefix(above)
            .and_then(|rest| rest.strip_prefix('.'))
            .is_some_and(|name| !name.is_empty()),
        None => fields == field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_its_field_and_what_is_below_and_nothing_beside() {
        assert!(covers("a.b", "a.b") && !covers("a.b", "a.bc") && !covers("a.b", "a.b.c"));
        assert!(covers("a.**", "a.b[].c") && !covers("a.**", "ab.c") && !covers("a.**", "a"));
        assert!(covers("a.*", "a.x.y") && !covers("a.*", "a"));
    }

    #[test]
    fn no_rule_is_hidden_by_one_before_it() {
        for (index, rule) in RULES.iter().enumerate() {
            let field = rule.fields.replace(".**", ".x").replace(".*", ".x");
            let first = RULES.iter().position(|other| covers(other.fields, &field));
            assert_eq!(first, Some(index), "{}", rule.fields);
        }
    }
}
