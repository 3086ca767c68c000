//! File names, and the text of cells.

use std::collections::HashSet;

use flashlag_explain::{Figures, LagVerdict};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::{format, kind_name};

/// The longest file name, without its extension.
const LONGEST: usize = 60;

/// The file name for a device: letters, digits and hyphens, not yet taken even in another case.
pub(crate) fn slug(name: &str, taken: &mut HashSet<String>) -> String {
    let mut plain = String::new();
    for letter in name.chars() {
        match letter.is_ascii_alphanumeric() {
            true => plain.push(letter.to_ascii_lowercase()),
            false if !plain.is_empty() && !plain.ends_with('-') => plain.push('-'),
            false => {}
        }
        if plain.len() >= LONGEST {
            break;
        }
    }
    let plain = plain.trim_end_matches('-');
    let plain = if plain.is_empty() { "device" } else { plain };
    let numbered = |number: usize| match number {
        1 => plain.to_owned(),
        number => format!("{plain}-{number}"),
    };
    let free = (1..).map(numbered).find(|slug| taken.insert(slug.clone()));
    free.unwrap_or_else(|| plain.to_owned())
}

/// A verdict as a word, with its colour class.
pub(crate) fn verdict(verdict: Option<LagVerdict>) -> (&'static str, &'static str) {
    verdict.map_or(("no verdict", "none"), |verdict| (verdict.name(), verdict.name()))
}

/// A size of a device: `128 GB`, or a dash.
pub(crate) fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| format::NONE.to_owned(), |bytes| format::size(Bytes(bytes)))
}

/// A kind in its makers' spelling, or a dash.
pub(crate) fn kind(kind: Option<&str>) -> String {
    kind.map_or(format::NONE, kind_name).to_owned()
}

/// Milliseconds; a dash if nothing was measured, `n too small` if n is.
pub(crate) fn ms(figures: Option<&Figures>, of: fn(&Figures) -> Option<Nanos>) -> String {
    match figures {
        Some(figures) if figures.overloaded => "overloaded".to_owned(),
        Some(figures) => format::ms_of(of(figures), figures.n),
        None => format::NONE.to_owned(),
    }
}

/// The share of late operations.
pub(crate) fn late(figures: Option<&Figures>) -> String {
    let share = figures.and_then(Figures::late_share);
    share.map_or_else(|| format::NONE.to_owned(), format::share)
}

/// `1 run`, `12 runs`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    counted_as(count, one, &format!("{one}s"))
}

/// `1 copy`, `12 copies`.
pub(crate) fn counted_as(count: usize, one: &str, more: &str) -> String {
    let word = if count == 1 { one } else { more };
    format!("{} {word}", format::count(count as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_a_safe_file_name_of_its_own() {
        let mut taken = HashSet::new();
        let names =
            ["Nexus 7 (2012)", "nexus 7 2012", "../../etc/passwd", "\u{202e}日本", "", "con"];
        let slugs: Vec<String> = names.iter().map(|name| slug(name, &mut taken)).collect();
        let wanted = ["nexus-7-2012", "nexus-7-2012-2", "etc-passwd", "device", "device-2", "con"];
        assert_eq!(slugs, wanted);
        assert!(slug(&"x".repeat(100_000), &mut taken).len() <= LONGEST);
    }
}
