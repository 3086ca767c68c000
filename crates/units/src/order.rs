use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Stable sorts that all lists share as one compiled function.
///
/// The standard library's sort is compiled anew for each type and each key, 4 kB a call. These call
/// the comparison through a pointer, which costs more a comparison: they are for lists that a
/// person reads, not for events by the million.
pub trait InOrder<T> {
    /// Sorts by a comparison, as `sort_by` does.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key, as `sort_by_key` does.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);

    /// Sorts by the items' own order, as `sort` does.
    fn order(&mut self)
    where
        T: Ord;
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut sources: Vec<usize> = (0..self.len()).collect();
        sort_places(&mut sources, &mut |a, b| compare(&self[a], &self[b]));
        for (one, other) in swaps(sources) {
            self.swap(one, other);
        }
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }

    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }
}

/// Ordered collections that are filled item by item.
///
/// `collect` sorts first, by a sort that the standard library compiles anew for each type, 4 kB. These are for
/// collections that are small, or filled seldom.
pub trait IntoOrder: Iterator + Sized {
    /// A collection, as `collect` makes it.
    fn into_filled<C: Default + Extend<Self::Item>>(self) -> C {
        let mut filled = C::default();
        filled.extend(self);
        filled
    }

    /// A map, as `collect` makes it: of equal keys, the last one's value counts.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        self.into_filled()
    }

    /// A set, as `collect` makes it.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        self.into_filled()
    }
}

impl<I: Iterator> IntoOrder for I {}

/// Sorts places by what stands there.
fn sort_places(places: &mut [usize], compare: &mut dyn FnMut(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

/// The swaps, in order, that bring to each place what stood at its source.
fn swaps(mut sources: Vec<usize>) -> Vec<(usize, usize)> {
    let mut swaps = Vec::new();
    for start in 0..sources.len() {
        // Along one cycle; what was visited is its own source.
        let mut place = start;
        loop {
            let source = std::mem::replace(&mut sources[place], place);
            if source == start {
                break;
            }
            swaps.push((place, source));
            place = source;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_comes_in_the_order_of_the_standard_librarys_stable_sort(
            keys in proptest::collection::vec(0_u8..20, 0..200),
        ) {
            let items: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let (mut ours, mut theirs) = (items.clone(), items.clone());
            ours.order_by_key(|item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &theirs);
            prop_assert_eq!(items.iter().copied().into_map(), items.iter().copied().collect());
            prop_assert_eq!(items.iter().map(|item| item.0).into_set(), items.iter().map(|item| item.0).collect());
            ours.order_by(|a, b| b.0.cmp(&a.0));
            theirs.sort_by_key(|item| std::cmp::Reverse(item.0));
            prop_assert_eq!(&ours, &theirs);
            ours.order();
            theirs.sort();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn each_place_is_filled_by_one_swap_at_most(
            keys in proptest::collection::vec(any::<u32>(), 0..100),
        ) {
            let mut sources: Vec<usize> = (0..keys.len()).collect();
            sources.sort_by_key(|place| keys[*place]);
            prop_assert!(swaps(sources).len() < keys.len().max(1));
        }
    }
}
