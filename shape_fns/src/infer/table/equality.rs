//! [`Equality`]: dimensions found equal. The table solves an equation for a symbol, which the solution then replaces.

use rustc_hash::FxHashSet;

use super::DimTable;
use super::undo::Undo;
use crate::Guard;
use crate::dim::solve;
use crate::dim::symbol::{Symbol, SymbolKind};
use crate::error::bail;
use crate::{Dim, Result, ShapeError, TensorShape};

/// An equality of a symbol and a dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equality {
    /// The symbol that was replaced.
    pub symbol: Symbol,
    /// The dimension that the symbol equals, as it was when the equality was found. [`DimTable::resolve`] returns the
    /// present form.
    pub dim: Dim,
    /// The node that required the equality.
    pub origin: u32,
}

/// A broadcast of two different symbols: their sizes must be equal, or one must be 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimBroadcast {
    /// The two symbols.
    pub symbols: [Symbol; 2],
    /// The node that broadcast them.
    pub origin: u32,
}

impl DimTable {
    /// Returns the broadcasts of two different symbols, in the order in which they were found.
    pub fn broadcasts(&self) -> &[DimBroadcast] {
        &self.broadcasts
    }

    /// Records that two resolved dimensions were broadcast with each other, if both are symbols.
    pub(crate) fn note_broadcast(&mut self, a: &Dim, b: &Dim) {
        if let (Some(a), Some(b)) = (a.as_symbol(), b.as_symbol()) {
            self.broadcasts.push(DimBroadcast { symbols: [a, b], origin: self.origin });
        }
    }

    /// Records that two dimensions are equal and returns the merged dimension. The equation is solved for a symbol if
    /// possible; otherwise a guard is recorded.
    ///
    /// # Errors
    /// The two dimensions are provably different, or a recorded guard contradicts their equality.
    pub fn merge(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.merge_keeping(a, b, None)
    }

    /// Merges two dimensions, but never replaces the symbol `kept` by an expression.
    fn merge_keeping(&mut self, a: &Dim, b: &Dim, kept: Option<Symbol>) -> Result<Dim> {
        a.validate()?;
        b.validate()?;
        self.broken = None;
        let (a, b) = (self.resolve_compressing(a), self.resolve_compressing(b));
        if a == b {
            return Ok(a);
        }
        let solution = match (a.as_symbol(), b.as_symbol(), a.plus_times(&b, -1)) {
            (None, None, Err(_)) => None,
            (_, _, difference) => {
                // A bare symbol can be replaced even if the difference cannot be computed. The solver takes nothing
                // apart in the stand-in.
                let difference = difference.unwrap_or_else(|_| Dim::too_large());
                let admits = |symbol: Symbol, dim: &Dim| {
                    let is_plain = dim.is_known() || dim.as_symbol().is_some();
                    (Some(symbol) != kept || is_plain) && self.may_replace(symbol, dim)
                };
                match solve::solve(&difference, &a, &b, &admits) {
                    solve::Answer::Never => bail!("dimensions must be equal, got {a} and {b}"),
                    solve::Answer::Bind(symbol, dim) if !self.is_bound_or_cyclic(symbol, &dim) => {
                        Some((symbol, dim))
                    }
                    _ => None,
                }
            }
        };
        match solution {
            Some((symbol, dim)) => {
                self.bind(symbol, dim, &a, &b)?;
                Ok(self.resolve(&a))
            }
            None => {
                if let Some([x, y]) = self.without_positive_factor(&a, &b) {
                    self.merge(&x, &y)?;
                    return Ok(self.resolve(&a));
                }
                let merged = if b.is_known() { b.clone() } else { a.clone() };
                self.record(Guard::Eq(a, b));
                Ok(merged)
            }
        }
    }

    /// Divides both sides of an equality by the product that all their terms contain, if this product is positive.
    fn without_positive_factor(&mut self, a: &Dim, b: &Dim) -> Option<[Dim; 2]> {
        let factor =
            Dim::common_product(&[a, b]).filter(|factor| self.is_reliably_ge(factor, &Dim::known(1)))?;
        Some([a.exact_div(&factor)?, b.exact_div(&factor)?])
    }

    /// Returns whether `dim` may replace `symbol`. If `in_definition_order` is set, only symbols that the table met
    /// before `symbol` may replace it.
    fn may_replace(&self, symbol: Symbol, dim: &Dim) -> bool {
        if !self.in_definition_order {
            return true;
        }
        let (age, mut older) = (self.age(symbol), true);
        dim.symbols(&mut |other| older &= self.age(other) < age);
        older
    }

