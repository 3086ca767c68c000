//! B-trees of items, in which Btrfs keeps all metadata.
//!
//! Leaves of 16 KiB fill, split and merge as in the kernel (`split_leaf`, `push_leaf_right`,
//! `push_leaf_left` and `btrfs_del_items` of Linux 6.12), so that a commit writes as many nodes.
//! Inner nodes are modelled as full.

use super::nodes::{NODE, Nodes};
use crate::fs::map::Block;

/// Sizes of a node's header, of an item's header in a leaf, and of a child pointer in an inner node
/// (`struct btrfs_header`, `btrfs_item`, `btrfs_key_ptr`).
const HEADER: u32 = 101;
const HEAD: u32 = 25;
const POINTER: u32 = 33;
/// Size of an extent item with one file reference, and of a node's item (`btrfs_extent_item` and a
/// reference).
pub(super) const EXTENT_ITEM: u32 = 53;
pub(super) const NODE_ITEM: u32 = 33;
/// Blocks whose checksums one item covers, at four items per leaf; blocks that one free-space
/// bitmap covers (`BTRFS_FREE_SPACE_BITMAP_SIZE`); and the sizes of these items.
pub(super) const CHECKED_BY_ITEM: u64 = 1000;
pub(super) const CHECKSUM_ITEM: u32 = 4000;
pub(super) const MAPPED_BY_ITEM: u64 = 2048;
pub(super) const BITMAP_ITEM: u32 = 256;
/// Bytes of a leaf for items.
pub(super) const ROOM: u32 = NODE as u32 - HEADER;
/// Children of an inner node.
pub(super) const FANOUT: usize = (ROOM / POINTER) as usize;

/// Place of an item in the order of a tree (`struct btrfs_key`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) object: u64,
    pub(super) kind: Kind,
    pub(super) offset: u64,
}

/// Kinds of items, by their numbers in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    Inode = 1,
    InodeRef = 12,
    DirLogIndex = 72,
    DirItem = 84,
    DirIndex = 96,
    FileExtent = 108,
    Checksum = 128,
    Extent = 168,
    MetadataExtent = 169,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    key: Key,
    /// Bytes, the head included.
    size: u32,
}

/// A node's address, and whether the node changed since it was last written.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    at: Option<Block>,
    is_dirty: bool,
}

#[derive(Debug, Default)]
struct Leaf {
    items: Vec<Item>,
    used: u32,
    place: Place,
}

#[derive(Debug)]
pub(super) struct Tree {
    /// At least one leaf; only a single leaf may be empty.
    leaves: Vec<Leaf>,
    /// Levels of inner nodes, the lowest first.
    inner: Vec<Vec<Place>>,
    /// Addresses of removed leaves.
    gone: Vec<Block>,
    /// Whether leaves were added or removed since the tree was written.
    is_reshaped: bool,
    /// Number of leaves that changed since then, removed ones included.
    changed: u64,
}

impl Leaf {
    fn of(items: Vec<Item>) -> Leaf {
        let used = size_of(&items);
        Leaf { items, used, place: Place { at: None, is_dirty: true } }
    }

    const fn room(&self) -> u32 {
        ROOM - self.used
    }
}

fn size_of(items: &[Item]) -> u32 {
    items.iter().map(|item| item.size).sum()
}

impl Tree {
    /// An empty tree, which is not on the device.
    pub(super) fn new() -> Tree {
        let (inner, gone) = (Vec::new(), Vec::new());
        Tree { leaves: vec![Leaf::default()], inner, gone, is_reshaped: false, changed: 0 }
    }

    /// Inserts an item of `bytes` bytes, or replaces the one with the same key.
    pub(super) fn insert(&mut self, key: Key, bytes: u32) {
        let item = Item { key, size: (bytes + HEAD).min(ROOM) };
        let index = self.leaf_of(key);
        let slot = match self.slot_of(index, key) {
            Ok(slot) if self.leaves[index].items[slot].size == item.size => {
                self.mark(index);
                return;
            }
            Ok(slot) => {
                self.leaves[index].items.remove(slot);
                self.refill(index);
                slot
            }
            Err(slot) => slot,
        };
        let (index, slot) = self.make_room(index, slot, item.size);
        let leaf = &mut self.leaves[index];
        leaf.items.insert(slot, item);
        leaf.used += item.size;
        self.mark(index);
    }

    /// Removes an item; returns whether it was there.
    pub(super) fn remove(&mut self, key: Key) -> bool {
        let index = self.leaf_of(key);
        let Ok(slot) = self.slot_of(index, key) else { return false };
        let leaf = &mut self.leaves[index];
        leaf.used -= leaf.items.remove(slot).size;
        self.mark(index);
        if self.leaves.len() > 1 && self.leaves[index].used < ROOM / 3 {
            self.join(index);
        }
        true
    }

