//! Suggests what a misspelt target meant.
//!
//! The words of a target show by themselves whether they are a profile, a filesystem or an option.
//! So a text with other separators, in another order or with a wrong letter is read word by word
//! and written again. The suggestion is always a valid target.

use std::path::Path;

use flashlag_spec::profile::{Profile, names};
use flashlag_spec::target::{
    DeviceSpec, FilesystemKind, Kind, MountSpec, OPTIONS, PHONE_KIND, PhoneSpec, TargetError,
    TargetOption,
};
use flashlag_units::{Bytes, nearest};

/// Nobody mistypes a longer target.
const LONGEST: usize = 512;
/// The separators between words: first those of a target, then those that people use instead.
const SIGNS: [&[char]; 3] = [&['+', ',', ';'], &[' ', '\t'], &[':', '/']];
/// Units of sizes, for those in letters of the other case.
const UNITS: [&str; 7] = ["kB", "MB", "GB", "TB", "KiB", "MiB", "GiB"];

/// The error for a refused target, with its mistake and the target that was probably meant. `None`
/// if that is unclear.
pub(super) fn misspelt(text: &str) -> Option<TargetError> {
    if text.len() > LONGEST {
        return None;
    }
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    let sign = after.chars().next();
    let lower = word.to_lowercase();
    let known = || Kind::ALL.map(Kind::name).into_iter().chain([PHONE_KIND]);
    let meant = match sign {
        Some(':') => nearest(&lower, known()),
        _ => known().find(|name| *name == lower),
    };
    let Some(name) = meant else { return without_kind(text) };
    let wrong = match sign {
        Some(':') if word == name => None,
        _ if word == name => Some(format!("a colon stands after \"{name}\"")),
        _ => Some(format!("no kind of target is called \"{word}:\"")),
    };
    let rest = after.get(sign.map_or(0, char::len_utf8)..).unwrap_or_default();
    match Kind::ALL.into_iter().find(|kind| kind.name() == name) {
        Some(kind) => Words::of(kind, rest)?.error(text, wrong),
        None => {
            let phone = PhoneSpec::parse(rest.trim_start()).ok()?;
            Some(TargetError::Misspelt { wrong: wrong?, meant: phone.to_string() })
        }
    }
}

/// A text without a kind is the path of a directory, unless it has a filesystem only or begins with a
/// profile.
fn without_kind(text: &str) -> Option<TargetError> {
    if text.contains(['/', '\\']) || text.starts_with('.') {
        return None;
    }
    let begins = |name: &str| text.strip_prefix(name).is_some_and(|rest| !goes_on(rest));
    if !text.starts_with('+') && !names().any(begins) {
        return None;
    }
    let wrong = "a simulated device begins with sim:, and a virtual one with lab:".to_owned();
    let error = |kind| Words::of(kind, text)?.error(text, Some(wrong.clone()));
    Kind::ALL.into_iter().find_map(error)
}

/// Whether a name continues, as in `nexus7-2012-copy`.
fn goes_on(rest: &str) -> bool {
    rest.starts_with(|letter: char| letter.is_alphanumeric() || "-_.".contains(letter))
}

/// A word of a target.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    Profile(String),
    Filesystem(FilesystemKind),
    Option(String),
}

/// A word with the character before it, and its mistake.
struct Read<'a> {
    word: Word,
    before: Option<char>,
    typed: &'a str,
    wrong: Option<String>,
}

/// The words of a target.
struct Words<'a> {
    kind: Kind,
    read: Vec<Read<'a>>,
    /// The separators that no word follows.
    empty: Vec<char>,
}