    /// Returns whether `symbol` is replaced already, or `dim` mentions it directly or through replaced symbols.
    fn is_bound_or_cyclic(&self, symbol: Symbol, dim: &Dim) -> bool {
        if self.bindings.contains_key(&symbol) {
            return true;
        }
        let mut seen: FxHashSet<Symbol> = FxHashSet::default();
        let mut stack = Vec::new();
        dim.symbols(&mut |inner| stack.push(inner));
        while let Some(inner) = stack.pop() {
            if inner == symbol {
                return true;
            }
            if seen.insert(inner)
                && let Some(bound) = self.bindings.get(&inner)
            {
                bound.symbols(&mut |next| stack.push(next));
            }
        }
        false
    }

    /// Replaces `symbol` by `dim` and checks all guards that mention `symbol`. `a == b` is the solved equation, for the
    /// error message.
    fn bind(&mut self, symbol: Symbol, dim: Dim, a: &Dim, b: &Dim) -> Result<()> {
        if symbol.kind() == SymbolKind::Size {
            match self.prove_ge(&dim, &Dim::known(0)) {
                Some(true) => {}
                Some(false) => bail!("a dimension must not be negative, got {dim} from {a} == {b}"),
                None => self.record(Guard::Ge(dim.clone(), Dim::known(0))),
            }
        }
        // A lower bound of the symbol is a lower bound of the dimension now.
        let lower_bound = self.lower_bounds.get(&Dim::from(symbol)).copied();
        let old = self.bindings.insert(symbol, dim.clone());
        self.remember(Undo::Binding(symbol, old));
        self.equalities.push(Equality { symbol, dim: dim.clone(), origin: self.origin });
        if let Some(least) = lower_bound {
            self.record_lower_bound(&Guard::Ge(dim, Dim::known(least)));
        }
        self.check_watchers(symbol)
    }

    /// Resolves the dimension and shortens the chain of equalities for later calls.
    fn resolve_compressing(&mut self, dim: &Dim) -> Dim {
        let resolved = self.resolve(dim);
        if let Some(mut symbol) = dim.as_symbol()
            && resolved.as_symbol().is_some() | resolved.is_known()
        {
            while let Some(next) = self.bindings.get(&symbol).and_then(Dim::as_symbol) {
                if Some(next) == resolved.as_symbol() {
                    break;
                }
                let old = self.bindings.insert(symbol, resolved.clone());
                self.remember(Undo::Binding(symbol, old));
                symbol = next;
            }
        }
        resolved
    }

    /// Merges two shapes axis by axis. If one shape is unranked, the result is the other shape, resolved.
    ///
    /// # Errors
    /// The ranks differ, or the dimensions at an axis are provably different; the message names the axis.
    pub fn merge_shapes(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        self.merge_shapes_keeping(a, b, &[])
    }

    /// Merges `actual` with the shape that the program states. Returns the stated dimensions, with a number wherever
    /// the merged dimension is a number. A stated name that an earlier node introduced, such as that of a dimension of
    /// an input, is not replaced by an expression. Any other stated name stands for the dimension of `actual`.
    ///
    /// # Errors
    /// As [`DimTable::merge_shapes`].
    pub(crate) fn state_shape(&mut self, actual: &TensorShape, stated: &TensorShape) -> Result<TensorShape> {
        let kept: Vec<Option<Symbol>> =
            stated.dims().into_iter().flatten().map(|dim| self.introduced_name(dim)).collect();
        let stated = self.import(stated);
        let merged = self.merge_shapes_keeping(actual, &stated, &kept)?;
        let (Some(dims), Some(stated)) = (merged.dims(), stated.dims()) else { return Ok(merged) };
        let dims = dims.iter().zip(stated).map(|(merged, stated)| {
            let merged = self.resolve(merged);
            if merged.is_known() { merged } else { self.resolve(stated) }
        });
        Ok(TensorShape::new(dims))
    }

    /// Returns the name that `dim` resolves to if `dim` is a name that a node introduced; `None` if it resolves to
    /// anything but a name.
    fn introduced_name(&self, dim: &Dim) -> Option<Symbol> {
        let symbol = dim.as_symbol().filter(|symbol| self.introduced.contains_key(symbol))?;
        self.resolve(&Dim::from(symbol)).as_symbol().filter(|symbol| !symbol.is_anonymous())
    }

