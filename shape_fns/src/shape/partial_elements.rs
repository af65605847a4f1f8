//! [`PartialElements`]: the elements of a small integer tensor, as far as they are known.

use std::fmt;

use smallvec::SmallVec;

use crate::error::bail;
use crate::{Dim, Result, Symbol, TensorShape, counted};

/// The elements of a small integer or bool tensor. Each element is known, an expression over symbols, or a symbol of
/// kind [`Integer`](crate::SymbolKind::Integer), which may be negative. Bools are 0 and 1.
///
/// The sizes are known, and the elements are in row-major order. An operand with such elements is *tracked*. Shape
/// functions track at most [`PartialElements::MAX`] elements; the elements of larger outputs are dropped.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PartialElements {
    sizes: SmallVec<[usize; 2]>,
    elements: Box<[Dim]>,
}

impl PartialElements {
    /// The greatest number of elements that shape functions track.
    pub const MAX: usize = 4096;

    /// Makes a scalar.
    pub fn scalar(element: Dim) -> PartialElements {
        PartialElements { sizes: SmallVec::new(), elements: Box::new([element]) }
    }

    /// Makes a vector.
    pub fn vector(elements: impl IntoIterator<Item = Dim>) -> PartialElements {
        let elements: Box<[Dim]> = elements.into_iter().collect();
        PartialElements { sizes: SmallVec::from_iter([elements.len()]), elements }
    }

    /// Makes a tensor of the given sizes from its elements in row-major order.
    ///
    /// # Errors
    /// The sizes do not multiply to the number of elements.
    pub fn with_sizes(sizes: &[usize], elements: impl IntoIterator<Item = Dim>) -> Result<PartialElements> {
        let elements: Box<[Dim]> = elements.into_iter().collect();
        let product = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if product != Some(elements.len()) {
            bail!(
                "sizes must multiply to the number of elements, got {sizes:?} and {}",
                counted(elements.len(), "element")
            );
        }
        Ok(PartialElements { sizes: SmallVec::from_slice(sizes), elements })
    }

    /// Makes a vector of numbers.
    pub fn known(elements: &[i64]) -> PartialElements {
        PartialElements::vector(elements.iter().copied().map(Dim::known))
    }

    /// Returns the sizes of the axes; a scalar has no sizes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the number of axes.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the sizes as a shape.
    pub fn shape(&self) -> TensorShape {
        TensorShape::from(self.sizes.as_slice())
    }

    /// Returns the elements in row-major order.
    pub fn elements(&self) -> &[Dim] {
        &self.elements
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns the element at `position` in row-major order.
    pub fn get(&self, position: usize) -> Option<&Dim> {
        self.elements.get(position)
    }

    /// Returns the elements if all are numbers.
    pub fn as_known(&self) -> Option<Vec<i64>> {
        self.elements.iter().map(Dim::as_known).collect()
    }

    /// Returns whether all elements are numbers.
    pub fn is_known(&self) -> bool {
        self.elements.iter().all(Dim::is_known)
    }

    /// Returns the tensor with every element mapped by `f`.
    pub(crate) fn map(&self, f: impl FnMut(&Dim) -> Dim) -> PartialElements {
        PartialElements { sizes: self.sizes.clone(), elements: self.elements.iter().map(f).collect() }
    }

    /// Replaces every symbol `s` for which `f(s)` is `Some`. An element becomes invalid if the arithmetic fails.
    #[must_use]
    pub fn substitute(&self, f: &mut dyn FnMut(Symbol) -> Option<Dim>) -> PartialElements {
        self.map(|element| element.substitute(f))
    }
}

/// Writes a scalar as its element and everything else as a list: `[2, n, ?]`.
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
        write!(f, "{self}")
    }
}
