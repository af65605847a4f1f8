//! Heaps and sorts that take equal items in the order in which TensorFlow's kernels take them.
//!
//! TensorFlow keeps candidates in binary heaps, and sorts them by quicksort. Neither keeps the order of equal items.
//! The algorithms here visit items in the same order.

/// A binary heap whose root has the greatest score. The children of item `i` are items `2 i + 1` and `2 i + 2`.
pub(crate) struct ScoreHeap(Vec<(f32, usize)>);

impl ScoreHeap {
    /// Makes an empty heap of `items`, an empty vector with capacity for all items.
    pub(crate) fn new(items: Vec<(f32, usize)>) -> ScoreHeap {
        ScoreHeap(items)
    }

    /// Adds a score and its number.
    pub(crate) fn push(&mut self, score: f32, number: usize) {
        self.0.push((score, number));
        let last = self.0.len() - 1;
        rise(&mut self.0, last, 0, (score, number), |a, b| a.0 < b.0);
    }

    /// Takes the greatest score and its number out.
    pub(crate) fn pop(&mut self) -> Option<(f32, usize)> {
        let last = self.0.pop()?;
        let Some(root) = self.0.first().copied() else { return Some(last) };
        sink(&mut self.0, 0, last, |a, b| a.0 < b.0);
        Some(root)
    }
}

/// Moves ancestors of the hole that are less than `item` down, up to index `top`, and puts `item` into the hole.
fn rise<T: Copy>(heap: &mut [T], mut hole: usize, top: usize, item: T, less: impl Fn(&T, &T) -> bool) {
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(&heap[parent], &item) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = item;
}

/// Moves the greater child into the hole until the hole is a leaf, and lets `item` rise from there. Of equal children,
/// the second one moves.
fn sink<T: Copy>(heap: &mut [T], top: usize, item: T, less: impl Fn(&T, &T) -> bool) {
    let (count, mut hole) = (heap.len(), top);
    while 2 * hole + 1 < count {
        let second = 2 * hole + 2;
        let child =
            if second == count || less(&heap[second], &heap[second - 1]) { second - 1 } else { second };
        heap[hole] = heap[child];
        hole = child;
    }
    rise(heap, hole, top, item, less);
}

/// Parts of at most this number of items are sorted by insertion.
const SMALL: usize = 16;

/// Sorts items by a quicksort whose pivot is the median of the second, the middle and the last item. A part that was
/// split too often is sorted by a heap.
pub(crate) fn sort<T: Copy>(items: &mut [T], comes_first: impl Fn(&T, &T) -> bool + Copy) {
    let most_splits = 2 * items.len().checked_ilog2().unwrap_or(0);
    split(items, most_splits, comes_first);
    for next in 1..items.len() {
        let item = items[next];
        let before = items[..next].iter().rposition(|other| !comes_first(&item, other));
        let index = before.map_or(0, |before| before + 1);
        items.copy_within(index..next, index + 1);
        items[index] = item;
    }
}

/// Splits items until the parts are small. Every item of a part comes before or equals every item of the next part.
fn split<T: Copy>(mut items: &mut [T], mut splits: u32, comes_first: impl Fn(&T, &T) -> bool + Copy) {
    while items.len() > SMALL {
        if splits == 0 {
            return sort_by_heap(items, comes_first);
        }
        splits -= 1;
        let middle = items.len() / 2;
        let pivot = median([1, middle, items.len() - 1], |a, b| comes_first(&items[a], &items[b]));
        items.swap(0, pivot);
        let (mut low, mut high) = (1, items.len());
        let pivot = items[0];
        let cut = loop {
            while comes_first(&items[low], &pivot) {
                low += 1;
            }
            high -= 1;
            while comes_first(&pivot, &items[high]) {
                high -= 1;
            }
            if low >= high {
                break low;
            }
            items.swap(low, high);
            low += 1;
        };
        let (first, second) = items.split_at_mut(cut);
        split(second, splits, comes_first);
        items = first;
    }
}

/// Returns the index of the median of three items.
fn median([a, b, c]: [usize; 3], comes_first: impl Fn(usize, usize) -> bool) -> usize {
    match (comes_first(a, b), comes_first(b, c), comes_first(a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    }
}

fn sort_by_heap<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    make_heap(items, &less);
    unheap(items, less);
}

fn make_heap<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    for top in (0..items.len() / 2).rev() {
        let item = items[top];
        sink(items, top, item, &less);
    }
}

