//! `Bindings`: the values of symbols during a run.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, DimTable, Symbol, SymbolKind};

use crate::lower::Unsized;

/// Values of symbols, by their table's equalities.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bindings {
    values: FxHashMap<Symbol, i64>,
    /// Equalities that had no single unbound symbol when they were met.
    deferred: Vec<(Dim, i64)>,
}

/// A dimension that got a size it cannot have.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    pub dim: Dim,
    pub expected: Option<i64>,
    pub got: i64,
}

impl Bindings {
    pub(crate) fn get(&self, symbol: Symbol) -> Option<i64> {
        self.values.get(&symbol).copied()
    }

    /// The value of a dimension, if every symbol of it is bound.
    pub(crate) fn try_eval(&self, table: &DimTable, dim: &Dim) -> Option<i64> {
        if let Some(known) = dim.as_known() {
            return Some(known);
        }
        table.resolve(dim).eval(&|symbol| self.get(symbol)).ok().flatten()
    }

    /// The value of a dimension.
    pub(crate) fn eval(&self, table: &DimTable, dim: &Dim) -> Result<i64, Unsized> {
        if let Some(known) = dim.as_known() {
            return Ok(known);
        }
        let dim = table.resolve(dim);
        match dim.eval(&|symbol| self.get(symbol)) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Unsized(format!("nothing determines dimension {dim}"))),
            Err(error) => Err(Unsized(error.to_string())),
        }
    }

    /// Takes note that `dim` is `value`: binds its one unbound symbol, or checks.
    pub(crate) fn bind(&mut self, table: &DimTable, dim: &Dim, value: i64) -> Result<(), Mismatch> {
        let dim = table.resolve(dim);
        let mismatch = |expected| Err(Mismatch { dim: dim.clone(), expected, got: value });
        match dim.eval(&|symbol| self.get(symbol)) {
            Ok(Some(known)) if known == value => return Ok(()),
            Ok(Some(known)) => return mismatch(Some(known)),
            Ok(None) => {}
            Err(_) => return mismatch(None),
        }
        if let Some((scale, symbol, offset)) = dim.as_linear() {
            let Some(rest) = value.checked_sub(offset) else { return mismatch(None) };
            let whole = rest.checked_rem(scale) == Some(0);
            let Some(solution) = rest.checked_div(scale).filter(|_| whole) else { return mismatch(None) };
            if solution < 0 && symbol.kind() == SymbolKind::Size {
                return mismatch(None);
            }
            self.values.insert(symbol, solution);
            return Ok(());
        }
        self.deferred.push((dim, value));
        Ok(())
    }

    /// Checks the equalities that could not be used to bind.
    pub(crate) fn check_deferred(&self, table: &DimTable) -> Result<(), Mismatch> {
        for (dim, value) in &self.deferred {
            if let Some(known) = self.try_eval(table, dim)
                && known != *value
            {
                return Err(Mismatch { dim: dim.clone(), expected: Some(known), got: *value });
            }
        }
        Ok(())
    }
}
