//! Compatibility and merging of two shapes.

use rustc_hash::FxHashMap;

use crate::dim::symbol::{Symbol, SymbolKind};
use crate::error::bail;
use crate::{Dim, Result, TensorShape};

/// The reason why two shapes are not compatible.
enum Mismatch {
    Rank,
    /// The dimensions at this axis differ; they are given as far as they are known.
    Axis(usize, Dim, Dim),
}

impl TensorShape {
    /// Merges two shapes that describe the same tensor into one shape that has the knowledge of both. Nothing is
    /// recorded.
    ///
    /// A symbol is the same size wherever it occurs in the two shapes: `[n, n]` and `[2, ?]` merge to `[2, 2]`. Of two
    /// symbols, a named symbol is kept over an anonymous one, else the symbol of `self`. Of two expressions that may be
    /// equal, the expression of `self` is kept.
    ///
    /// [`InferenceContext::merge_shapes`](crate::InferenceContext::merge_shapes) also records the equalities.
    ///
    /// # Errors
    /// The ranks differ (`Shapes [1] and [1, 2] must have the same rank`), two dimensions are provably different
    /// (`Shapes [1, ?] and [2, 3] are not compatible, got 1 and 2 at axis 0`), or a dimension is invalid.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert_eq!(shape![?, 3].merge_with(&shape![2, ?])?, shape![2, 3]);
    /// assert_eq!(shape!["n", "n"].merge_with(&shape![2, ?])?, shape![2, 2]);
    /// assert_eq!(shape![..].merge_with(&shape![2, ?])?, shape![2, ?]);
    /// let error = shape![1, ?].merge_with(&shape![2, 3]).unwrap_err();
    /// assert_eq!(error.to_string(), "Shapes [1, ?] and [2, 3] are not compatible, got 1 and 2 at axis 0");
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn merge_with(&self, other: &TensorShape) -> Result<TensorShape> {
        for dim in self.dims().into_iter().chain(other.dims()).flatten() {
            dim.validate()?;
        }
        match self.unify(other) {
            Ok(shape) => Ok(shape),
            Err(Mismatch::Rank) => bail!("Shapes {self} and {other} must have the same rank"),
            Err(Mismatch::Axis(axis, x, y)) => {
                bail!("Shapes {self} and {other} are not compatible, got {x} and {y} at axis {axis}")
            }
        }
    }

    /// Returns whether one tensor could have both shapes, which means that the shapes merge. The relation is reflexive
    /// and symmetric, but not transitive.
    ///
    /// ```
    /// # use shapeflow_shape_fns::shape;
    /// assert!(shape![1, ?].is_compatible_with(&shape![?, 3]) && shape![..].is_compatible_with(&shape![1]));
    /// assert!(!shape![1, ?].is_compatible_with(&shape![2, 3]) && !shape![1].is_compatible_with(&shape![1, 1]));
    /// assert!(!shape!["n", "n"].is_compatible_with(&shape![2, 3]));
    /// ```
    pub fn is_compatible_with(&self, other: &TensorShape) -> bool {
        self.unify(other).is_ok()
    }

    /// Requires [`TensorShape::is_compatible_with`].
    ///
    /// # Errors
    /// The shapes are not compatible: `Shapes [1, ?] and [2, 3] are incompatible`, in TensorFlow's words.
    pub fn assert_is_compatible_with(&self, other: &TensorShape) -> Result<()> {
        if !self.is_compatible_with(other) {
            bail!("Shapes {self} and {other} are incompatible");
        }
        Ok(())
    }

    /// Merges two shapes, or returns why they cannot be merged.
    fn unify(&self, other: &TensorShape) -> Result<TensorShape, Mismatch> {
        let (Some(a), Some(b)) = (self.dims(), other.dims()) else {
            return Ok(if self.is_unranked() { other.clone() } else { self.clone() });
        };
        if a.len() != b.len() {
            return Err(Mismatch::Rank);
        }
        if a == b {
            return Ok(self.clone());
        }
        let mut has_repeated = false;
        for (axis, (x, y)) in a.iter().zip(b).enumerate() {
            if x.same(y) == Some(false) {
                return Err(Mismatch::Axis(axis, x.clone(), y.clone()));
            }
            has_repeated |= x != y && [x, y].into_iter().any(|dim| is_repeated(dim, a, b));
        }
        if !has_repeated {
            return Ok(TensorShape::new(a.iter().zip(b).map(|(x, y)| more_specific(x, y).clone())));
        }
        let mut substitution = Substitution::default();
        for (axis, (x, y)) in a.iter().zip(b).enumerate() {
            substitution.equate(x, y).map_err(|(x, y)| Mismatch::Axis(axis, x, y))?;
        }
        let mut merged = Vec::with_capacity(a.len());
        for (axis, (x, y)) in a.iter().zip(b).enumerate() {
            match (substitution.resolve(x), substitution.resolve(y)) {
                (Ok(p), Ok(q)) if p.same(&q) != Some(false) => merged.push(more_specific(&p, &q).clone()),
                (Ok(p), Ok(q)) => return Err(Mismatch::Axis(axis, p, q)),
                _ => return Err(Mismatch::Axis(axis, x.clone(), y.clone())),
            }
        }
        Ok(TensorShape::new(merged))
    }
}

/// Returns whether `dim` is a symbol that occurs more than once, so that its equality at one axis affects another axis.
/// In shapes of more than 8 axes, every symbol counts as repeated.
fn is_repeated(dim: &Dim, a: &[Dim], b: &[Dim]) -> bool {
    const FEW: usize = 8;
    let Some(symbol) = dim.as_symbol() else { return false };
    if a.len() > FEW {
        return true;
    }
    let mut count = 0;
    for dim in a.iter().chain(b) {
        dim.symbols(&mut |other| count += usize::from(other == symbol));
    }
    count > 1
}

