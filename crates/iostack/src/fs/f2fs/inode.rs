//! Files of F2FS: their maps, nodes and temperature.

use std::collections::BTreeSet;

use super::segments::Log;
use crate::fs::Reason;
use crate::fs::map::{Block, HOLE};

/// Block addresses in an inode, and in a direct node.
pub(super) const IN_INODE: u64 = 923;
pub(super) const IN_NODE: u64 = 1018;
/// Largest file whose data is inline, in bytes: the addresses that fit into an inode, less those of
/// inline attributes (50) and one more (`MAX_INLINE_DATA`).
pub(super) const INLINE: u64 = 4 * (IN_INODE - 50 - 1);
/// Largest number of dirty pages of a file whose data counts as hot (`min_hot_blocks`).
const HOT_PAGES: u64 = 16;
/// Extensions of hot and cold files that `mkfs.f2fs` writes into the superblock; of the cold ones,
/// those found on phones.
const HOT_NAMES: [&str; 1] = ["db"];
const COLD_NAMES: [&str; 14] = [
    "jpg", "jpeg", "png", "gif", "heic", "mp3", "m4a", "ogg", "opus", "mp4", "3gp", "mkv", "apk",
    "cnt",
];

/// Index of the node that holds the address of a page.
pub(super) const fn node_of(page: u64) -> u32 {
    if page < IN_INODE { 0 } else { 1 + ((page - IN_INODE) / IN_NODE) as u32 }
}

#[derive(Debug, Default)]
pub(super) struct Inode {
    pub(super) size: u64,
    pub(super) map: Vec<Block>,
    /// Number and block of each node, the inode first.
    pub(super) nodes: Vec<(u64, Block)>,
    /// Nodes that changed since they were written.
    pub(super) dirty: BTreeSet<u32>,
    pub(super) modified: Option<u64>,
    /// Whether an fsync must write the modification time.
    pub(super) touched: bool,
    /// Whether the data is inline: the file was never larger than fits.
    pub(super) inline: bool,
    /// Whether the last write was atomic: then an fsync has nothing to do.
    pub(super) settled: bool,
    /// Whether no checkpoint and no fsync has written the inode yet.
    pub(super) fresh: bool,
    /// How soon the data is expected to change, by the file's name.
    pub(super) by_name: Temperature,
}

impl Inode {
    /// The log for data that is written for a reason, `pages` at a time. Before Linux 4.12
    /// (`is_old`) only the file's name makes it cold, and nothing is hot.
    pub(super) fn log(&self, reason: Reason, pages: u64, is_old: bool) -> Log {
        match (reason, self.by_name) {
            // The write hint selects the log of a direct write; without one it is the warm log.
            (Reason::Direct, _) => Log::WarmData,
            (_, Temperature::Cold) => Log::ColdData,
            _ if is_old => Log::WarmData,
            (_, Temperature::Hot) => Log::HotData,
            _ if pages <= HOT_PAGES => Log::HotData,
            _ => Log::WarmData,
        }
    }

    /// Whether a node has a block or is promised one.
    pub(super) fn is_kept(&self, node: u32) -> bool {
        let written = self.nodes.get(node as usize).is_some_and(|node| !is_nowhere(node));
        written || self.dirty.contains(&node)
    }

    /// Marks a node changed; returns the number of blocks that this reserves.
    pub(super) fn change(&mut self, node: u32) -> u64 {
        let fresh = !self.is_kept(node);
        self.dirty.insert(node);
        u64::from(fresh)
    }
}

/// Whether a node was never written.
pub(super) fn is_nowhere((_, block): &(u64, Block)) -> bool {
    *block == HOLE
}

/// How soon a file's data is expected to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Temperature {
    /// Soon: databases.
    Hot,
    /// Unknown.
    #[default]
    Warm,
    /// Late: pictures, music, films.
    Cold,
}

impl Temperature {
    /// The temperature of a file with this name (`set_file_temperature`).
    pub(super) fn of(name: &str) -> Temperature {
        let parts = || name.split('.').skip(1);
        let has = |list: &[&str]| {
            parts().any(|part| list.iter().any(|one| part.eq_ignore_ascii_case(one)))
        };
        match (has(&COLD_NAMES), has(&HOT_NAMES)) {
            (true, _) => Temperature::Cold,
            (false, true) => Temperature::Hot,
            (false, false) => Temperature::Warm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_soon_a_file_changes() {
        for (name, expected) in [
            ("save-0.db", Temperature::Hot),
            ("IMG_1.JPG", Temperature::Cold),
            ("film.mp4.part", Temperature::Cold),
            ("save-0.db-journal", Temperature::Warm),
            ("db", Temperature::Warm),
            ("fill-1", Temperature::Warm),
        ] {
            assert_eq!(Temperature::of(name), expected, "{name}");
        }
    }

    #[test]
    fn few_pages_are_hot_many_are_warm_and_direct_writes_always() {
        let file = Inode::default();
        let log = |reason, pages| file.log(reason, pages, false);
        assert_eq!(log(Reason::Writeback, 16), Log::HotData);
        assert_eq!(log(Reason::Writeback, 17), Log::WarmData);
        assert_eq!(log(Reason::Direct, 1), Log::WarmData);
        assert_eq!(file.log(Reason::Writeback, 1, true), Log::WarmData);
        let picture = Inode { by_name: Temperature::Cold, ..Inode::default() };
        assert_eq!(picture.log(Reason::Writeback, 1, false), Log::ColdData);
    }
}