    /// Removes the items of a range of keys, both ends included.
    pub(super) fn remove_range(&mut self, first: Key, last: Key) {
        while let Some(key) = self.next(first).filter(|key| *key <= last) {
            self.remove(key);
        }
    }

    /// Marks a leaf changed.
    fn mark(&mut self, index: usize) {
        let was_dirty = std::mem::replace(&mut self.leaves[index].place.is_dirty, true);
        self.changed += u64::from(!was_dirty);
    }

    /// Marks a leaf changed after its items changed.
    fn refill(&mut self, index: usize) {
        self.leaves[index].used = size_of(&self.leaves[index].items);
        self.mark(index);
    }

    /// The first key at or after `key`.
    fn next(&self, key: Key) -> Option<Key> {
        let index = self.leaf_of(key);
        let slot = self.slot_of(index, key).unwrap_or_else(|slot| slot);
        let here = self.leaves[index].items.get(slot);
        let behind = || self.leaves.get(index + 1)?.items.first();
        here.or_else(behind).map(|item| item.key)
    }

    /// The leaf that has this key, or would get an item with it.
    fn leaf_of(&self, key: Key) -> usize {
        let begins = |leaf: &Leaf| leaf.items.first().is_some_and(|item| item.key <= key);
        self.leaves.partition_point(begins).saturating_sub(1)
    }

    fn slot_of(&self, index: usize, key: Key) -> Result<usize, usize> {
        self.leaves[index].items.binary_search_by_key(&key, |item| item.key)
    }

    /// Makes room for an item of `need` bytes before a slot of a leaf; returns where the item goes.
    fn make_room(&mut self, index: usize, slot: usize, need: u32) -> (usize, usize) {
        let mut at = (index, slot);
        if self.leaves[index].room() >= need {
            return at;
        }
        at = self.push_right(at, need).or_else(|| self.push_left(at, need)).unwrap_or(at);
        // Two splits suffice: after them the item has a leaf of its own.
        while self.leaves[at.0].room() < need {
            at = self.split(at, need);
        }
        at
    }

    /// Moves items from the end of a leaf to the next leaf; returns where the slot is then. `None`
    /// if it moved none.
    fn push_right(&mut self, (index, slot): (usize, usize), need: u32) -> Option<(usize, usize)> {
        let left = &self.leaves[index];
        let (count, room) = (left.items.len(), self.leaves.get(index + 1)?.room());
        let least = if slot < count { need - left.room() } else { need };
        if room < least {
            return None;
        }
        if slot == count {
            // The item goes into the next leaf, and this one stays as it is.
            return Some((index + 1, 0));
        }
        let (mut pushed, mut bytes) = (0, 0);
        for at in (1..count).rev() {
            if pushed > 0 && (slot > at || (slot == at && left.room() + bytes * 2 > room)) {
                break;
            }
            if slot == at {
                bytes += least;
            }
            if left.items[at].size + bytes > room {
                break;
            }
            (pushed, bytes) = (pushed + 1, bytes + left.items[at].size);
        }
        (pushed > 0).then(|| {
            let moved = self.leaves[index].items.split_off(count - pushed);
            self.leaves[index + 1].items.splice(0..0, moved);
            [index, index + 1].into_iter().for_each(|leaf| self.refill(leaf));
            let left = count - pushed;
            if slot >= left { (index + 1, slot - left) } else { (index, slot) }
        })
    }

    /// Moves items from the front of a leaf to the previous leaf; returns where the slot is then.
    /// `None` if it moved none.
    fn push_left(&mut self, (index, slot): (usize, usize), need: u32) -> Option<(usize, usize)> {
        let before = index.checked_sub(1)?;
        let (right, room) = (&self.leaves[index], self.leaves[before].room());
        let least = if slot > 0 { need - right.room() } else { need };
        if room < least {
            return None;
        }
        let (mut pushed, mut bytes) = (0, 0);
        for at in 0..right.items.len() - 1 {
            if pushed > 0 && (slot < at || (slot == at && right.room() + bytes * 2 > room)) {
                break;
            }
            if slot == at {
                bytes += least;
            }
            if right.items[at].size + bytes > room {
                break;
            }
            (pushed, bytes) = (pushed + 1, bytes + right.items[at].size);
        }
        (pushed > 0)
            .then(|| self.move_left(index, pushed))
            .map(|old| if slot < pushed { (before, old + slot) } else { (index, slot - pushed) })
    }

