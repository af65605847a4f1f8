//! [`PartialElements`]: the elements of a small integer tensor, as far as they are known.

use std::fmt;

use smallvec::SmallVec;

use crate::error::bail;
use crate::{Dim, Result, Symbol, TensorShape};

/// The elements of a small integer or bool tensor: each one known, an expression over symbols, or a symbol of kind
/// [`Integer`](crate::SymbolKind::Integer) that may be negative. Bools are 0 and 1.
///
/// Sizes are known, elements stand in row-major order. Shape functions keep at most [`PartialElements::MAX`] of them:
/// longer outputs are dropped.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PartialElements {
    sizes: SmallVec<[usize; 2]>,
    elements: Box<[Dim]>,
}

impl PartialElements {
    /// The most elements that are followed.
    pub const MAX: usize = 4096;

    /// One element, of rank 0.
    pub fn scalar(element: Dim) -> PartialElements {
        PartialElements { sizes: SmallVec::new(), elements: Box::new([element]) }
    }

    /// A vector of these elements.
    pub fn vector(elements: impl IntoIterator<Item = Dim>) -> PartialElements {
        let elements: Box<[Dim]> = elements.into_iter().collect();
        PartialElements { sizes: SmallVec::from_iter([elements.len()]), elements }
    }

    /// Elements in row-major order of a tensor of these sizes.
    ///
    /// # Errors
    /// The sizes do not multiply to the number of elements.
    pub fn with_sizes(sizes: &[usize], elements: impl IntoIterator<Item = Dim>) -> Result<PartialElements> {
        let elements: Box<[Dim]> = elements.into_iter().collect();
        let product = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if product != Some(elements.len()) {
            bail!(
                "sizes must multiply to the number of elements, got {sizes:?} and {} elements",
                elements.len()
            );
        }
        Ok(PartialElements { sizes: SmallVec::from_slice(sizes), elements })
    }

    /// The vector of these numbers.
    pub fn known(elements: &[i64]) -> PartialElements {
        PartialElements::vector(elements.iter().copied().map(Dim::known))
    }

    /// The sizes of the axes; none for a scalar.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The sizes as a shape.
    pub fn shape(&self) -> TensorShape {
        TensorShape::from(self.sizes.as_slice())
    }

    /// Elements in row-major order.
    pub fn elements(&self) -> &[Dim] {
        &self.elements
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Element `position` in row-major order.
    pub fn get(&self, position: usize) -> Option<&Dim> {
        self.elements.get(position)
    }

    /// Every element, where all are numbers.
    pub fn as_known(&self) -> Option<Vec<i64>> {
        self.elements.iter().map(Dim::as_known).collect()
    }

    /// Whether all elements are numbers.
    pub fn is_known(&self) -> bool {
        self.elements.iter().all(Dim::is_known)
    }

    /// The same sizes with every element replaced.
    pub(crate) fn map(&self, f: impl FnMut(&Dim) -> Dim) -> PartialElements {
        PartialElements { sizes: self.sizes.clone(), elements: self.elements.iter().map(f).collect() }
    }

    /// Every element with the symbols that `f` answers replaced; an element becomes invalid where arithmetic fails.
    #[must_use]
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> PartialElements {
        self.map(|element| element.substitute(f))
    }
}

/// A scalar as its element, everything else as a list: `[2, n, ?]`.
impl fmt::Display for PartialElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = crate::dim::display::Anonymous::of(&self.elements, f.alternate());
        if let ([], [element]) = (&self.sizes[..], &self.elements[..]) {
            return crate::dim::display::write_dim(f, element, &names);
        }
        f.write_str("[")?;
        for (position, element) in self.elements.iter().enumerate() {
            f.write_str(if position > 0 { ", " } else { "" })?;
            crate::dim::display::write_dim(f, element, &names)?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for PartialElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}
