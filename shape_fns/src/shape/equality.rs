//! Equality of shapes: structural equality, and the equality rules of TensorFlow 1.15, TensorFlow 2 and TensorFlow
//! Java.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::dim::symbol::Symbol;
use crate::{Dim, TensorShape};

impl TensorShape {
    /// Returns `Some(true)` if the two shapes are equal for all values of their symbols, `Some(false)` if they differ
    /// for all values, and `None` if neither is proven. The result is the equality of `tf.TensorShape` in 1.15, where
    /// an unknown dimension is neither equal nor unequal.
    ///
    /// An unknown rank is neither equal nor unequal to anything. A symbol is equal to itself.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, 3].same(&shape![2, 3]), Some(true));
    /// assert_eq!(shape![2, ?].same(&shape![3, ?]), Some(false));
    /// assert_eq!(shape![2, ?].same(&shape![2, ?]), None);
    /// assert_eq!(shape![2, "n"].same(&shape![2, "n"]), Some(true));
    /// ```
    pub fn same(&self, other: &TensorShape) -> Option<bool> {
        let (a, b) = (self.dims()?, other.dims()?);
        if a.len() != b.len() {
            return Some(false);
        }
        let mut all = Some(true);
        for (x, y) in a.iter().zip(b) {
            match x.same(y) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    /// Returns whether the two shapes have the same numbers at the same axes, whatever their symbols. The result is the
    /// equality of `tf.TensorShape` in 2.x, where an unknown rank equals an unknown rank and an unknown dimension
    /// equals an unknown dimension.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert!(shape![1, ?].equals_v2(&shape![1, "n"]) && shape![..].equals_v2(&shape![..]));
    /// assert!(!shape![1, ?].equals_v2(&shape![1, 2]));
    /// ```
    pub fn equals_v2(&self, other: &TensorShape) -> bool {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.as_known() == y.as_known())
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns whether the two shapes are equal for all values of their symbols. The result is the equality of Java's
    /// `Shape`, where a shape with an unknown part equals no other. Here a symbol is equal to itself, as in
    /// [`TensorShape::same`].
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert!(shape![2, 3].definitely_equals(&shape![2, 3]));
    /// assert!(!shape![2, ?].definitely_equals(&shape![2, ?]) && !shape![..].definitely_equals(&shape![..]));
    /// ```
    pub fn definitely_equals(&self, other: &TensorShape) -> bool {
        self.same(other) == Some(true)
    }

    /// Returns the dimensions with the free symbols (anonymous symbols that belong to no table) renumbered in order of
    /// appearance, so that equal patterns are `==`.
    fn renumbered_dims(&self) -> Option<SmallVec<[Dim; 4]>> {
        let dims = self.dims()?;
        let mut seen: FxHashMap<Symbol, Dim> = FxHashMap::default();
        let mut renumber = |symbol: Symbol| {
            symbol.is_free().then(|| {
                let next = seen.len();
                seen.entry(symbol).or_insert_with(|| Dim::from(Symbol::free_with_number(next))).clone()
            })
        };
        Some(dims.iter().map(|dim| dim.substitute(&mut renumber)).collect())
    }

    /// Returns whether the shape contains a free symbol: an anonymous symbol that belongs to no table.
    fn has_free(&self) -> bool {
        let mut free = false;
        for dim in self.dims().unwrap_or_default() {
            dim.symbols(&mut |symbol| free |= symbol.is_free());
        }
        free
    }
}

impl PartialEq for TensorShape {
    fn eq(&self, other: &TensorShape) -> bool {
        if self.dims() == other.dims() {
            return true;
        }
        self.rank() == other.rank()
            && self.has_free()
            && other.has_free()
            && self.renumbered_dims() == other.renumbered_dims()
    }
}

impl Eq for TensorShape {}

impl Hash for TensorShape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.has_free() { self.renumbered_dims().as_deref().hash(state) } else { self.dims().hash(state) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{TensorShape, shape};

    #[test]
    fn free_symbols_compare_by_pattern() {
        assert_eq!(shape![?, 3], shape![?, 3]);
        assert_ne!("[?0, ?0]".parse::<TensorShape>().unwrap(), shape![?, ?]);
        assert_eq!("[?a, ?a]".parse::<TensorShape>().unwrap(), "[?b, ?b]".parse().unwrap());
        assert_ne!(shape![..], shape![]);
    }

    #[test]
    fn the_three_equality_rules_differ_for_unknown_parts() {
        let shape = |text: &str| text.parse::<TensorShape>().unwrap();
        let cases = [
            ("?", "?", None, true, false),
            ("?", "[]", None, false, false),
            ("[]", "[]", Some(true), true, true),
            ("[1]", "[1, 1]", Some(false), false, false),
            ("[1, ?]", "[1, ?]", None, true, false),
            ("[1, ?]", "[2, ?]", Some(false), false, false),
            ("[?, 1]", "[?, 2]", Some(false), false, false),
            ("[1, ?]", "[1, 2]", None, false, false),
            ("[n, 2*n]", "[n, n+n]", Some(true), true, true),
            ("[n]", "[n+1]", Some(false), true, false),
        ];
        for (a, b, same, v2, definitely) in cases {
            let (a, b) = (shape(a), shape(b));
            assert_eq!(
                (a.same(&b), a.equals_v2(&b), a.definitely_equals(&b)),
                (same, v2, definitely),
                "{a} {b}"
            );
            assert_eq!(
                (b.same(&a), b.equals_v2(&a), b.definitely_equals(&a)),
                (same, v2, definitely),
                "{b} {a}"
            );
        }
    }
}
