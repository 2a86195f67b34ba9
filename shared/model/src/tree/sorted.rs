//! A map and a set as sorted lists, with the part of the standard library's interface that is used here.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, Index, RangeBounds};

/// A map in key order: a sorted list, searched by bisection. An insertion moves the entries after the new one. Nothing
/// here bounds the number of entries; the code that inserts must.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Map<K, V>(Vec<(K, V)>);

/// A sorted set. Nothing here bounds the number of its things; the code that inserts must.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set<T>(Map<T, ()>);

/// The position of a key in a map, as [`Map::entry`] finds it.
#[derive(Debug)]
pub enum Entry<'a, K, V> {
    /// The key is in the map.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key is not in the map.
    Vacant(VacantEntry<'a, K, V>),
}

/// The position of a key that is in the map.
#[derive(Debug)]
pub struct OccupiedEntry<'a, K, V> {
    list: &'a mut Vec<(K, V)>,
    place: usize,
}

/// The position where a key that is not in the map belongs.
#[derive(Debug)]
pub struct VacantEntry<'a, K, V> {
    list: &'a mut Vec<(K, V)>,
    place: usize,
    key: K,
}

/// Entries in key order, from either end.
#[derive(Debug)]
pub struct Iter<'a, K, V>(std::slice::Iter<'a, (K, V)>);

/// Entries in key order, with values that can be changed.
#[derive(Debug)]
pub struct IterMut<'a, K, V>(std::slice::IterMut<'a, (K, V)>);

/// Keys of a map, or things of a set, in order.
#[derive(Debug)]
pub struct Keys<'a, K, V>(std::slice::Iter<'a, (K, V)>);

/// The things of a set, in order, by value.
#[derive(Debug)]
pub struct IntoKeys<K>(std::vec::IntoIter<(K, ())>);

impl<K, V> Map<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All entries, in key order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.0.iter())
    }

    /// All entries, in key order, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.0.iter_mut())
    }

    /// All keys, sorted.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.0.iter())
    }

    /// All values, in key order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// All values, in key order, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// All keys, sorted, by value.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// All values, in key order, by value.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// The entry with the least key; `None` if the map is empty.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// The entry with the greatest key; `None` if the map is empty.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Removes the entry with the least key, and returns it; `None` if the map is empty.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Keeps the entries for which `keep` returns true, and removes the others. `keep` gets the entries in key order,
    /// and may change values.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> Map<K, V> {
    /// The index of a key; if the key is absent, the index where it belongs.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0
            .binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key; `None` if there is none.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&self.0[place].1)
    }

    /// The value of a key, to be changed; `None` if there is none.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&mut self.0[place].1)
    }

    /// The key in the map and its value; `None` if there is none.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = &self.0[self.place(key).ok()?];
        Some((key, value))
    }

    /// Whether a key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key; returns the value before, or `None` for a new key. If the key is in the map, the map
    /// keeps its own key object.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a key; returns its value, or `None` if there is none.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    /// The position of a key, whether it is in the map or not.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.place(&key) {
            Ok(place) => Entry::Occupied(OccupiedEntry {
                list: &mut self.0,
                place,
            }),
            Err(place) => Entry::Vacant(VacantEntry {
                list: &mut self.0,
                place,
                key,
            }),
        }
    }

    /// The entries whose keys lie in a range, in key order. There are none if the range ends before it begins, or
    /// excludes its one key at both ends. For such ranges the standard library's tree panics.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        // The index of the first entry at or after `key`; with `after`, of the first one after it.
        let place = |key: &Q, after: bool| match self.place(key) {
            Ok(place) => place + usize::from(after),
            Err(place) => place,
        };
        let start = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => place(key, false),
            Bound::Excluded(key) => place(key, true),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => self.0.len(),
            Bound::Included(key) => place(key, true),
            Bound::Excluded(key) => place(key, false),
        };
        Iter(self.0.get(start..end).unwrap_or_default().iter())
    }
}

impl<T> Set<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Map::new())
    }

    /// The number of things.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all things.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All things, sorted.
    #[must_use]
    pub fn iter(&self) -> Keys<'_, T, ()> {
        self.0.keys()
    }

    /// The least thing; `None` if the set is empty.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// The greatest thing; `None` if the set is empty.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// Removes the least thing, and returns it; `None` if the set is empty.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(thing, ())| thing)
    }

    /// Keeps the things for which `keep` returns true, and removes the others. `keep` gets the things in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|thing, ()| keep(thing));
    }
}

impl<T: Ord> Set<T> {
    /// Adds a thing; returns whether it is new. If the set has an equal thing, that thing stays.
    pub fn insert(&mut self, thing: T) -> bool {
        self.0.insert(thing, ()).is_none()
    }

