//! `List`: a few values that are copied as a whole.

use std::ops::{Deref, DerefMut};

/// At most `N` values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct List<T, const N: usize> {
    count: u8,
    items: [T; N],
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    /// So many times the same.
    pub fn repeated(value: T, count: usize) -> List<T, N> {
        debug_assert!(count <= N);
        List { count: count as u8, items: [value; N] }
    }

    pub fn push(&mut self, value: T) {
        self.items[self.count as usize] = value;
        self.count += 1;
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> List<T, N> {
        List { count: 0, items: [T::default(); N] }
    }
}

impl<T: Copy + Default, const N: usize> From<&[T]> for List<T, N> {
    fn from(values: &[T]) -> List<T, N> {
        let mut items = [T::default(); N];
        items[..values.len()].copy_from_slice(values);
        List { count: values.len() as u8, items }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> List<T, N> {
        let mut list = List::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.count as usize]
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.count as usize]
    }
}
