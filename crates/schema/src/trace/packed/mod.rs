//! A list in memory whose items take about as many bytes as distinguish them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a piece: a list that is consumed frees its pieces one by one.
const PIECE: usize = 1 << 18;
/// More bytes than any item takes.
const MOST_BYTES: usize = 128;

/// What a [`PackedList`] can hold.
pub trait Pack: Sized {
    /// An item without its time, as stored: integers take as many bytes as they need.
    type Packed: Serialize + DeserializeOwned;

    /// The time by which items are sorted. Near times of neighbours are stored in few bytes.
    fn time(&self) -> u64;

    /// The item without its time.
    fn pack(&self) -> Self::Packed;

    /// The item of a time.
    fn unpack(time: u64, packed: Self::Packed) -> Self;
}

/// A list of items with times. It is stored as pieces of 256 KiB; in each, the items follow one
/// another in postcard's format, with the time since the previous item. The list grows without
/// copying, and frees its pieces while it is consumed.
pub struct PackedList<T> {
    pieces: VecDeque<Piece>,
    length: usize,
    /// The time of the last item.
    last: u64,
    is_sorted: bool,
    of: PhantomData<T>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    /// The time from which the first item's time is counted.
    base: u64,
    items: usize,
    bytes: Vec<u8>,
}

impl Piece {
    fn with_room(base: u64) -> Piece {
        Piece { base, items: 0, bytes: Vec::with_capacity(PIECE) }
    }

    fn push<T: Pack>(&mut self, item: &T, before: u64) {
        let since = item.time().wrapping_sub(before).cast_signed();
        let mut room = [0; MOST_BYTES];
        let packed = postcard::to_slice(&(since, item.pack()), &mut room);
        debug_assert!(packed.is_ok(), "an item is larger than {MOST_BYTES} bytes");
        if let Ok(packed) = packed {
            self.bytes.extend_from_slice(packed);
            self.items += 1;
        }
    }

    /// The same items by time.
    fn sorted<T: Pack>(&self) -> Piece {
        let mut items: Vec<T> = Place::start(self).items(self).collect();
        items.sort_by_key(Pack::time);
        let base = items.first().map_or(0, Pack::time);
        let mut sorted = Piece { base, items: 0, bytes: Vec::with_capacity(self.bytes.len()) };
        let mut before = base;
        for item in items {
            sorted.push(&item, before);
            before = item.time();
        }
        sorted
    }
}

/// A place between two items of a piece.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    /// The time of the item before.
    time: u64,
}

impl Place {
    fn start(piece: &Piece) -> Place {
        Place { at: 0, time: piece.base }
    }

    fn next<T: Pack>(&mut self, piece: &Piece) -> Option<T> {
        let bytes = piece.bytes.get(self.at..).filter(|bytes| !bytes.is_empty())?;
        let ((since, packed), rest): ((i64, T::Packed), _) =
            postcard::take_from_bytes(bytes).ok()?;
        self.at = piece.bytes.len() - rest.len();
        self.time = self.time.wrapping_add(since.cast_unsigned());
        Some(T::unpack(self.time, packed))
    }

    fn items<T: Pack>(mut self, piece: &Piece) -> impl Iterator<Item = T> {
        std::iter::from_fn(move || self.next(piece))
    }
}

impl<T: Pack> PackedList<T> {
    /// A list without items.
    pub fn new() -> PackedList<T> {
        let pieces = VecDeque::new();
        PackedList { pieces, length: 0, last: 0, is_sorted: true, of: PhantomData }
    }

    /// Adds an item behind all others.
    pub fn push(&mut self, item: &T) {
        let time = item.time();
        self.is_sorted &= self.last <= time;
        match self.pieces.back_mut().filter(|piece| piece.bytes.len() + MOST_BYTES <= PIECE) {
            Some(piece) => piece.push(item, self.last),
            None => {
                // A short list takes only the memory that it needs.
                let mut piece = if self.pieces.is_empty() {
                    Piece { base: time, ..Piece::default() }
                } else {
                    Piece::with_room(time)
                };
                piece.push(item, time);
                self.pieces.push_back(piece);
            }
        }
        self.last = time;
        self.length += 1;
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The items, each unpacked.
    pub fn iter(&self) -> Items<'_, T> {
        let place = self.pieces.front().map_or(Place { at: 0, time: 0 }, Place::start);
        Items { pieces: &self.pieces, piece: 0, place, passed: 0, of: PhantomData }
    }

