//! `InlineList`: a list of at most `N` values that is `Copy` and uses no heap memory.

use std::ops::{Deref, DerefMut};

/// A list of at most `N` values. One value more is a panic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InlineList<T, const N: usize> {
    count: u8,
    items: [T; N],
}

impl<T: Copy + Default, const N: usize> InlineList<T, N> {
    /// Makes a list of `count` equal values.
    pub fn repeated(value: T, count: usize) -> InlineList<T, N> {
        debug_assert!(count <= N);
        InlineList { count: count as u8, items: [value; N] }
    }

    pub fn push(&mut self, value: T) {
        self.items[self.count as usize] = value;
        self.count += 1;
    }
}

impl<T: Copy + Default, const N: usize> Default for InlineList<T, N> {
    fn default() -> InlineList<T, N> {
        InlineList { count: 0, items: [T::default(); N] }
    }
}

impl<T: Copy + Default, const N: usize> From<&[T]> for InlineList<T, N> {
    fn from(values: &[T]) -> InlineList<T, N> {
        let mut items = [T::default(); N];
        items[..values.len()].copy_from_slice(values);
        InlineList { count: values.len() as u8, items }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for InlineList<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> InlineList<T, N> {
        let mut list = InlineList::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<T, const N: usize> Deref for InlineList<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.count as usize]
    }
}

impl<T, const N: usize> DerefMut for InlineList<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.count as usize]
    }
}
