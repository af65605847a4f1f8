//! [`TensorList`]: a list of tensors, which is one element of a variant tensor.

use std::sync::Arc;

use shapeflow_shape_fns::DType;

use super::Tensor;

/// The number of children of a node.
const WIDTH: usize = 16;

/// A list of tensors of one dtype. An item is absent until something sets it: the list has a place for the item, but no
/// tensor.
///
/// The items are the leaves of a tree that clones share. Setting an item copies those nodes on the path to the item
/// that other clones share. The copies cost at most `O(log n)`, so a loop may set every item of a list even if the list
/// has clones.
#[derive(Clone, Debug)]
pub(crate) struct TensorList {
    pub dtype: DType,
    /// The declared sizes of every item, each `None` if it is unknown; `None` for an unknown rank.
    pub shape: Option<Vec<Option<usize>>>,
    /// The greatest length that appending items may give the list.
    pub limit: Option<usize>,
    /// Whether the list grows when an item after its end is set.
    pub grows: bool,
    root: Option<Arc<ListNode>>,
    /// The number of levels of the tree.
    height: u32,
    len: usize,
    /// An upper bound of the nesting depth: 1 if no item holds lists.
    depth: usize,
}

#[derive(Clone, Debug)]
enum ListNode {
    Leaf([Option<Arc<Tensor>>; WIDTH]),
    Branch([Option<Arc<ListNode>>; WIDTH]),
}

impl ListNode {
    /// Makes a node without children whose items are `level` levels below it. A leaf holds items: its level is 0.
    fn empty(level: u32) -> ListNode {
        if level == 0 { ListNode::Leaf(Default::default()) } else { ListNode::Branch(Default::default()) }
    }
}

impl TensorList {
    /// Makes a list of `len` absent items.
    pub(crate) fn new(dtype: DType, shape: Option<Vec<Option<usize>>>, len: usize) -> TensorList {
        let mut list =
            TensorList { dtype, shape, limit: None, grows: false, root: None, height: 0, len: 0, depth: 1 };
        list.grow(len);
        list
    }

    /// Makes a list of items.
    pub(crate) fn of(dtype: DType, shape: Option<Vec<Option<usize>>>, items: Vec<Tensor>) -> TensorList {
        let mut list = TensorList::new(dtype, shape, items.len());
        for (index, item) in items.into_iter().enumerate() {
            list.set(index, item);
        }
        list
    }

    /// Returns an upper bound of the nesting depth, which is 1 for a list whose items hold no lists. The bound also
    /// counts items that have left the list.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns an item; `None` if the item is absent or the index is not below the length.
    pub(crate) fn get(&self, index: usize) -> Option<&Tensor> {
        let mut node = self.root.as_deref().filter(|_| index < self.len)?;
        for level in (0..self.height).rev() {
            let child = child_of(index, level);
            match node {
                ListNode::Leaf(items) => return items[child].as_deref(),
                ListNode::Branch(children) => node = children[child].as_deref()?,
            }
        }
        None
    }

    /// Sets an item.
    ///
    /// # Panics
    /// The index is not below the length.
    pub(crate) fn set(&mut self, index: usize, item: Tensor) {
        assert!(index < self.len, "a list of {} items has no item {index}", self.len);
        self.depth = self.depth.max(1 + item.view().list_depth());
        self.replace(index, Some(Arc::new(item)));
    }

    /// Appends an item.
    pub(crate) fn push(&mut self, item: Tensor) {
        self.grow(self.len + 1);
        self.set(self.len - 1, item);
    }

    /// Changes the number of items. A new item has no tensor yet: it is absent.
    pub(crate) fn resize(&mut self, len: usize) {
        if len < self.len {
            // An item that leaves the list must not come back when the list grows again.
            if let Some(top) = self.height.checked_sub(1) {
                truncate(&mut self.root, top, len);
            }
            self.len = len;
        }
        self.grow(len);
    }

    /// Returns the items in order. The time is proportional to the length, see [`TensorList::present`].
    pub(crate) fn items(&self) -> impl Iterator<Item = Option<&Tensor>> {
        (0..self.len).map(|index| self.get(index))
    }