impl<'a> Words<'a> {
    /// Reads what follows the colon.
    fn of(kind: Kind, rest: &'a str) -> Option<Words<'a>> {
        let mut words = Words { kind, read: Vec::new(), empty: Vec::new() };
        for (before, typed) in split(rest, SIGNS[0]) {
            match (typed.trim(), before) {
                ("", Some(sign)) => words.empty.push(sign),
                ("", None) => {}
                (typed, _) => words.read.extend(read(kind, before, typed, &SIGNS[1..])?),
            }
        }
        Some(words)
    }

    fn profiles(&self) -> impl Iterator<Item = &str> {
        self.read.iter().filter_map(|one| match &one.word {
            Word::Profile(name) => Some(name.as_str()),
            _ => None,
        })
    }

    fn filesystems(&self) -> impl Iterator<Item = FilesystemKind> {
        self.read.iter().filter_map(|one| match one.word {
            Word::Filesystem(filesystem) => Some(filesystem),
            _ => None,
        })
    }

    /// The options, each once.
    fn options(&self) -> Vec<&str> {
        let mut options: Vec<&str> = Vec::new();
        for one in &self.read {
            match &one.word {
                Word::Option(option) if !options.contains(&option.as_str()) => options.push(option),
                _ => {}
            }
        }
        options
    }

    /// The error of a text with these words.
    fn error(&self, text: &str, of_kind: Option<String>) -> Option<TargetError> {
        let options: String = self.options().iter().map(|option| format!(",{option}")).collect();
        let (mut filesystems, mut profiles) = (self.filesystems(), self.profiles());
        let (filesystem, profile) = (filesystems.next(), profiles.next());
        if filesystems.next().is_some() || profiles.next().is_some() {
            return None;
        }
        let Some(profile) = profile else {
            let mount = match filesystem {
                Some(filesystem) => format!("+{filesystem}{options}"),
                None if self.kind == Kind::Lab || !options.is_empty() => format!("+FS{options}"),
                None => String::new(),
            };
            return Some(TargetError::ProfileMissing(format!("{}:PROFILE{mount}", self.kind)));
        };
        let mount = match filesystem {
            Some(filesystem) => format!("+{filesystem}"),
            None if self.kind == Kind::Sim && options.is_empty() => String::new(),
            None => format!("+{}", own_mount(self.kind, profile)?),
        };
        let meant = format!("{}:{profile}{mount}{options}", self.kind);
        let taken = DeviceSpec::parse(&meant).is_ok() && Profile::find(profile).is_ok();
        if !taken || meant == text {
            return None;
        }
        let mut wrong: Vec<String> = of_kind.into_iter().collect();
        wrong.extend(self.wrong(filesystem.is_none()));
        if wrong.is_empty() {
            let spaced = text.contains(char::is_whitespace);
            let all = "a target is written KIND:PROFILE+FS,OPTION";
            wrong.push(if spaced { "no space stands beside the profile" } else { all }.to_owned());
        }
        Some(TargetError::Misspelt { wrong: wrong.join("; "), meant })
    }

    /// The mistakes in the words, the characters between them and their order.
    fn wrong(&self, needs_filesystem: bool) -> Vec<String> {
        let mut wrong: Vec<String> = self.read.iter().filter_map(|one| one.wrong.clone()).collect();
        let options = self.options();
        if needs_filesystem && (self.kind == Kind::Lab || !options.is_empty()) {
            wrong.push(
                "no filesystem is named: a plus and the filesystem stand after the profile, and a comma \
                 before each option"
                    .to_owned(),
            );
        } else if !self.read.is_sorted_by_key(|one| one.word.place()) {
            wrong.push("the order is profile, filesystem, options".to_owned());
        } else {
            wrong.extend(self.read.iter().filter_map(Read::wrong_sign));
        }
        wrong.extend(self.empty.iter().map(|sign| format!("nothing follows a \"{sign}\"")));
        let twice = |option: &&str| {
            let same = |one: &&Read| matches!(&one.word, Word::Option(text) if text == *option);
            self.read.iter().filter(same).count() > 1
        };
        let twice = options.into_iter().filter(twice);
        wrong.extend(twice.map(|option| format!("\"{option}\" is given twice")));
        wrong
    }
}

impl Word {
    /// The word's position in a target.
    fn place(&self) -> usize {
        match self {
            Word::Profile(_) => 0,
            Word::Filesystem(_) => 1,
            Word::Option(_) => 2,
        }
    }

    /// The noun for it.
    fn noun(&self) -> &'static str {
        ["profile", "filesystem", "option"][self.place()]
    }
}

impl Read<'_> {
    /// The character that belongs before the word, if another is there.
    fn wrong_sign(&self) -> Option<String> {
        let (sign, name) = match self.word {
            Word::Profile(_) => return None,
            Word::Filesystem(_) => ('+', "a plus"),
            Word::Option(_) => (',', "a comma"),
        };
        let before = self.before.filter(|before| *before != sign)?;
        let (noun, typed) = (self.word.noun(), self.typed);
        Some(format!("{name} stands before the {noun} \"{typed}\", not \"{before}\""))
    }
}

/// The profile's filesystem and mount options, as far as this kind of target has them.
fn own_mount(kind: Kind, profile: &str) -> Option<String> {
    let profile = Profile::find(profile).ok()?;
    let own = MountSpec::parse(Kind::Sim, &profile.filesystem).ok()?;
    let with = |options| MountSpec { filesystem: own.filesystem, options };
    let has = |option: &&TargetOption| with(vec![(*option).clone()]).check(kind).is_ok();
    let mount = with(own.options.iter().filter(has).cloned().collect());
    mount.check(kind).ok().map(|()| mount.to_string())
}

/// The parts of a text, each with the sign before it.
fn split<'a>(text: &'a str, signs: &[char]) -> Vec<(Option<char>, &'a str)> {
    let mut parts = Vec::new();
    let (mut before, mut rest) = (None, text);
    while let Some(at) = rest.find(signs) {
        let (part, after) = rest.split_at(at);
        parts.push((before, part));
        before = after.chars().next();
        // The signs are ASCII.
        rest = after.get(1..).unwrap_or_default();
    }
    parts.push((before, rest));
    parts
}