    /// Merges two shapes. `kept` has, for each axis, the symbol that is not replaced by an expression.
    fn merge_shapes_keeping(
        &mut self,
        a: &TensorShape,
        b: &TensorShape,
        kept: &[Option<Symbol>],
    ) -> Result<TensorShape> {
        let (Some(x), Some(y)) = (a.dims(), b.dims()) else {
            return Ok(self.resolve_shape(if a.rank().is_some() { a } else { b }));
        };
        if x.len() != y.len() {
            bail!("shapes must have the same rank, got {a} and {b}");
        }
        let mut merged = Vec::with_capacity(x.len());
        for (axis, (x, y)) in x.iter().zip(y).enumerate() {
            let kept = kept.get(axis).copied().flatten();
            merged.push(self.merge_keeping(x, y, kept).map_err(|error| {
                let (x, y) = (self.resolve(x), self.resolve(y));
                match x.same(&y) {
                    Some(false) => {
                        ShapeError::new(format_args!("shapes must agree, got {x} and {y} at axis {axis}"))
                    }
                    _ => error,
                }
            })?);
        }
        Ok(TensorShape::from(merged))
    }

    /// Returns the equalities in the order in which they were found.
    pub fn equalities(&self) -> &[Equality] {
        &self.equalities
    }

    /// Makes a table that knows the first `count` equalities of this table and nothing else, to resolve dimensions.
    #[must_use]
    pub fn with_first_equalities(&self, count: usize) -> DimTable {
        let known = self.equalities.iter().take(count);
        DimTable {
            bindings: known.map(|equality| (equality.symbol, equality.dim.clone())).collect(),
            ..DimTable::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_stands_for_equal_names_does_not_depend_on_the_process() {
        // The process interns the names once, in this order. The tables meet them in both orders.
        let names = ["standing_a", "standing_b"];
        let [a, b] = names.map(Dim::symbol);
        for (first, second) in [(&a, &b), (&b, &a)] {
            let mut table = DimTable::in_definition_order();
            let _ = table.import(&TensorShape::new([first.clone(), second.clone()]));
            table.merge(&a, &b).unwrap();
            assert_eq!([table.resolve(&a), table.resolve(&b)], [first.clone(), first.clone()]);
        }
        for (x, y) in [(&a, &b), (&b, &a)] {
            let mut table = DimTable::new();
            table.merge(&(x + y), &(2 * Dim::symbol("standing_c"))).unwrap();
            assert_eq!(table.equalities()[0].symbol.name(), Some("standing_b"));
        }
    }

    #[test]
    fn a_stated_shape_keeps_the_names_of_inputs() {
        let stated = |actual: &Dim, stated: &Dim| {
            let mut table = DimTable::new();
            let _ = table.import(&TensorShape::new(["n", "m"].map(Dim::symbol)));
            let [actual, stated] = [actual, stated].map(|dim| TensorShape::new([dim.clone()]));
            let shape = table.state_shape(&actual, &stated).unwrap().to_string();
            (
                shape,
                table.guards().iter().map(|record| record.guard.to_string()).collect::<Vec<_>>().join(", "),
            )
        };
        let [n, m, new] = ["n", "m", "stated_new"].map(Dim::symbol);
        let rest = (&n - 1).max(0).unwrap();
        let text = |shape: &str, guards: &str| (shape.to_string(), guards.to_string());
        assert_eq!(stated(&rest, &m), text("[m]", "max(0, n-1) == m"));
        assert_eq!(stated(&rest, &n), text("[n]", "max(0, n-1) == n"));
        assert_eq!(stated(&rest, &new), text("[max(0, n-1)]", ""));
        assert_eq!(stated(&(&n - 1), &m).0, "[m]");
        assert_eq!(stated(&n, &new), text("[n]", ""));
        assert_eq!(stated(&Dim::known(5), &(&n * &m)), text("[5]", "5 == m*n"));
    }

    #[test]
    fn a_table_may_resolve_by_the_first_equalities_only() {
        let [a, b, c, d] = ["first_a", "first_b", "first_c", "first_d"].map(Dim::symbol);
        let mut table = DimTable::new();
        table.merge(&c, &d).unwrap();
        table.merge(&a, &b).unwrap();
        table.merge(&b, &c).unwrap();
        let first = table.with_first_equalities(1);
        assert_eq!(
            (first.same(&c, &d), first.same(&a, &b), table.same(&a, &d)),
            (Some(true), None, Some(true))
        );
        assert_eq!(first.resolve(&a), a);
    }

    #[test]
    fn a_factor_is_cancelled_if_it_is_positive() {
        let [n, m, k] = ["n", "m", "k"].map(Dim::symbol);
        let mut table = DimTable::new();
        table.merge(&(&n * &m), &(&n * &k)).unwrap();
        assert_eq!((table.same(&m, &k), table.guards().len()), (None, 1));
        let mut table = DimTable::new();
        table.require(Guard::Ge(n.clone(), Dim::known(1))).unwrap();
        let merged = table.merge(&(&n * &m * 4), &(&n * &k * 4)).unwrap();
        assert_eq!((table.same(&m, &k), table.guards().len()), (Some(true), 1));
        assert_eq!(merged, table.resolve(&(n * m * 4)));
    }
}