/// Sorts the items of a heap from the least to the greatest.
fn unheap<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    for last in (1..items.len()).rev() {
        let (item, greatest) = (items[last], items[0]);
        sink(&mut items[..last], 0, item, &less);
        items[last] = greatest;
    }
}

/// The greatest of many items, at most `limit` of them. An item is given as a number; `comes_first` compares two items.
///
/// The items are a list up to the limit. Then they are a heap whose root is the least item.
pub(crate) struct Greatest {
    limit: usize,
    items: Vec<usize>,
    is_heap: bool,
    /// Whether the least item of the list is its first item.
    least_is_first: bool,
}

impl Greatest {
    pub(crate) fn new(limit: usize) -> Greatest {
        Greatest { limit, items: Vec::new(), is_heap: false, least_is_first: false }
    }

    /// Returns the items, in the order in which they lie.
    pub(crate) fn items(&self) -> &[usize] {
        &self.items
    }

    pub(crate) fn is_full(&self) -> bool {
        self.items.len() == self.limit
    }

    /// Returns the least item.
    pub(crate) fn least(&mut self, comes_first: impl Fn(&usize, &usize) -> bool) -> Option<usize> {
        if !self.is_heap && !self.least_is_first && !self.items.is_empty() {
            let candidates = 1..self.items.len();
            let least = candidates.fold(0, |least, place| {
                if comes_first(&self.items[least], &self.items[place]) { place } else { least }
            });
            self.items.swap(0, least);
            self.least_is_first = true;
        }
        self.items.first().copied()
    }

    /// Adds an item. If there are more items than the limit, drops the least one.
    pub(crate) fn push(&mut self, item: usize, comes_first: impl Fn(&usize, &usize) -> bool) {
        if self.is_heap {
            if self.items.first().is_some_and(|least| comes_first(&item, least)) {
                sink(&mut self.items, 0, item, comes_first);
            }
            return;
        }
        self.items.push(item);
        let last = self.items.len() - 1;
        if self.least_is_first && !comes_first(&item, &self.items[0]) {
            self.items.swap(0, last);
        }
        if self.items.len() > self.limit {
            make_heap(&mut self.items, &comes_first);
            if let Some(last) = self.items.pop().filter(|_| !self.items.is_empty()) {
                sink(&mut self.items, 0, last, comes_first);
            }
            self.is_heap = true;
        }
    }

    /// Takes all items out, from the greatest to the least.
    pub(crate) fn take(&mut self, comes_first: impl Fn(&usize, &usize) -> bool + Copy) -> Vec<usize> {
        let mut items = std::mem::take(&mut self.items);
        match self.is_heap {
            true => unheap(&mut items, comes_first),
            false => sort(&mut items, comes_first),
        }
        (self.is_heap, self.least_is_first) = (false, false);
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted() {
        let mut state = 1u32;
        for count in [0, 1, 2, 15, 16, 17, 100, 5000] {
            for kinds in [1, 3, 1 << 15] {
                let mut items: Vec<u32> = (0..count)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> 16) % kinds
                    })
                    .collect();
                let mut expected = items.clone();
                expected.sort_unstable_by(|a, b| b.cmp(a));
                let mut by_heap = items.clone();
                sort_by_heap(&mut by_heap, |a, b| a > b);
                sort(&mut items, |a, b| a > b);
                assert_eq!(items, expected);
                assert_eq!(by_heap, expected);
            }
        }
    }

    /// The order was recorded from TensorFlow, for 40 boxes of one class with equal scores.
    #[test]
    fn equal_scores_are_visited_as_tensorflow_does() {
        let mut heap = ScoreHeap::new(Vec::new());
        for number in 0..40 {
            heap.push(0.5, number);
        }
        let mut items: Vec<(f32, usize)> = std::iter::from_fn(|| heap.pop()).collect();
        sort(&mut items, |a, b| a.0 > b.0);
        let order: Vec<usize> = items.into_iter().map(|(_, number)| number).collect();
        let expected = [
            12, 22, 21, 20, 19, 18, 17, 16, 13, 15, 23, 11, 10, 9, 8, 5, 7, 4, 1, 3, 34, 2, 6, 14, 30, 39,
            38, 37, 36, 35, 0, 33, 32, 29, 31, 28, 27, 26, 25, 24,
        ];
        assert_eq!(order, expected);
    }
}