/// The words of a part: one, or several with other signs between them.
fn read<'a>(
    kind: Kind,
    before: Option<char>,
    typed: &'a str,
    signs: &[&[char]],
) -> Option<Vec<Read<'a>>> {
    if let Some(word) = exact(typed) {
        return Some(vec![Read { word, before, typed, wrong: None }]);
    }
    for (level, signs_here) in signs.iter().enumerate() {
        let parts = split(typed, signs_here);
        if parts.len() == 1 {
            continue;
        }
        let parts = parts.into_iter().filter(|(_, part)| !part.is_empty());
        let words =
            parts.map(|(sign, part)| read(kind, sign.or(before), part, &signs[level + 1..]));
        if let Some(words) = words.collect::<Option<Vec<_>>>() {
            return Some(words.into_iter().flatten().collect());
        }
    }
    let word = similar(kind, typed)?;
    let lists = match &word {
        Word::Profile(_) => " (`flashlag profiles` lists them)".to_owned(),
        Word::Filesystem(_) => {
            let known = FilesystemKind::of(kind).iter().map(|filesystem| filesystem.name());
            format!(" (there are {})", known.collect::<Vec<_>>().join(", "))
        }
        Word::Option(_) => String::new(),
    };
    let wrong = Some(format!("there is no {} \"{typed}\"{lists}", word.noun()));
    Some(vec![Read { word, before, typed, wrong }])
}

/// The word, if it is correct.
fn exact(typed: &str) -> Option<Word> {
    if names().any(|name| name == typed) || typed.ends_with(".toml") || Path::new(typed).is_file() {
        return Some(Word::Profile(typed.to_owned()));
    }
    let named = FilesystemKind::ALL.into_iter().find(|filesystem| filesystem.name() == typed);
    named.map(Word::Filesystem).or_else(|| option(typed))
}

fn option(typed: &str) -> Option<Word> {
    TargetOption::from_word(typed).map(|_| Word::Option(typed.to_owned()))
}

/// The word that a mistyped one is similar to.
fn similar(kind: Kind, typed: &str) -> Option<Word> {
    let lower = typed.to_lowercase();
    if let Some(word) = exact(&lower) {
        return Some(word);
    }
    let with_value = |sign: char| {
        let (name, value) = typed.split_once(sign)?;
        option_with_value(kind, name.trim(), value.trim())
    };
    if let Some(word) = ['=', ':', ' '].into_iter().find_map(with_value) {
        return Some(word);
    }
    if names().filter(|name| name.starts_with(&lower)).count() > 1 {
        return None;
    }
    // The option has a list of values and none is given, so it is not clear which is meant.
    let listed = |word: &str| word.strip_prefix(&lower).is_some_and(|rest| rest.starts_with('='));
    if OPTIONS.iter().any(|row| listed(row.word)) {
        return None;
    }
    let filesystems = FilesystemKind::of(kind).iter().map(|filesystem| filesystem.name());
    let rows = OPTIONS.iter().filter(|row| row.value.is_none());
    let options = rows.filter(|row| !row.filesystems(kind).is_empty()).map(|row| row.word);
    let near = nearest(&lower, names().chain(filesystems).chain(options))?;
    // An option with another beginning is a different one: the list of options helps more than a
    // guess.
    let is_option = OPTIONS.iter().any(|row| row.word == near);
    if is_option && near.chars().next() != lower.chars().next() {
        return None;
    }
    exact(near)
}

/// An option with a value, in other letters or with another sign; `barrier=0`, as the kernel has it, for
/// `nobarrier`.
fn option_with_value(kind: Kind, name: &str, value: &str) -> Option<Word> {
    let rows = OPTIONS.iter().filter(|row| !row.filesystems(kind).is_empty());
    let with_value = rows.clone().filter(|row| row.value.is_some()).map(|row| row.word);
    let lower = value.to_lowercase();
    if let Some(near) = nearest(name, with_value) {
        let values = [Some(value.to_owned()), Some(lower), in_units(value)];
        return values.into_iter().flatten().find_map(|value| option(&format!("{near}={value}")));
    }
    let name = rows.map(|row| row.word).find(|word| word.eq_ignore_ascii_case(name))?;
    match lower.as_str() {
        "1" | "on" | "yes" | "true" => option(name),
        "0" | "off" | "no" | "false" => option(&format!("no{name}")),
        _ => None,
    }
}

/// A size with its unit in the usual letters: `4GiB` for `4gib`.
fn in_units(value: &str) -> Option<String> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = value.get(digits.len()..)?;
    let unit = UNITS.into_iter().find(|known| known.eq_ignore_ascii_case(unit))?;
    let size = format!("{}{unit}", digits.trim());
    size.parse::<Bytes>().is_ok().then_some(size)
}
