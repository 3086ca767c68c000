//! Removes private parts of texts: paths, and the private values of the same run.

use flashlag_units::InOrder;
use serde_json::Value;

use crate::options::is_common;
use crate::private;
use crate::profile::OwnProfile;

/// Paths that are the same on every machine and show how something was read, including everything
/// below them.
const SYSTEM: &[&str] = &["/proc", "/sys", "/system", "/vendor", "/data/local/tmp/flashlag"];

/// Folders that are the same on every machine; what is below them is private.
const SHARED: &[&str] = &["/dev/shm", "/data/local/tmp", "/sdcard", "/tmp", "/var/tmp"];

/// Replaces the private parts of texts about a run.
#[derive(Debug, Default)]
pub struct Scrubber {
    values: Vec<String>,
    /// Texts of a profile of the user's own.
    profile: Vec<String>,
}

impl Scrubber {
    /// The text without its private parts. A scrubber without a run removes only paths.
    pub fn public(&self, text: &str) -> String {
        self.scrubbed(text).unwrap_or_else(|| text.to_owned())
    }

    /// A scrubber for one run, as JSON, with the private parts of its profile.
    pub(crate) fn of(run: &Value, profile: &OwnProfile) -> Scrubber {
        let mut values = private::values(run);
        values.extend(profile.words.iter().filter(|text| !is_common(text)).cloned());
        values.retain(|value| !is_system(value));
        // Longest first: a path is replaced before its parts.
        values.order_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Scrubber { values, profile: profile.texts.clone() }
    }

    /// Whether a text comes from a user's own profile.
    pub(crate) fn is_of_profile(&self, text: &str) -> bool {
        self.profile.iter().any(|own| own == text)
    }

    /// The text without its private parts; `None` if it has none.
    pub(crate) fn scrubbed(&self, text: &str) -> Option<String> {
        let mut clean = text.to_owned();
        for value in &self.values {
            clean = without_word(&clean, value);
        }
        let clean = without_paths(&clean);
        (clean != text).then_some(clean)
    }
}

/// Replaces `word` if no letter, digit or underscore is next to it.
fn without_word(text: &str, word: &str) -> String {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let is_whole = !before.ends_with(continues) && !after.starts_with(continues);
        clean.push_str(before);
        clean.push_str(if is_whole { "PRIVATE" } else { word });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn is_system(path: &str) -> bool {
    // Control groups are named after users, services and containers.
    let is_below = |known: &&str| {
        path.strip_prefix(*known)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
    };
    let is_known = SYSTEM.iter().any(is_below) || SHARED.contains(&path);
    !path.starts_with("/sys/fs/cgroup/") && is_known
}

/// Replaces each absolute path of at least two parts, and each path in a home directory.
fn without_paths(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = path_begin(rest) {
        clean.push_str(&rest[..begin]);
        let end = begin + path_length(&rest[begin..]);
        let path = &rest[begin..end];
        let trimmed = path.trim_end_matches(['.', ',', ':', ';']);
        if is_system(trimmed) {
            clean.push_str(path)
        } else {
            clean.push_str("PATH");
            clean.push_str(&path[trimmed.len()..]);
        }
        rest = &rest[end..];
    }
    clean.push_str(rest);
    clean
}

/// Where a path begins: at a slash or `~/` with a name after it, following a space, a quotation
/// mark, a bracket or an equals sign. The slash in `MB/s` or `and/or` begins none.
fn path_begin(text: &str) -> Option<usize> {
    let mut before = None;
    for (index, letter) in text.char_indices() {
        let is_free = before.is_none_or(|b: char| !(b.is_alphanumeric() || "/~._-)".contains(b)));
        let next = text[index + letter.len_utf8()..].chars().next();
        let is_path = match letter {
            '/' => next.is_some_and(|n| n.is_alphanumeric() || "._-@~".contains(n)),
            '~' => next == Some('/'),
            _ => false,
        };
        if is_free && is_path {
            return Some(index);
        }
        before = Some(letter);
    }
    None
}

/// Length of the path at the start of a text. A name may contain spaces: the path continues if a
/// slash, or a file extension, follows within a few words.
fn path_length(text: &str) -> usize {
    let word =
        |from: usize| text[from..].find(is_path_end).map_or(text.len(), |length| from + length);
    let mut end = word(0);
    loop {
        let mut next = end;
        let mut goes_on = None;
        for _ in 0..MOST_WORDS {
            // Names contain single spaces; punctuation ends a name.
            if !text[next..].starts_with(' ') || text[..next].ends_with(['.', ':', '?', '!']) {
                break;
            }
            let begin = next + 1;
            next = word(begin);
            let part = text[begin..next].trim_end_matches(['.', ':', '?', '!']);
            if part.is_empty() || part.starts_with(['/', '~']) {
                break;
            }
            if is_rest_of_path(part) {
                goes_on = Some(begin + part.len());
                break;
            }
        }
        match goes_on {
            Some(further) => end = further,
            None => return end,
        }
    }
}

/// How many words of a name with spaces to search for the rest of a path.
const MOST_WORDS: usize = 4;

/// Whether a word after a space belongs to the path before it: it has a slash that is not part of a
/// unit, or a file extension.
fn is_rest_of_path(word: &str) -> bool {
    let is_unit = word.ends_with("/s")
        || matches!(word, "I/O" | "and/or" | "R/W" | "read/write" | "n/a" | "N/A")
        || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    if word.contains('/') {
        return !is_unit;
    }
    let is_ending = |ending: &str| {
        (2..=6).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && is_ending(ending) && !stem.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_path_end(letter: char) -> bool {
    letter.is_whitespace() || "\"'`()[]{}<>|,;".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scrubber() -> Scrubber {
        Scrubber::of(
            &json!({
                "target": {"name": "/home/ann/Secret Project", "directory": "/home/ann/Secret Project"},
                "environment": {"filesystem": {"mount_point": "/home", "source": "/dev/mapper/vg_acme-home"}},
            }),
            &OwnProfile::default(),
        )
    }

    #[test]
    fn paths_and_their_parts_go_wherever_a_text_repeats_them() {
        let clean = |text: &str| scrubber().scrubbed(text).unwrap_or_else(|| text.to_owned());
        for text in [
            "write of /home/ann/Secret Project/.flashlag-7/file: No space left",
            "choose a directory on the storage: flashlag run --on /var/lib/acme.",
            "vg_acme-home is a volume",
            "see ~/notes, 'Secret Project' and \"/opt/acme\"",
        ] {
            let clean = clean(text);
            for private in ["ann", "Secret", "acme", "notes"] {
                assert!(!clean.contains(private), "{private} in {clean}");
            }
        }
        assert_eq!(clean("at /opt/x/y, 5 MB/s."), "at PATH, 5 MB/s.");
    }

    #[test]
    fn units_and_files_of_the_kernel_stay() {
        for text in
            ["64.4 MB/s and/or 3/4", "/proc/self/schedstat can't be read", "/sys/block/vda/stat"]
        {
            assert_eq!(scrubber().scrubbed(text), None, "{text}");
        }
    }
}
