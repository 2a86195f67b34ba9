//! A map in key order for small numbers of entries.
//!
//! The map replaces the standard library's tree. The tree's balancing code is compiled once per type of entry. That
//! code was a tenth of the page's code for its first paint.

use std::borrow::Borrow;
use std::ops::Index;

/// A map in key order: a sorted list, searched by bisection.
///
/// A new entry with the greatest key is appended. For any other new key, the entries after it move. With the keys of
/// this crate that is 16 to 24 bytes each on a host of 64 bits. The map suits thousands of entries and is acceptable at
/// 100,000. Nothing here bounds the number of entries; the code that inserts must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map<K, V>(Vec<(K, Box<V>)>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Map<K, V> {
    /// The bytes of an entry in memory, without its boxed value. A decoder charges these bytes to its budget.
    pub(crate) const ENTRY_BYTES: usize = size_of::<(K, Box<V>)>();

    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
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

    /// All entries, in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.0.iter().map(|(key, value)| (key, &**value))
    }

    /// All keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// All values, in key order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| &**value)
    }

    /// All values, in key order, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| &mut **value)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<K: Ord, V> Map<K, V> {
    /// The index of a key; if the key is absent, the index where it belongs.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self
                .0
                .binary_search_by(|(other, _)| other.borrow().cmp(key)),
        }
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

    /// Whether a key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key. A value that the key had is replaced; the key object in the map stays.
    pub fn insert(&mut self, key: K, value: V) {
        let value = Box::new(value);
        match self.place(&key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// Gives each value the key that `key` computes from its old key and the value. If two values get the same key, the
    /// later one replaces the earlier.
    pub(crate) fn rekey(&mut self, mut key: impl FnMut(K, &mut V) -> K) {
        for (old, mut value) in std::mem::take(&mut self.0) {
            let new = key(old, &mut value);
            match self.place(&new) {
                Ok(place) => self.0[place].1 = value,
                Err(place) => self.0.insert(place, (new, value)),
            }
        }
    }

    /// Removes a key; returns its value, or `None` if there is none.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(*self.0.remove(place).1)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter =
        std::iter::Map<std::slice::Iter<'a, (K, Box<V>)>, fn(&'a (K, Box<V>)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

/// The value of an existing key.
///
/// # Panics
/// If the key has no value.
impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for Map<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is there")
    }
}

/// A sorted set for a few things: a list, searched by bisection, in which an insertion moves the things after the new
/// one. Nothing here bounds their number; the code that inserts must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set<T>(Vec<T>);

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Ord> Set<T> {
    /// Adds a thing, unless it is already in the set.
    pub fn insert(&mut self, thing: T) {
        if let Err(place) = self.0.binary_search(&thing) {
            self.0.insert(place, thing);
        }
    }

    /// Whether a thing is in the set.
    pub fn contains(&self, thing: &T) -> bool {
        self.0.binary_search(thing).is_ok()
    }

    /// All things, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Adds all things of another set; a thing that is in both sets is in the result once.
    pub fn merge(&mut self, other: Self) {
        for thing in other.0 {
            self.insert(thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_tree_would_hold(steps in prop::collection::vec((any::<bool>(), 0..40_u8, any::<u8>()), 0..200)) {
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            for (inserts, key, value) in steps {
                if inserts {
                    map.insert(key, value);
                    tree.insert(key, value);
                } else {
                    prop_assert_eq!(map.remove(&key), tree.remove(&key));
                }
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert!(map.iter().eq(tree.iter()));
            }
            prop_assert_eq!(map.len(), tree.len());
            prop_assert_eq!(tree.into_iter().rev().collect::<Map<_, _>>(), map);
        }
    }
}