/// Returns the more specific of two dimensions that may be equal: a number, else an expression, else a symbol.
fn more_specific<'a>(x: &'a Dim, y: &'a Dim) -> &'a Dim {
    fn specificity(dim: &Dim) -> u8 {
        match (dim.is_known(), dim.as_symbol()) {
            (true, _) => 4,
            (_, None) => 3,
            (_, Some(symbol)) => symbol_specificity(symbol),
        }
    }
    if specificity(y) > specificity(x) { y } else { x }
}

/// Ranks symbols by how specific they are.
fn symbol_specificity(symbol: Symbol) -> u8 {
    match symbol.kind() {
        SymbolKind::Integer => 0,
        SymbolKind::Size if symbol.is_anonymous() => 1,
        SymbolKind::Size => 2,
    }
}

/// Substitution of symbols by the numbers or symbols that they equal, found by comparing two shapes.
#[derive(Default)]
struct Substitution(FxHashMap<Symbol, Dim>);

impl Substitution {
    /// Follows the substitution to its end, and shortens the chain for later calls.
    fn root(&mut self, dim: &Dim) -> Dim {
        let mut root = dim;
        while let Some(next) = root.as_symbol().and_then(|symbol| self.0.get(&symbol)) {
            root = next;
        }
        let root = root.clone();
        let mut passed = dim.as_symbol();
        while let Some(next) = passed.and_then(|symbol| self.0.get_mut(&symbol)) {
            passed = next.as_symbol();
            *next = root.clone();
        }
        root
    }

    /// Records that two dimensions are equal, unless one of them is an expression. Returns their roots as the error if
    /// they provably differ.
    fn equate(&mut self, x: &Dim, y: &Dim) -> Result<(), (Dim, Dim)> {
        let plain = |dim: &Dim| dim.is_known() || dim.as_symbol().is_some();
        if !plain(x) || !plain(y) {
            return Ok(());
        }
        let (x, y) = (self.root(x), self.root(y));
        if x == y {
            return Ok(());
        }
        if x.same(&y) == Some(false) {
            return Err((x, y));
        }
        let (kept, dropped) = if std::ptr::eq(more_specific(&x, &y), &y) { (y, x) } else { (x, y) };
        if let Some(symbol) = dropped.as_symbol() {
            self.0.insert(symbol, kept);
        }
        Ok(())
    }

    /// Substitutes the recorded symbols in a dimension.
    fn resolve(&mut self, dim: &Dim) -> Result<Dim> {
        dim.try_substitute(&mut |symbol| self.0.contains_key(&symbol).then(|| self.root(&Dim::from(symbol))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    fn merged(a: &str, b: &str) -> String {
        let shape = |text: &str| text.parse::<TensorShape>().unwrap();
        match shape(a).merge_with(&shape(b)) {
            Ok(shape) => shape.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn merging_keeps_the_knowledge_of_both() {
        for (a, b, expected) in [
            ("[?, 3]", "[2, ?]", "[2, 3]"),
            ("?", "[2, ?]", "[2, ?]"),
            ("[2, ?]", "?", "[2, ?]"),
            ("[?]", "[n]", "[n]"),
            ("[n]", "[m]", "[n]"),
            ("[?]", "[4*n]", "[4*n]"),
            ("[n, n]", "[2, ?]", "[2, 2]"),
            ("[n, ?, m]", "[m, 7, n]", "[n, 7, n]"),
            ("[n, m, n]", "[m, k, 5]", "[5, 5, 5]"),
            ("[n, 2*n]", "[3, ?]", "[3, 6]"),
            ("[n, n]", "[2, 3]", "Shapes [n, n] and [2, 3] are not compatible, got 2 and 3 at axis 1"),
            ("[n, 2*n]", "[3, 7]", "Shapes [n, 2*n] and [3, 7] are not compatible, got 6 and 7 at axis 1"),
            ("[2]", "[3]", "Shapes [2] and [3] are not compatible, got 2 and 3 at axis 0"),
            ("[2]", "[2, 2]", "Shapes [2] and [2, 2] must have the same rank"),
            ("[n]", "[n+1]", "Shapes [n] and [n+1] are not compatible, got n and n+1 at axis 0"),
            (
                "[n, 6//n]",
                "[0, ?]",
                "Shapes [n, floordiv(6, n)] and [0, ?] are not compatible, got floordiv(6, n) and ? at axis 1",
            ),
        ] {
            assert_eq!(merged(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn invalid_and_negative_dimensions_do_not_merge() {
        let overflow = shape![Dim::known(i64::MAX) + 1];
        assert!(overflow.merge_with(&shape![?]).is_err() && shape![?].merge_with(&overflow).is_err());
        assert!(!shape!["n"].is_compatible_with(&shape![-1]));
        assert!(!shape!["n", "n"].is_compatible_with(&shape!["m", -1]));
    }

    #[test]
    fn long_shapes_merge() {
        let symbols: Vec<Dim> = (0..300).map(|axis| Dim::symbol(&format!("long_{axis}"))).collect();
        let mut shifted = symbols.clone();
        shifted.rotate_left(1);
        shifted[299] = Dim::known(5);
        let merged = TensorShape::new(symbols).merge_with(&TensorShape::new(shifted)).unwrap();
        assert_eq!(merged, TensorShape::from(vec![5; 300]));
    }
}
