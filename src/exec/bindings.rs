//! [`Bindings`]: the values of symbols during a run.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{Dim, DimTable, Guard, GuardRecord, Symbol, SymbolKind};
use smallvec::SmallVec;

use crate::lower::{PlanError, nearest_determined_name};
use crate::runtime::BufferSizes;

/// The values of symbols during a run. The equalities of a dim table give values to further symbols.
#[derive(Clone, Debug)]
pub(super) struct Bindings<'t> {
    table: &'t DimTable,
    values: SymbolValues,
    /// Equalities `dim = value` that cannot be solved yet: the dim has several unbound symbols, or it has a single
    /// unbound symbol but is not linear in this symbol.
    deferred: Vec<(Dim, i64)>,
}

/// A dim that cannot have the value found for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DimMismatch {
    /// The dim, as the table resolves it.
    pub dim: Dim,
    /// The value of the dim, if all its symbols are bound.
    pub expected: Option<i64>,
    pub got: i64,
}

impl<'t> Bindings<'t> {
    /// Creates bindings in which no symbol has a value.
    pub(super) fn new(table: &'t DimTable) -> Bindings<'t> {
        Bindings { table, values: SymbolValues::Few(SmallVec::new()), deferred: Vec::new() }
    }

    /// Returns the value that is bound to `symbol` itself. The function does not use the equalities of the table.
    pub(super) fn get(&self, symbol: Symbol) -> Option<i64> {
        self.values.get(symbol)
    }

    /// Returns the value of a symbol as a dim. A symbol also has the value of the dim that the table equates it with.
    pub(super) fn known(&self, symbol: Symbol) -> Option<Dim> {
        self.try_eval(&Dim::from(symbol)).map(Dim::known)
    }

    /// Returns the value of a dim, if every symbol of it is bound and no arithmetic fails.
    pub(super) fn try_eval(&self, dim: &Dim) -> Option<i64> {
        self.value(dim).ok().flatten()
    }

    /// Returns the value of a dim, if every symbol of it is bound.
    fn value(&self, dim: &Dim) -> shapeflow_shape_fns::Result<Option<i64>> {
        match dim.as_known() {
            Some(known) => Ok(Some(known)),
            None => self.table.resolve(dim).eval(&|symbol| self.get(symbol)),
        }
    }

    /// Returns the value of a dim.
    ///
    /// # Errors
    /// A symbol of the dim is not bound, or arithmetic fails: it overflows, or a division leaves a remainder.
    pub(super) fn eval(&self, dim: &Dim) -> Result<i64, PlanError> {
        match self.value(dim) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => {
                let dim = self.table.resolve(dim);
                Err(PlanError::new(format!("nothing determines dimension {dim}{}", self.name_near(&dim))))
            }
            Err(error) => Err(PlanError::too_large(error.to_string())),
        }
    }

    /// Returns `; is it rows?` with the bound name nearest to the name of an unbound symbol of `dim`.
    fn name_near(&self, dim: &Dim) -> String {
        let mut unbound = None;
        dim.symbols(&mut |symbol| {
            if self.get(symbol).is_none() {
                unbound.get_or_insert(symbol);
            }
        });
        unbound.map_or_else(String::new, |symbol| nearest_determined_name(symbol, self.values.symbols()))
    }

    /// Returns the values of dims as sizes, if all are known.
    pub(super) fn sizes(&self, dims: &[Dim]) -> Option<BufferSizes> {
        dims.iter().map(|dim| usize::try_from(self.try_eval(dim)?).ok()).collect()
    }

    /// Returns the values of a dim's bound symbols as text, such as ` where a is 2 and b is 3`. The text
    /// `origin(symbol)` follows each value.
    pub(super) fn values_in(&self, dim: &Dim, origin: &dyn Fn(Symbol) -> String) -> String {
        let mut values: Vec<String> = Vec::new();
        dim.symbols(&mut |symbol| {
            let value =
                self.get(symbol).map(|value| format!("{} is {value}{}", Dim::from(symbol), origin(symbol)));
            values.extend(value.filter(|value| !values.contains(value)));
        });
        if values.is_empty() { String::new() } else { format!(" where {}", values.join(" and ")) }
    }

