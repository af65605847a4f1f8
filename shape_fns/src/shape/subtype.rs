//! The order of shapes from what says most to what says nothing: subtypes and supertypes.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::dim::symbol::Symbol;
use crate::{Dim, IntoDim, TensorShape, Unknown};

impl TensorShape {
    /// Whether `other` says no more than this shape does: every tensor that fits this shape fits the other.
    ///
    /// An unknown rank says nothing; a number fits itself. A symbol of `other` is an unknown that anything fits, the
    /// same thing wherever it occurs: `[2, 2]` is a subtype of `[n, n]` and `[2, 3]` is not. A term such as `4*n` fits
    /// only itself, and its symbols only themselves. Reflexive, transitive, and antisymmetric up to the choice of
    /// symbols.
    ///
    /// ```
    /// use shapeflow_shape_fns::shape;
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
        let rigid = symbols_of_terms(general);
        let mut fitted: FxHashMap<Symbol, &Dim> = FxHashMap::default();
        special.iter().zip(general).all(|(s, g)| match g.as_symbol() {
            Some(symbol) if !rigid.contains(&symbol) => *fitted.entry(symbol).or_insert(s) == s,
            _ => s == g,
        })
    }

    /// The most specific shape that this and all the others are subtypes of: what they have in common. Axes at which
    /// they differ become unknown, axes at which they differ in the same way the same unknown; ranks that differ give
    /// an unknown rank. Of no others it is this shape.
    ///
    /// ```
    /// use shapeflow_shape_fns::shape;
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

    /// The most specific shape that both fit: [`TensorShape::most_specific_common_supertype`] of the two.
    ///
    /// ```
    /// use shapeflow_shape_fns::shape;
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

/// The symbols that terms mention; a plain symbol is no term.
fn symbols_of_terms(dims: &[Dim]) -> FxHashSet<Symbol> {
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
    fn subtypes() {
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
    fn supertypes() {
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
