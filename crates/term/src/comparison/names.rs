use flashlag_units::sanitize;
use flashlag_views::Comparison;

use crate::style::Style;
use crate::text::width;

/// The subjects' names cut to the label's columns, after whole words. Names that become equal keep the
/// parentheses at their end, or else are numbered.
pub(super) fn fitted(comparison: &Comparison, style: Style) -> Vec<String> {
    // The label has a space after it, and room for a mark.
    let columns = (style.columns() / 4).max(10) - 3;
    let names: Vec<String> = comparison.subjects.iter().map(|s| sanitize(&s.name)).collect();
    let cut: Vec<String> = names.iter().map(|name| whole_words(name, columns)).collect();
    let ended: Vec<String> = names.iter().map(|name| with_end(name, columns)).collect();
    for shorter in [cut, ended] {
        if (0..shorter.len()).all(|at| !shorter[..at].contains(&shorter[at])) {
            return shorter;
        }
    }
    let numbered = names.iter().enumerate().map(|(at, name)| {
        let number = format!("{}. ", at + 1);
        let rest = whole_words(name, columns.saturating_sub(width(&number)));
        number + &rest
    });
    numbered.collect()
}

/// `SanDisk (a1-fill)` of `SanDisk Extreme Pro A1 (a1-fill)`.
fn with_end(name: &str, columns: usize) -> String {
    let end = name.rfind(" (").filter(|_| name.ends_with(')')).map(|at| name.split_at(at));
    match end {
        Some((own, end)) if width(end) + FEWEST <= columns => {
            whole_words(own, columns - width(end)) + end
        }
        _ => whole_words(name, columns),
    }
}

/// The minimum columns of a recognizable name.
const FEWEST: usize = 4;

/// As many words as fit `columns`; a first word that does not fit is cut.
fn whole_words(name: &str, columns: usize) -> String {
    if width(name) <= columns {
        return name.to_owned();
    }
    let mut kept = String::new();
    for word in name.split(' ') {
        let longer = width(&kept) + width(word) + usize::from(!kept.is_empty());
        if longer > columns {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
    }
    if kept.is_empty() {
        crate::text::cut(name, columns, true)
    } else {
        without_half(&kept).trim_end_matches([',', ':', ' ']).to_owned()
    }
}

/// The text without an unclosed parenthesis.
fn without_half(kept: &str) -> &str {
    match kept.rfind('(') {
        Some(at) if at > 0 && !kept[at..].contains(')') => &kept[..at],
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::{whole_words, with_end};

    #[test]
    fn a_name_is_cut_between_words() {
        assert_eq!(whole_words("SanDisk Extreme Pro A1", 20), "SanDisk Extreme Pro");
        assert_eq!(whole_words("SanDisk, Extreme", 12), "SanDisk");
        assert_eq!(whole_words("Nexus 5 (without nobarrier)", 18), "Nexus 5");
        assert_eq!(whole_words("Nexus 5 (2013) of mine", 18), "Nexus 5 (2013) of");
        assert_eq!(whole_words("Nexus 5", 7), "Nexus 5");
        assert_eq!(with_end("SanDisk Extreme Pro A1 (a1-fill)", 17), "SanDisk (a1-fill)");
        assert_eq!(with_end("virtio disk at mnt (e-1)", 17), "virtio disk (e-1)");
        assert_eq!(with_end("Nexus 5 (a very long file name)", 17), "Nexus 5");
        assert_eq!(whole_words("unbreakable", 5), "unbr…");
    }
}
