//! [`ListItems`]: what the import knows about the items of a tensor list.

use shapeflow_shape_fns::TensorShape;

/// The number of levels of lists in lists whose items the import knows. A loop can nest lists without end.
const MAX_DEPTH: usize = 8;

/// What the import knows about the items of a list.
#[derive(Clone, Debug)]
pub(super) struct ListItems {
    /// The shape of the items as far as it is known: a number or an unknown for each axis.
    pub shape: TensorShape,
    /// The items that are lists.
    pub lists: ItemLists,
}

/// What the import knows about the items of a list that are lists.
#[derive(Clone, Debug)]
pub(super) enum ItemLists {
    /// No item is a list yet.
    None,
    /// All items that are lists have these items.
    Of(Box<ListItems>),
    /// Nothing is known.
    Unknown,
}

impl ListItems {
    pub(super) const fn unknown() -> ListItems {
        ListItems { shape: TensorShape::unranked(), lists: ItemLists::Unknown }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.shape.rank().is_none() && matches!(self.lists, ItemLists::Unknown)
    }

    /// Returns what is true of a list with these items, and of a list with the items `other`.
    pub(super) fn common(&self, other: &ListItems) -> ListItems {
        let shape = self.shape.most_specific_compatible_shape(&other.shape);
        ListItems { shape, lists: self.lists.common(&other.lists) }
    }

    /// Returns whether both say the same.
    pub(super) fn is_same(&self, other: &ListItems) -> bool {
        let is_same_list = match (&self.lists, &other.lists) {
            (ItemLists::Of(a), ItemLists::Of(b)) => a.is_same(b),
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        is_same_list && self.shape.is_subtype_of(&other.shape) && other.shape.is_subtype_of(&self.shape)
    }

    /// Returns the number of levels of lists.
    fn depth(&self) -> usize {
        match &self.lists {
            ItemLists::Of(items) => 1 + items.depth(),
            ItemLists::None | ItemLists::Unknown => 1,
        }
    }
}

impl ItemLists {
    /// The items of a list whose items are lists with `items`.
    pub(super) fn of(items: ListItems) -> ItemLists {
        match items.depth() < MAX_DEPTH {
            true => ItemLists::Of(Box::new(items)),
            false => ItemLists::Unknown,
        }
    }

    /// As [`ListItems::common`].
    pub(super) fn common(&self, other: &ItemLists) -> ItemLists {
        match (self, other) {
            (ItemLists::None, lists) | (lists, ItemLists::None) => lists.clone(),
            (ItemLists::Of(a), ItemLists::Of(b)) => ItemLists::of(a.common(b)),
            _ => ItemLists::Unknown,
        }
    }
}