    /// Records that `dim` is `value`. If all symbols of the dim are bound, the function checks the value. If one symbol
    /// is unbound and the dim is linear in it, the function binds the symbol. Any other equality is deferred; see
    /// [`Bindings::solve_deferred`].
    ///
    /// # Errors
    /// The dim has another value, or no value of its unbound symbol makes the dim equal `value`.
    pub(super) fn bind(&mut self, dim: &Dim, value: i64) -> Result<(), DimMismatch> {
        let dim = self.table.resolve(dim);
        let mismatch = |expected| Err(DimMismatch { dim: dim.clone(), expected, got: value });
        match dim.eval(&|symbol| self.get(symbol)) {
            Ok(Some(known)) if known == value => return Ok(()),
            Ok(Some(known)) => return mismatch(Some(known)),
            Ok(None) => {}
            Err(_) => return mismatch(None),
        }
        if let Some(linear) = self.linear(&dim) {
            let Some((symbol, solution)) = linear.solve(value) else { return mismatch(None) };
            self.values.set(symbol, solution);
            return Ok(());
        }
        self.deferred.push((dim, value));
        Ok(())
    }

    /// Binds dims to sizes; see [`Bindings::bind`].
    ///
    /// # Errors
    /// The first axis with a mismatch.
    pub(super) fn bind_sizes(&mut self, dims: &[Dim], sizes: &[usize]) -> Result<(), (usize, DimMismatch)> {
        for (axis, (dim, &size)) in dims.iter().zip(sizes).enumerate() {
            self.bind(dim, size as i64).map_err(|mismatch| (axis, mismatch))?;
        }
        Ok(())
    }

    /// Solves or checks the deferred equalities, until none can be solved any more.
    ///
    /// # Errors
    /// An equality does not hold.
    pub(super) fn solve_deferred(&mut self) -> Result<(), DimMismatch> {
        loop {
            let deferred = std::mem::take(&mut self.deferred);
            let before = deferred.len();
            for (dim, value) in deferred {
                self.bind(&dim, value)?;
            }
            if self.deferred.len() == before {
                return Ok(());
            }
        }
    }

    /// Binds the symbols that the equalities among guards determine.
    pub(super) fn bind_by_guards<'g>(&mut self, guards: impl Iterator<Item = &'g GuardRecord> + Clone) {
        // A symbol may determine others, so the guards are read again until none binds a symbol.
        let mut binds = true;
        while std::mem::take(&mut binds) {
            for record in guards.clone() {
                binds |= self.solve(&record.guard);
            }
        }
    }

    /// Binds the only unbound symbol of an equality. A broadcast counts as an equality if one of its sizes is bound and
    /// allows only one value of the other size. Returns whether a symbol was bound.
    fn solve(&mut self, guard: &Guard) -> bool {
        let (dim, value) = match guard {
            Guard::Eq(a, b) => match (self.try_eval(a), self.try_eval(b)) {
                (Some(value), None) => (b, value),
                (None, Some(value)) => (a, value),
                _ => return false,
            },
            Guard::OneOrEqual(a, b) => match (self.try_eval(a), self.try_eval(b)) {
                (Some(value), None) if value != 1 => (b, value),
                (None, Some(1)) => (a, 1),
                _ => return false,
            },
            _ => return false,
        };
        // An equality without a solution does not hold. The check of the guards reports the equality.
        let solution = self.linear(&self.table.resolve(dim)).and_then(|linear| linear.solve(value));
        solution.is_some_and(|(symbol, solution)| self.values.set(symbol, solution).is_none())
    }

    /// Returns a dim as a linear function of its only unbound symbol; `None` if the dim is no such function.
    fn linear(&self, dim: &Dim) -> Option<LinearDim> {
        if let Some(symbol) = dim.as_symbol().filter(|symbol| self.get(*symbol).is_none()) {
            return Some(LinearDim { scale: 1, symbol, offset: 0 });
        }
        let reduced = dim.substitute(&mut |symbol| self.get(symbol).map(Dim::known));
        reduced.as_linear().map(|(scale, symbol, offset)| LinearDim { scale, symbol, offset })
    }
}

