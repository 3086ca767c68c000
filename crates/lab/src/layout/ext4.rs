//! ext4: fixed tables in each group, and a log in the blocks of an inode.

use std::ops::Range;
use std::path::Path;

use flashlag_units::InOrder;

use super::model::{Form, blocks, output_of};
use crate::error::LabError;

/// Inode of the journal.
const JOURNAL: &str = "stat <8>";

pub(super) fn read(image: &Path) -> Result<Form, LabError> {
    let groups = output_of("dumpe2fs", "e2fsprogs", &[], image)?;
    let journal = output_of("debugfs", "e2fsprogs", &["-R", JOURNAL], image)?;
    Ok(Form::Ext4 { journal: extents(&journal), metadata: tables(&groups) })
}

/// Parses a block or a range of blocks, `5` or `5-8`, and ignores what follows.
fn range(text: &str) -> Option<Range<u64>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (first, last) = match text[..end].split_once('-') {
        Some((first, last)) => (first, last),
        None => (&text[..end], &text[..end]),
    };
    Some(blocks(first.parse().ok()?, last.parse().ok()?))
}

/// Parses the extents of an inode: the blocks behind the colons of `(0-4095):65536-69631, (ETB0):12`.
fn extents(text: &str) -> Vec<Range<u64>> {
    let list = text.split("EXTENTS:").nth(1).unwrap_or_default();
    let parts = list.split("):").skip(1).filter_map(range);
    sorted(parts.collect())
}

/// Tables of a group, as `dumpe2fs` names them.
fn tables(text: &str) -> Vec<Range<u64>> {
    const BEFORE: [&str; 5] = [
        "superblock at ",
        "Group descriptors at ",
        "Reserved GDT blocks at ",
        "bitmap at ",
        "Inode table at ",
    ];
    let mut found = Vec::new();
    for line in text.lines() {
        for before in BEFORE {
            found.extend(line.split(before).skip(1).filter_map(range));
        }
    }
    sorted(found)
}

fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.order_by_key(|range| range.start);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_where_the_groups_say() {
        let text = "Group 0: (Blocks 0-32767) csum 0xd611\n  Primary superblock at 0, Group \
                    descriptors at 1-1\n  Reserved GDT blocks at 2-64\n  Block bitmap at 65 (+65), \
                    csum 0x94\n  Inode bitmap at 69 (bg #0 + 69)\n  Inode table at 73-584 (+73)\n  \
                    Free blocks: 2127-32767\n";
        let expected = [(0, 0), (1, 1), (2, 64), (65, 65), (69, 69), (73, 584)];
        assert_eq!(tables(text), expected.map(|(first, last)| blocks(first, last)));
    }

    #[test]
    fn the_journal_is_in_its_extents() {
        let text = "Inode: 8\nEXTENTS:\n(0-32766):65536-98302, (32767):100\n";
        assert_eq!(extents(text), [blocks(100, 100), blocks(65536, 98302)]);
        assert_eq!(extents("garbage"), Vec::<Range<u64>>::new());
    }
}