    /// Returns the items that are present, with their indices in ascending order. The time does not depend on the
    /// number of absent items.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        // The path to the next item. An entry is a node, its level, the index of its first item, and its next child.
        let mut path: Vec<(&ListNode, u32, usize, usize)> = Vec::new();
        path.extend(self.root.as_deref().map(|root| (root, self.height - 1, 0, 0)));
        std::iter::from_fn(move || {
            loop {
                let (node, level, first, next) = path.last_mut()?;
                if *next == WIDTH {
                    path.pop();
                    continue;
                }
                let (node, child, level) = (*node, *next, *level);
                *next += 1;
                // The index of the first item below the child.
                let first = *first + child * WIDTH.pow(level);
                match node {
                    ListNode::Leaf(items) => {
                        if let Some(item) = items[child].as_deref() {
                            return Some((first, item));
                        }
                    }
                    ListNode::Branch(children) => {
                        path.extend(children[child].as_deref().map(|child| (child, level - 1, first, 0)));
                    }
                }
            }
        })
    }

    /// Lengthens the list to `len` items, if the list has fewer items. The new items have no tensors yet.
    fn grow(&mut self, len: usize) {
        self.len = self.len.max(len);
        let capacity = |height: u32| WIDTH.checked_pow(height).unwrap_or(usize::MAX);
        while capacity(self.height) < self.len || self.height == 0 {
            if let Some(root) = self.root.take() {
                let mut children: [Option<Arc<ListNode>>; WIDTH] = Default::default();
                children[0] = Some(root);
                self.root = Some(Arc::new(ListNode::Branch(children)));
            }
            self.height += 1;
        }
    }

    fn replace(&mut self, index: usize, item: Option<Arc<Tensor>>) {
        let top = self.height - 1;
        let mut node = Arc::make_mut(self.root.get_or_insert_with(|| Arc::new(ListNode::empty(top))));
        for level in (0..self.height).rev() {
            let child = child_of(index, level);
            match node {
                ListNode::Leaf(items) => {
                    items[child] = item;
                    return;
                }
                ListNode::Branch(children) => {
                    let next = children[child].get_or_insert_with(|| Arc::new(ListNode::empty(level - 1)));
                    node = Arc::make_mut(next);
                }
            }
        }
    }
}

/// Removes the items of a node except its first `len` items. The items are `level` levels below the node.
fn truncate(node: &mut Option<Arc<ListNode>>, level: u32, len: usize) {
    if len == 0 {
        *node = None;
    }
    let Some(node) = node else { return };
    // The number of items below each child.
    let width = WIDTH.pow(level);
    let (partial, kept) = (len / width, len % width);
    if partial >= WIDTH {
        return;
    }
    match Arc::make_mut(node) {
        ListNode::Leaf(items) => items[partial..].fill(None),
        ListNode::Branch(children) => {
            truncate(&mut children[partial], level - 1, kept);
            children[partial + 1..].fill(None);
        }
    }
}

/// Returns the index of the child that leads to an item. The child's parent is `level` levels above the items.
fn child_of(index: usize, level: u32) -> usize {
    index / WIDTH.pow(level) % WIDTH
}

/// Compares dtypes, declared sizes and items.
impl PartialEq for TensorList {
    fn eq(&self, other: &TensorList) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.len == other.len
            && self.present().eq(other.present())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_behave_as_vectors() {
        let mut list = TensorList::new(DType::I32, None, 0);
        let mut expected: Vec<Option<i32>> = Vec::new();
        let mut clones: Vec<(TensorList, Vec<Option<i32>>)> = Vec::new();
        for step in 0..2000i32 {
            match step % 7 {
                0..=3 => {
                    list.push(Tensor::scalar(step));
                    expected.push(Some(step));
                }
                4 => {
                    let index = (step as usize * 31) % expected.len();
                    list.set(index, Tensor::scalar(-step));
                    expected[index] = Some(-step);
                }
                5 if step % 5 == 0 => clones.push((list.clone(), expected.clone())),
                _ => {
                    let len = (expected.len() + step as usize % 5).saturating_sub(3);
                    list.resize(len);
                    expected.resize(len, None);
                }
            }
        }
        clones.push((list, expected));
        for (list, expected) in clones {
            let items: Vec<Option<i32>> =
                list.items().map(|item| item.map(|item| item.item::<i32>().unwrap())).collect();
            assert_eq!((items, list.len()), (expected.clone(), expected.len()));
            let present = list.present().map(|(index, item)| (index, item.item::<i32>().unwrap()));
            let expected = expected.iter().enumerate().filter_map(|(index, item)| Some((index, (*item)?)));
            assert!(present.eq(expected));
        }
        assert_eq!(TensorList::new(DType::F32, None, usize::MAX).get(usize::MAX - 1), None);
    }

    #[test]
    fn absent_items_take_no_time() {
        let mut list = TensorList::new(DType::I32, None, usize::MAX);
        for index in [7, 1 << 40, usize::MAX - 1] {
            list.set(index, Tensor::scalar(1));
        }
        let indices = |list: &TensorList| list.present().map(|(index, _)| index).collect::<Vec<_>>();
        assert_eq!(indices(&list), [7, 1 << 40, usize::MAX - 1]);
        let whole = list.clone();
        assert_eq!(list, whole);
        list.resize((1 << 40) + 1);
        list.resize(usize::MAX);
        assert_eq!(indices(&list), [7, 1 << 40]);
        assert_ne!(list, whole);
        list.resize(7);
        list.resize(1 << 40);
        assert!(indices(&list).is_empty());
        list.resize(0);
        list.push(Tensor::scalar(2));
        assert_eq!(indices(&list), [0]);
        assert_eq!(indices(&whole), [7, 1 << 40, usize::MAX - 1]);
    }
}