/// A map of symbols to their values. Most graphs have few symbols, and a list of few symbols is faster than a hash
/// table.
#[derive(Clone, Debug)]
enum SymbolValues {
    /// At most [`FEW`] symbols, in no order.
    Few(SmallVec<[(Symbol, i64); FEW]>),
    Many(FxHashMap<Symbol, i64>),
}

/// The greatest number of symbols that a list holds.
const FEW: usize = 8;

impl SymbolValues {
    fn get(&self, symbol: Symbol) -> Option<i64> {
        match self {
            SymbolValues::Few(values) => {
                values.iter().find(|(other, _)| *other == symbol).map(|(_, value)| *value)
            }
            SymbolValues::Many(values) => values.get(&symbol).copied(),
        }
    }

    /// Returns the symbols that have a value.
    fn symbols(&self) -> impl Iterator<Item = Symbol> {
        let (few, many) = match self {
            SymbolValues::Few(values) => (Some(values.iter().map(|(symbol, _)| *symbol)), None),
            SymbolValues::Many(values) => (None, Some(values.keys().copied())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    /// Sets the value of a symbol, and returns the value that it had.
    fn set(&mut self, symbol: Symbol, value: i64) -> Option<i64> {
        match self {
            SymbolValues::Few(values) => {
                if let Some((_, known)) = values.iter_mut().find(|(other, _)| *other == symbol) {
                    return Some(std::mem::replace(known, value));
                }
                if values.len() < FEW {
                    values.push((symbol, value));
                } else {
                    let all = values.iter().copied().chain([(symbol, value)]);
                    *self = SymbolValues::Many(all.collect());
                }
                None
            }
            SymbolValues::Many(values) => values.insert(symbol, value),
        }
    }
}

impl DimMismatch {
    /// Returns the message `{what} must be 3, got 4`, or `{what} must be n, which is 3, got 4` if the dimension has a
    /// name.
    pub(super) fn message(&self, what: &str) -> String {
        let mut has_names = false;
        self.dim.symbols(&mut |symbol| has_names |= symbol.name().is_some());
        match self.expected {
            Some(expected) if has_names => {
                format!("{what} must be {}, which is {expected}, got {}", self.dim, self.got)
            }
            Some(expected) => format!("{what} must be {expected}, got {}", self.got),
            None => format!("{what} must be {}, got {}", self.dim, self.got),
        }
    }

    /// Returns the end of a sentence about the axis at fault: `must be 3`, `is n, which is 3{why}`, or
    /// `is 2*n, which cannot be 3{why}`. The message gives the sizes of the input before this sentence.
    pub(super) fn requirement(&self, why: &str) -> String {
        match self.expected {
            Some(expected) if self.dim.is_known() => format!("must be {expected}"),
            Some(expected) => format!("is {}, which is {expected}{why}", self.dim),
            None => format!("is {}, which cannot be {}{why}", self.dim, self.got),
        }
    }
}

/// The function `scale * symbol + offset` of an unbound symbol.
struct LinearDim {
    scale: i64,
    symbol: Symbol,
    offset: i64,
}

impl LinearDim {
    /// Returns the symbol, and the value of the symbol for which the function equals `value`. Returns `None` if there
    /// is no such integer, or if the integer is negative and the symbol is a size.
    fn solve(&self, value: i64) -> Option<(Symbol, i64)> {
        let scaled = value.checked_sub(self.offset)?;
        if scaled.checked_rem(self.scale)? != 0 {
            return None;
        }
        let solution = scaled.checked_div(self.scale)?;
        let is_valid = solution >= 0 || self.symbol.kind() != SymbolKind::Size;
        is_valid.then_some((self.symbol, solution))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols<const N: usize>(table: &mut DimTable) -> [Dim; N] {
        std::array::from_fn(|_| table.fresh(SymbolKind::Size))
    }

    #[test]
    fn a_linear_dim_binds_its_symbol() {
        let mut table = DimTable::default();
        let [n] = symbols(&mut table);
        let doubled = n.clone() * 2 + 1;
        let mut bindings = Bindings::new(&table);
        assert_eq!(bindings.try_eval(&n), None);
        assert_eq!(bindings.bind(&doubled, 7), Ok(()));
        assert_eq!(bindings.try_eval(&n), Some(3));
        assert_eq!(bindings.bind(&doubled, 7), Ok(()));
        let mismatch = bindings.bind(&doubled, 9).unwrap_err();
        assert_eq!((mismatch.expected, mismatch.got), (Some(7), 9));
        assert_eq!(mismatch.message("axis 0"), "axis 0 must be 7, got 9");
        assert_eq!(bindings.sizes(&[n, doubled, Dim::known(5)]).unwrap()[..], [3, 7, 5]);
    }

    #[test]
    fn any_number_of_symbols_has_values() {
        let mut table = DimTable::default();
        let dims: [Dim; 3 * FEW] = symbols(&mut table);
        let mut bindings = Bindings::new(&table);
        for (value, dim) in dims.iter().enumerate() {
            assert_eq!(bindings.bind(dim, value as i64), Ok(()));
            let known: Vec<Option<i64>> = dims.iter().map(|dim| bindings.try_eval(dim)).collect();
            let expected = (0..dims.len()).map(|other| (other <= value).then_some(other as i64));
            assert_eq!(known, expected.collect::<Vec<_>>());
        }
        assert!(bindings.bind(&dims[1], 0).is_err() && bindings.bind(&dims[3 * FEW - 1], 0).is_err());
    }

    #[test]
    fn sizes_are_whole_and_not_negative() {
        let mut table = DimTable::default();
        let [n] = symbols(&mut table);
        for (dim, value) in [(n.clone() * 2, 7), (n.clone() + 4, 3)] {
            let mut bindings = Bindings::new(&table);
            let mismatch = bindings.bind(&dim, value).unwrap_err();
            assert_eq!((&mismatch.dim, mismatch.expected), (&dim, None));
            assert_eq!(mismatch.requirement(""), format!("is {dim}, which cannot be {value}"));
        }
    }

    #[test]
    fn a_dim_that_nothing_determines_has_a_near_name() {
        let table = DimTable::default();
        let mut bindings = Bindings::new(&table);
        bindings.bind(&Dim::symbol("row"), 3).unwrap();
        let error = bindings.eval(&(Dim::symbol("rows") * 2)).unwrap_err();
        assert_eq!(error.reason, "nothing determines dimension 2*rows; is it row?");
        assert_eq!(bindings.eval(&Dim::symbol("row")).ok(), Some(3));
    }

    #[test]
    fn equated_symbols_have_one_value() {
        let mut table = DimTable::default();
        let [n, m] = symbols(&mut table);
        table.merge(&n, &m).unwrap();
        let mut bindings = Bindings::new(&table);
        bindings.bind(&n, 4).unwrap();
        assert_eq!(bindings.try_eval(&m), Some(4));
        assert_eq!(bindings.bind_sizes(&[m.clone(), m], &[4, 5]).unwrap_err().0, 1);
    }

    #[test]
    fn an_equality_of_two_symbols_waits_for_one_of_them() {
        let mut table = DimTable::default();
        let [n, m] = symbols(&mut table);
        let product = n.clone() * m.clone();
        let mut bindings = Bindings::new(&table);
        bindings.bind(&product, 12).unwrap();
        bindings.solve_deferred().unwrap();
        assert_eq!(bindings.try_eval(&m), None);
        bindings.bind(&n, 3).unwrap();
        bindings.solve_deferred().unwrap();
        assert_eq!(bindings.try_eval(&m), Some(4));
        let mut bindings = Bindings::new(&table);
        bindings.bind(&product, 12).unwrap();
        bindings.bind(&n, 5).unwrap();
        let mismatch = bindings.solve_deferred().unwrap_err();
        assert_eq!((mismatch.expected, mismatch.got), (None, 12));
    }
}
