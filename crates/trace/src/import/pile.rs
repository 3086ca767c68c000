//! Many items in little more than their own memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Items of a piece: pieces are given back one by one while what is made of them grows.
const PIECE: usize = 1 << 15;
/// Items among which the next one is found: far more than the requests that a device has under way.
const LOOK_AHEAD: usize = 1 << 16;

/// A list that gives its memory back while it is taken apart.
#[derive(Debug)]
pub(super) struct Pile<T> {
    pieces: VecDeque<Vec<T>>,
    length: usize,
}

impl<T> Default for Pile<T> {
    fn default() -> Pile<T> {
        Pile { pieces: VecDeque::new(), length: 0 }
    }
}

impl<T> Pile<T> {
    pub(super) fn push(&mut self, item: T) {
        self.length += 1;
        match self.pieces.back_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push(item),
            None => self.pieces.push_back(vec![item]),
        }
    }

    pub(super) fn extend(&mut self, items: impl Iterator<Item = T>) {
        items.for_each(|item| self.push(item));
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.pieces.iter_mut().for_each(|piece| piece.retain(&keep));
        self.length = self.pieces.iter().map(Vec::len).sum();
    }

    /// The items, in order of a key where none is further than the look-ahead from its place; at equal
    /// keys as they were added. Sorting all of them in one would take half their memory once more.
    pub(super) fn nearly_sorted<K: Ord>(self, key: impl Fn(&T) -> K) -> impl Iterator<Item = T> {
        let mut items = self.pieces.into_iter().flatten();
        let mut near: BinaryHeap<Reverse<Keyed<K, T>>> = BinaryHeap::new();
        let mut number = 0_u64;
        std::iter::from_fn(move || {
            while near.len() < LOOK_AHEAD {
                let Some(item) = items.next() else { break };
                near.push(Reverse(Keyed { key: (key(&item), number), item }));
                number += 1;
            }
            near.pop().map(|Reverse(keyed)| keyed.item)
        })
    }
}

struct Keyed<K, T> {
    key: (K, u64),
    item: T,
}

impl<K: Ord, T> PartialEq for Keyed<K, T> {
    fn eq(&self, other: &Keyed<K, T>) -> bool {
        self.key == other.key
    }
}

impl<K: Ord, T> Eq for Keyed<K, T> {}

impl<K: Ord, T> PartialOrd for Keyed<K, T> {
    fn partial_cmp(&self, other: &Keyed<K, T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for Keyed<K, T> {
    fn cmp(&self, other: &Keyed<K, T>) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_places_are_sorted_as_a_stable_sort_does_and_all_items_stay() {
        // Each item is at most 1,000 from its place, and four have the same key.
        let keys: Vec<u64> = (0..200_000).map(|at| (at + (at * 7919) % 1000) / 4).collect();
        let items: Vec<(u64, usize)> = keys.into_iter().zip(0..).collect();
        let mut pile = Pile::default();
        pile.extend(items.iter().copied());
        assert!(pile.iter().eq(&items));
        pile.retain(|(_, at)| at % 3 > 0);
        let mut expected: Vec<_> = items.into_iter().filter(|(_, at)| at % 3 > 0).collect();
        assert_eq!(pile.len(), expected.len());
        expected.sort_by_key(|(key, _)| *key);
        assert!(pile.nearly_sorted(|(key, _)| *key).eq(expected));
    }
}