    /// Moves items from the front of a leaf to the previous one; returns how many were there
    /// before.
    fn move_left(&mut self, index: usize, count: usize) -> usize {
        let moved: Vec<Item> = self.leaves[index].items.drain(..count).collect();
        let old = self.leaves[index - 1].items.len();
        self.leaves[index - 1].items.extend(moved);
        [index - 1, index].into_iter().for_each(|leaf| self.refill(leaf));
        old
    }

    /// Splits a leaf in its middle, or at the slot if half a leaf is not room enough.
    fn split(&mut self, (index, slot): (usize, usize), need: u32) -> (usize, usize) {
        let items = &self.leaves[index].items;
        let half = items.len().div_ceil(2);
        let fits = if half <= slot {
            items.len() > 1 && size_of(&items[half..]) + need <= ROOM
        } else {
            size_of(&items[..half]) + need <= ROOM
        };
        let middle = if fits { half } else { slot };
        let moved = self.leaves[index].items.split_off(middle);
        self.refill(index);
        if self.leaves[index].items.is_empty() {
            // The new item goes first: the new leaf becomes the first of the two.
            let new = std::mem::replace(&mut self.leaves[index].items, moved);
            self.refill(index);
            self.add_leaf(index, new);
            return (index, 0);
        }
        self.add_leaf(index + 1, moved);
        if middle <= slot { (index + 1, slot - middle) } else { (index, slot) }
    }

    fn add_leaf(&mut self, index: usize, items: Vec<Item>) {
        self.leaves.insert(index, Leaf::of(items));
        self.is_reshaped = true;
        self.changed += 1;
    }

    /// Moves the items of a sparse leaf to its neighbours, as far as those have room.
    fn join(&mut self, index: usize) {
        if index > 0 {
            let room = self.leaves[index - 1].room();
            let mut bytes = 0;
            let fits = |item: &&Item| {
                bytes += item.size;
                bytes <= room
            };
            let count = self.leaves[index].items.iter().take_while(fits).count();
            if count > 0 {
                self.move_left(index, count);
            }
        }
        let next_has_room =
            self.leaves.get(index + 1).is_some_and(|next| next.room() >= self.leaves[index].used);
        if next_has_room && !self.leaves[index].items.is_empty() {
            let moved = std::mem::take(&mut self.leaves[index].items);
            self.leaves[index + 1].items.splice(0..0, moved);
            self.refill(index + 1);
        }
        if self.leaves[index].items.is_empty() {
            self.gone.extend(self.leaves.remove(index).place.at);
            self.is_reshaped = true;
        }
    }

    /// Number of nodes that the next commit has to write to new places, at most.
    pub(super) fn dirty(&self) -> u64 {
        // One level more if the root splits, and the last node of each level if leaves were added.
        let levels = self.inner.len() as u64 + 1;
        match self.changed {
            0 if !self.is_reshaped => 0,
            changed => changed + (changed + 1) * levels,
        }
    }

    /// Gives all changed nodes, and the nodes above them, new addresses; returns these in order,
    /// and adds the old addresses to `left`.
    pub(super) fn write_out(&mut self, nodes: &mut Nodes, left: &mut Vec<Block>) -> Vec<Block> {
        left.append(&mut self.gone);
        self.shape(left);
        let mut dirty: Vec<usize> = (0..self.leaves.len()).collect();
        dirty.retain(|index| self.leaves[*index].place.is_dirty);
        let mut changed = Vec::new();
        for level in &mut self.inner {
            let mut parents: Vec<usize> = dirty_of(level, &dirty);
            parents.dedup();
            changed.push(parents.clone());
            dirty = parents;
        }
        // From the root down, as the kernel copies a path.
        let mut written = Vec::new();
        for (level, parents) in self.inner.iter_mut().zip(changed).rev() {
            for index in parents {
                written.extend(level[index].renew(nodes, left));
            }
        }
        for leaf in self.leaves.iter_mut().filter(|leaf| leaf.place.is_dirty) {
            written.extend(leaf.place.renew(nodes, left));
        }
        (self.is_reshaped, self.changed) = (false, 0);
        written
    }

    /// Builds the levels of inner nodes that the leaves need.
    fn shape(&mut self, left: &mut Vec<Block>) {
        let mut children = self.leaves.len();
        let mut level = 0;
        while children > 1 {
            children = children.div_ceil(FANOUT);
            if self.inner.len() <= level {
                self.inner.push(Vec::new());
            }
            let nodes = &mut self.inner[level];
            left.extend(nodes.drain(children.min(nodes.len())..).filter_map(|place| place.at));
            nodes.resize(children, Place::default());
            if self.is_reshaped
                && let Some(last) = nodes.last_mut()
            {
                last.is_dirty = true;
            }
            level += 1;
        }
        left.extend(self.inner.drain(level..).flatten().filter_map(|place| place.at));
    }