    /// Removes a thing; returns whether it was in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, thing: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(thing).is_some()
    }

    /// Whether a thing is in the set.
    pub fn contains<Q: Ord + ?Sized>(&self, thing: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(thing)
    }

    /// The things in a range, sorted. There are none if the range ends before it begins, or excludes its one thing at
    /// both ends. For such ranges the standard library's tree panics.
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Keys<'_, T, ()>
    where
        T: Borrow<Q>,
    {
        Keys(self.0.range(range).0)
    }

    /// The things of this set that the other set does not hold, sorted.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|thing| !other.contains(*thing))
    }
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value of the key, to be changed; sets `value` first if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value of the key, to be changed; sets the result of `value` first if there is none. If there is a value,
    /// `value` is not called.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(value()),
        }
    }

    /// The value of the key, to be changed; sets the default first if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// The value of the key.
    #[must_use]
    pub fn get(&self) -> &V {
        &self.list[self.place].1
    }

    /// The value of the key, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.list[self.place].1
    }

    /// The value, to be changed while the map is borrowed.
    #[must_use]
    pub fn into_mut(self) -> &'a mut V {
        &mut self.list[self.place].1
    }

    /// Sets another value; returns the value before.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry; returns its value.
    pub fn remove(self) -> V {
        self.list.remove(self.place).1
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Adds the key with this value; returns the value, to be changed.
    pub fn insert(self, value: V) -> &'a mut V {
        self.list.insert(self.place, (self.key, value));
        &mut self.list[self.place].1
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, V> Iterator for Keys<'a, K, V> {
    type Item = &'a K;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, _)| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Keys<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, _)| key)
    }
}

impl<K, V> ExactSizeIterator for Keys<'_, K, V> {}

impl<K, V> Clone for Keys<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Iterator for IntoKeys<K> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, ())| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut Map<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = IntoKeys<T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoKeys(self.0.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a Set<T> {
    type Item = &'a T;
    type IntoIter = Keys<'a, T, ()>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<T: Ord> Extend<T> for Set<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, things: I) {
        for thing in things {
            self.insert(thing);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(things: I) -> Self {
        let mut set = Self::new();
        set.extend(things);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for Set<T> {
    fn from(things: [T; N]) -> Self {
        things.into_iter().collect()
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

/// The value of an existing key; panics if there is none.
impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for Map<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is there")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_holds_what_a_tree_would_hold(steps in prop::collection::vec((0..7_u8, 0..40_u8, any::<u8>()), 0..200)) {
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            for (what, key, value) in steps {
                match what {
                    0 | 1 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    2 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    3 => prop_assert_eq!(map.pop_first(), tree.pop_first()),
                    4 => {
                        *map.entry(key).or_insert(value) ^= 1;
                        *tree.entry(key).or_insert(value) ^= 1;
                    }
                    5 => {
                        map.retain(|key, held| *key != value && *held != value);
                        tree.retain(|key, held| *key != value && *held != value);
                    }
                    _ => {
                        let to = key.max(value);
                        prop_assert!(map.range(key..to).eq(tree.range(key..to)));
                        prop_assert!(map.range(..=key).rev().eq(tree.range(..=key).rev()));
                        let after = (Bound::Excluded(key), Bound::Unbounded);
                        prop_assert!(map.range(after).eq(tree.range(after)));
                    }
                }
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!(map.first_key_value(), tree.first_key_value());
                prop_assert_eq!(map.last_key_value(), tree.last_key_value());
                prop_assert!(map.iter().eq(tree.iter()));
            }
            prop_assert_eq!(map.len(), tree.len());
            prop_assert_eq!(format!("{map:?}"), format!("{tree:?}"));
            prop_assert_eq!(tree.into_iter().rev().collect::<Map<_, _>>(), map);
        }

        #[test]
        fn a_set_holds_what_a_tree_would_hold(one in prop::collection::vec(0..40_u8, 0..60), other in prop::collection::vec(0..40_u8, 0..60)) {
            let (mut set, mut tree) = (one.iter().copied().collect::<Set<_>>(), one.into_iter().collect::<BTreeSet<_>>());
            let (others, other_tree) = (other.iter().copied().collect::<Set<_>>(), other.into_iter().collect::<BTreeSet<_>>());
            prop_assert!(set.difference(&others).eq(tree.difference(&other_tree)));
            prop_assert!(set.range(7..30).eq(tree.range(7..30)));
            prop_assert_eq!(set.insert(5), tree.insert(5));
            prop_assert_eq!(set.remove(&9), tree.remove(&9));
            prop_assert_eq!(set.first(), tree.first());
            prop_assert_eq!(set.last(), tree.last());
            prop_assert_eq!(format!("{set:?}"), format!("{tree:?}"));
            prop_assert!(set.into_iter().eq(tree));
        }
    }
}