    /// The first item.
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }

    /// Removes all items after the first `most`.
    pub fn truncate(&mut self, most: usize) {
        while self.length > most {
            let Some(piece) = self.pieces.back_mut() else { return };
            let kept = most.saturating_sub(self.length - piece.items);
            self.length -= piece.items - kept;
            let mut place = Place::start(piece);
            (0..kept).for_each(|_| drop(place.next::<T>(piece)));
            piece.bytes.truncate(place.at);
            piece.items = kept;
            self.last = place.time;
            if kept == 0 {
                self.pieces.pop_back();
            }
        }
    }

    /// Subtracts `by`, which is at most the earliest time, from every time.
    pub fn make_earlier(&mut self, by: u64) {
        self.last = self.last.wrapping_sub(by);
        for piece in &mut self.pieces {
            piece.base = piece.base.wrapping_sub(by);
        }
    }

    /// Whether the items are by time.
    pub fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// Sorts the items by time; equal times keep their order. If items are near their places, this
    /// needs the memory of a few pieces only.
    pub fn sort(&mut self) {
        if self.is_sorted {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces).into_iter();
        let mut open: Vec<_> =
            pieces.map(|piece| IntoItems::of([piece.sorted::<T>()].into()).peekable()).collect();
        // The time of each piece's next item, and the piece: at equal times the first piece comes
        // first.
        let next_of = |items: &mut std::iter::Peekable<IntoItems<T>>, index: usize| {
            items.peek().map(|item| Reverse((item.time(), index)))
        };
        let mut next: BinaryHeap<_> = open
            .iter_mut()
            .enumerate()
            .filter_map(|(index, items)| next_of(items, index))
            .collect();
        let mut sorted = PackedList::new();
        while let Some(Reverse((_, index))) = next.pop() {
            let Some(items) = open.get_mut(index) else { continue };
            if let Some(item) = items.next() {
                sorted.push(&item);
            }
            next.extend(next_of(items, index));
        }
        *self = sorted;
    }
}

/// The items of a list, each unpacked.
pub struct Items<'a, T> {
    pieces: &'a VecDeque<Piece>,
    piece: usize,
    place: Place,
    /// Items of this piece that were already returned.
    passed: usize,
    of: PhantomData<T>,
}

impl<T> Items<'_, T> {
    /// Goes on to the piece with the next item if this one has ended or is skipped.
    fn enter_next(&mut self) {
        self.piece += 1;
        self.passed = 0;
        self.place = self.pieces.get(self.piece).map_or(self.place, Place::start);
    }
}

impl<T: Pack> Iterator for Items<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            let piece = self.pieces.get(self.piece)?;
            if let Some(item) = self.place.next(piece) {
                self.passed += 1;
                return Some(item);
            }
            self.enter_next();
        }
    }

    fn nth(&mut self, mut count: usize) -> Option<T> {
        loop {
            let left = self.pieces.get(self.piece)?.items - self.passed;
            if count < left {
                break;
            }
            count -= left;
            self.enter_next();
        }
        (0..count).for_each(|_| drop(self.next()));
        self.next()
    }
}

/// The items of a list that is consumed.
pub struct IntoItems<T> {
    pieces: VecDeque<Piece>,
    place: Place,
    of: PhantomData<T>,
}

impl<T> IntoItems<T> {
    fn of(pieces: VecDeque<Piece>) -> IntoItems<T> {
        let place = pieces.front().map_or(Place { at: 0, time: 0 }, Place::start);
        IntoItems { pieces, place, of: PhantomData }
    }
}

impl<T: Pack> Iterator for IntoItems<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            if let Some(item) = self.place.next(self.pieces.front()?) {
                return Some(item);
            }
            self.pieces.pop_front();
            self.place = self.pieces.front().map_or(self.place, Place::start);
        }
    }
}

impl<T: Pack> IntoIterator for PackedList<T> {
    type Item = T;
    type IntoIter = IntoItems<T>;

    fn into_iter(self) -> IntoItems<T> {
        IntoItems::of(self.pieces)
    }
}

impl<'a, T: Pack> IntoIterator for &'a PackedList<T> {
    type Item = T;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}

impl<T: Pack> FromIterator<T> for PackedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> PackedList<T> {
        let mut list = PackedList::new();
        items.into_iter().for_each(|item| list.push(&item));
        list
    }
}

impl<T: Pack> From<Vec<T>> for PackedList<T> {
    fn from(items: Vec<T>) -> PackedList<T> {
        items.into_iter().collect()
    }
}

impl<T: Pack> Default for PackedList<T> {
    fn default() -> PackedList<T> {
        PackedList::new()
    }
}

impl<T> Clone for PackedList<T> {
    fn clone(&self) -> PackedList<T> {
        let PackedList { length, last, is_sorted, of, .. } = *self;
        PackedList { pieces: self.pieces.clone(), length, last, is_sorted, of }
    }
}

impl<T: Pack + PartialEq> PartialEq for PackedList<T> {
    fn eq(&self, other: &PackedList<T>) -> bool {
        self.length == other.length && self.iter().eq(other)
    }
}

impl<T: Pack + fmt::Debug> fmt::Debug for PackedList<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests;