    /// Addresses of all nodes on the device.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Block> {
        let leaves = self.leaves.iter().map(|leaf| &leaf.place);
        leaves.chain(self.inner.iter().flatten()).filter_map(|place| place.at)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> Vec<usize> {
        self.leaves.iter().map(|leaf| leaf.items.len()).collect()
    }
}

/// Nodes of a level that changed themselves or have changed children, in order.
fn dirty_of(level: &[Place], children: &[usize]) -> Vec<usize> {
    let mut parents: Vec<usize> = children.iter().map(|child| child / FANOUT).collect();
    parents.extend((0..level.len()).filter(|index| level[*index].is_dirty));
    parents.sort_unstable();
    parents.dedup();
    parents
}

impl Place {
    /// Gives a node a new address. If no node is free, it keeps the old one: the kernel reserves
    /// nodes for that case.
    fn renew(&mut self, nodes: &mut Nodes, left: &mut Vec<Block>) -> Option<Block> {
        if let Some(new) = nodes.allocate() {
            left.extend(self.at.replace(new));
        }
        self.is_dirty = false;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flashlag_units::Bytes;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::fs::btrfs::chunks::Chunks;

    fn key(offset: u64) -> Key {
        Key { object: 1, kind: Kind::FileExtent, offset }
    }

    #[test]
    fn a_leaf_of_items_in_order_is_split_in_its_middle() {
        let mut tree = Tree::new();
        let fit = u64::from(ROOM / (4 + HEAD));
        (0..fit).for_each(|offset| tree.insert(key(offset), 4));
        assert_eq!(tree.counts(), [561]);
        tree.insert(key(fit), 4);
        assert_eq!(tree.counts(), [281, 281]);
    }

    #[test]
    fn a_full_leaf_gives_the_one_before_what_it_has_room_for() {
        let mut tree = Tree::new();
        (0..842).for_each(|offset| tree.insert(key(offset), 4));
        assert_eq!(tree.counts(), [281, 561]);
        tree.insert(key(842), 4);
        // A push takes half of the room in the leaf before, not all: it balances the two.
        let counts = tree.counts();
        assert_eq!(counts.iter().sum::<usize>(), 843);
        assert_eq!(counts.len(), 2, "{counts:?}");
    }

    #[test]
    fn a_tree_has_what_was_put_into_it_and_leaves_that_hold_it_after_any_calls() {
        for seed in 0..20 {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let mut chunks = Chunks::new(Bytes::from_mib(4096)).unwrap();
            let mut nodes = Nodes::new(&mut chunks);
            let (mut tree, mut expected) = (Tree::new(), BTreeMap::new());
            for step in 0..4000 {
                let at = key(random.next_u64() % 3000);
                let removes = step > 2000 && random.next_u64() % 3 > 0;
                if removes {
                    assert_eq!(tree.remove(at), expected.remove(&at).is_some(), "seed {seed}");
                } else {
                    let sizes = [4, 53, 160, 4000];
                    let size = sizes[(random.next_u64() % 4) as usize];
                    tree.insert(at, size);
                    expected.insert(at, size + HEAD);
                }
                if step % 100 == 0 {
                    let dirty = tree.dirty();
                    let written = tree.write_out(&mut nodes, &mut Vec::new()).len() as u64;
                    assert!(written <= dirty, "seed {seed}: {written} for {dirty}");
                    assert!(tree.write_out(&mut nodes, &mut Vec::new()).is_empty(), "seed {seed}");
                }
            }
            let items: Vec<(Key, u32)> = tree
                .leaves
                .iter()
                .flat_map(|leaf| leaf.items.iter().map(|item| (item.key, item.size)))
                .collect();
            assert_eq!(items, expected.into_iter().collect::<Vec<_>>(), "seed {seed}");
            for leaf in &tree.leaves {
                assert_eq!(leaf.used, size_of(&leaf.items), "seed {seed}");
                assert!(leaf.used <= ROOM, "seed {seed}");
            }
            let full = tree.leaves.iter().map(|leaf| u64::from(leaf.used)).sum::<u64>();
            let most = full.div_ceil(u64::from(ROOM) / 3) as usize + 2;
            assert!(tree.leaves.len() <= most, "seed {seed}: {:?}", tree.counts());
        }
    }
}
