//! Subtypes and supertypes: the partial order of shapes by how much they specify.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::dim::symbol::Symbol;
use crate::{Dim, IntoDim, TensorShape, Unknown};

impl TensorShape {
    /// Returns whether this shape is a subtype of `other`. Every tensor that fits a subtype also fits `other`. The
    /// converse does not hold for expressions: `[8]` is no subtype of `[4*n]`.
    ///
    /// Every shape is a subtype of an unknown rank. A number of `other` is fitted only by the same number. A symbol of
    /// `other` is fitted by any size, but by the same size wherever the symbol occurs: `[2, 2]` is a subtype of
    /// `[n, n]` and `[2, 3]` is not. An expression of `other`, such as `4*n`, is fitted only by the same expression;
    /// then its symbol `n` is fitted only by `n`. The relation is reflexive, transitive, and antisymmetric up to the
    /// choice of symbols.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert!(shape![2, 3].is_subtype_of(&shape![2, ?]) && shape![2, ?].is_subtype_of(&shape![..]));
    /// assert!(!shape![2, ?].is_subtype_of(&shape![2, 3]) && !shape![..].is_subtype_of(&shape![?]));
    /// assert!(shape![..].is_subtype_of(&shape![..]));
    /// assert!(shape![2, 2].is_subtype_of(&shape!["n", "n"]) && !shape![2, 3].is_subtype_of(&shape!["n", "n"]));
    /// ```
    pub fn is_subtype_of(&self, other: &TensorShape) -> bool {
        let Some(general) = other.dims() else { return true };
        let Some(special) = self.dims() else { return false };
        if special.len() != general.len() {
            return false;
        }
        // A rigid symbol fits only itself, because an expression of `other` mentions it.
        let rigid = symbols_of_expressions(general);
        let mut fitted: FxHashMap<Symbol, &Dim> = FxHashMap::default();
        special.iter().zip(general).all(|(s, g)| match g.as_symbol() {
            Some(symbol) if !rigid.contains(&symbol) => *fitted.entry(symbol).or_insert(s) == s,
            _ => s == g,
        })
    }

    /// Returns the most specific common supertype of this shape and all `others`. Axes that differ become unknown.
    /// Axes that differ in the same way become the same unknown. Different ranks give an unknown rank. Without `others`
    /// the result is this shape.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, 3].most_specific_common_supertype([&shape![2, 4]]), shape![2, ?]);
    /// assert_eq!(shape![2, 2].most_specific_common_supertype([&shape![3, 3]]), "[?0, ?0]".parse()?);
    /// assert_eq!(shape![2].most_specific_common_supertype([&shape![2], &shape![2, 2]]), shape![..]);
    /// assert_eq!(shape![2].most_specific_common_supertype([]), shape![2]);
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    #[must_use]
    pub fn most_specific_common_supertype<'a>(
        &self,
        others: impl IntoIterator<Item = &'a TensorShape>,
    ) -> TensorShape {
        others.into_iter().fold(self.clone(), |common, other| common.common_supertype(other))
    }

    /// Returns the [`TensorShape::most_specific_common_supertype`] of the two shapes.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![2, ?, 3].most_specific_compatible_shape(&shape![2, 5, 3]), shape![2, ?, 3]);
    /// ```
    #[must_use]
    pub fn most_specific_compatible_shape(&self, other: &TensorShape) -> TensorShape {
        self.common_supertype(other)
    }

    fn common_supertype(&self, other: &TensorShape) -> TensorShape {
        let (Some(a), Some(b)) = (self.dims(), other.dims()) else { return TensorShape::unranked() };
        if a.len() != b.len() {
            return TensorShape::unranked();
        }
        if a == b {
            return self.clone();
        }
        let mut unknown: FxHashMap<(&Dim, &Dim), Dim> = FxHashMap::default();
        TensorShape::new(a.iter().zip(b).map(|(x, y)| {
            if x == y {
                x.clone()
            } else {
                unknown.entry((x, y)).or_insert_with(|| Unknown.into_dim()).clone()
            }
        }))
    }
}

/// Returns the symbols that occur inside expressions. A dimension that is a plain symbol does not count.
fn symbols_of_expressions(dims: &[Dim]) -> FxHashSet<Symbol> {
    let mut symbols = FxHashSet::default();
    for dim in dims.iter().filter(|dim| dim.as_symbol().is_none()) {
        dim.symbols(&mut |symbol| {
            symbols.insert(symbol);
        });
    }
    symbols
}

#[cfg(test)]
mod tests {
    use crate::TensorShape;

    fn shape(text: &str) -> TensorShape {
        text.parse().unwrap()
    }

    #[test]
    fn subtypes_are_recognized() {
        for (special, general, expected) in [
            ("?", "?", true),
            ("[]", "?", true),
            ("?", "[]", false),
            ("[]", "[]", true),
            ("[2]", "[?]", true),
            ("[?]", "[2]", false),
            ("[2]", "[3]", false),
            ("[2]", "[2, 2]", false),
            ("[n]", "[m]", true),
            ("[n, n]", "[?, ?]", true),
            ("[?, ?]", "[n, n]", false),
            ("[4*n]", "[?]", true),
            ("[4*n]", "[4*n]", true),
            ("[8]", "[4*n]", false),
            ("[3, 4]", "[n, n+1]", false),
            ("[n, n+1]", "[n, n+1]", true),
            ("[m, n+1]", "[n, n+1]", false),
            ("[m, n+1]", "[k, n+1]", true),
        ] {
            assert_eq!(shape(special).is_subtype_of(&shape(general)), expected, "{special} <= {general}");
        }
    }

    #[test]
    fn the_common_supertype_is_the_most_specific_one() {
        for (a, b, expected) in [
            ("[2, 3]", "[2, 3]", "[2, 3]"),
            ("[2, n]", "[2, m]", "[2, ?]"),
            ("[2, n]", "[3, n]", "[?, n]"),
            ("[2, 3, 2]", "[4, 5, 4]", "[?0, ?, ?0]"),
            ("[2, 3, 2]", "[4, 5, 6]", "[?, ?, ?]"),
            ("[2]", "?", "?"),
            ("?", "?", "?"),
            ("[4*n]", "[8]", "[?]"),
        ] {
            assert_eq!(shape(a).most_specific_compatible_shape(&shape(b)), shape(expected), "{a} {b}");
        }
    }
}
