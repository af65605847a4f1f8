//! [`DimTable`]: what a graph knows about its dimensions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::bail;
use crate::guard::Guard;
use crate::symbol::{Symbol, SymbolKind};
use crate::{Bounds, Dim, PartialElements, Result, ShapeError, TensorShape, solve};

/// What a graph knows about its dimensions: its anonymous symbols, equalities between dimensions, and guards; each
/// with the node that made it.
///
/// Knowledge only grows, except that a [transaction](DimTable::begin) can be taken back whole. After an error the
/// table may hold part of what the refused call added: roll back.
///
/// ```
/// use shapeflow_shape_fns::{Dim, DimTable, Guard, SymbolKind};
/// let mut table = DimTable::new();
/// let (n, k) = (Dim::symbol("n"), table.fresh(SymbolKind::Size));
/// table.merge(&(2 * &k), &(2 * &n + 2))?;
/// assert_eq!(table.resolve(&k), &n + 1);
/// table.require(Guard::Ge(k, Dim::known(1)))?; // proven: nothing is recorded
/// assert!(table.guards().is_empty());
/// assert!(table.merge(&n, &(&n + 1)).is_err());
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
#[derive(Debug, Default)]
pub struct DimTable {
    /// The node that made each anonymous symbol.
    origins: Vec<u32>,
    /// The node that first used each named symbol.
    introduced: FxHashMap<Symbol, u32>,
    bindings: FxHashMap<Symbol, Dim>,
    equalities: Vec<Equality>,
    guards: Vec<GuardRecord>,
    recorded: FxHashSet<Guard>,
    /// Guards by the symbols they mention. Entries of guards taken back stay and only cost a look.
    watchers: FxHashMap<Symbol, Vec<u32>>,
    /// Terms without constant, and the least value a guard promises of them.
    lower_bounds: FxHashMap<Dim, i64>,
    trail: Vec<Undo>,
    open: usize,
    origin: u32,
}

/// A symbol found equal to a dimension, and the node that made it so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equality {
    /// The symbol that was replaced.
    pub symbol: Symbol,
    /// What it equals, as known then; [`DimTable::resolve`] tells more.
    pub dim: Dim,
    /// The node that required it.
    pub origin: u32,
}

/// A guard and the node that required it first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardRecord {
    /// What must hold.
    pub guard: Guard,
    /// The node that required it.
    pub origin: u32,
}

/// One step of where a dimension comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// The node that introduced a symbol.
    Introduced(Symbol, u32),
    /// An equality that tied a symbol to a dimension.
    Equated(Equality),
}

/// Where a transaction began.
#[derive(Debug)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Mark {
    symbols: usize,
    equalities: usize,
    guards: usize,
    trail: usize,
    origin: u32,
}

#[derive(Debug)]
enum Undo {
    Binding(Symbol, Option<Dim>),
    LowerBound(Dim, Option<i64>),
    Introduced(Symbol),
}

impl DimTable {
    /// A table that knows nothing.
    pub fn new() -> DimTable {
        DimTable::default()
    }

    /// A new anonymous symbol; invalid past 2^29 of them.
    pub fn fresh(&mut self, kind: SymbolKind) -> Dim {
        match Symbol::of_table(self.origins.len(), kind) {
            Some(symbol) => {
                self.origins.push(self.origin);
                Dim::from(symbol)
            }
            None => Dim::too_large(),
        }
    }

    /// The number of anonymous symbols made so far.
    pub(crate) fn symbol_count(&self) -> usize {
        self.origins.len()
    }

    /// A free-standing shape as one of this table: its own anonymous symbols get new ones, and the named symbols it
    /// mentions are noted as introduced by the current node.
    pub fn import(&mut self, shape: &TensorShape) -> TensorShape {
        let Some(dims) = shape.dims() else { return TensorShape::unranked() };
        let mut renumbered: FxHashMap<Symbol, Dim> = FxHashMap::default();
        TensorShape::new(dims.iter().map(|dim| {
            dim.substitute(&mut |symbol| {
                if symbol.is_free() {
                    let fresh = renumbered.entry(symbol).or_insert_with(|| self.fresh(SymbolKind::Size));
                    return Some(fresh.clone());
                }
                if !symbol.is_anonymous() && !self.introduced.contains_key(&symbol) {
                    self.introduced.insert(symbol, self.origin);
                    self.remember(Undo::Introduced(symbol));
                }
                None
            })
        }))
    }

    /// The node that what follows is recorded for.
    pub fn set_origin(&mut self, node: u32) {
        self.origin = node;
    }

    /// Starts a transaction; transactions nest. End it with [`DimTable::commit`] or [`DimTable::rollback`].
    pub fn begin(&mut self) -> Mark {
        self.open += 1;
        Mark {
            symbols: self.origins.len(),
            equalities: self.equalities.len(),
            guards: self.guards.len(),
            trail: self.trail.len(),
            origin: self.origin,
        }
    }

    /// Keeps what was added since the mark.
    pub fn commit(&mut self, mark: Mark) {
        debug_assert!(mark.trail <= self.trail.len(), "transactions end in the reverse order of their begin");
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.trail.clear();
        }
    }

    /// Takes back symbols, equalities and guards added since the mark.
    pub fn rollback(&mut self, mark: Mark) {
        while self.trail.len() > mark.trail {
            match self.trail.pop() {
                Some(Undo::Binding(symbol, Some(dim))) => drop(self.bindings.insert(symbol, dim)),
                Some(Undo::Binding(symbol, None)) => drop(self.bindings.remove(&symbol)),
                Some(Undo::LowerBound(dim, Some(bound))) => drop(self.lower_bounds.insert(dim, bound)),
                Some(Undo::LowerBound(dim, None)) => drop(self.lower_bounds.remove(&dim)),
                Some(Undo::Introduced(symbol)) => drop(self.introduced.remove(&symbol)),
                None => break,
            }
        }
        for record in self.guards.drain(mark.guards.min(self.guards.len())..) {
            self.recorded.remove(&record.guard);
        }
        self.equalities.truncate(mark.equalities);
        self.origins.truncate(mark.symbols);
        self.origin = mark.origin;
        self.open = self.open.saturating_sub(1);
    }

    fn remember(&mut self, undo: Undo) {
        if self.open > 0 {
            self.trail.push(undo);
        }
    }

    /// Whether any symbol was found equal to something.
    pub(crate) fn has_equalities(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// Whether any of these dimensions mentions a symbol that was found equal to something.
    pub(crate) fn is_stale(&self, dims: &[Dim]) -> bool {
        let mut stale = false;
        for dim in dims {
            dim.symbols(&mut |symbol| stale |= self.bindings.contains_key(&symbol));
        }
        stale
    }

    /// The dimension with everything known of its symbols put in.
    #[inline]
    pub fn resolve(&self, dim: &Dim) -> Dim {
        if dim.is_known() || self.bindings.is_empty() { dim.clone() } else { self.resolve_bound(dim) }
    }

    fn resolve_bound(&self, dim: &Dim) -> Dim {
        if let Some(symbol) = dim.as_symbol() {
            return self.root(symbol);
        }
        let mut bound = false;
        dim.symbols(&mut |symbol| bound |= self.bindings.contains_key(&symbol));
        if !bound {
            return dim.clone();
        }
        // A term too large to write stays as it is, which loses knowledge and nothing else.
        dim.try_substitute(&mut |symbol| Some(self.root(symbol))).unwrap_or_else(|_| dim.clone())
    }

    /// The shape with every dimension resolved.
    pub fn resolve_shape(&self, shape: &TensorShape) -> TensorShape {
        if self.has_equalities() { shape.map(|dim| self.resolve(dim)) } else { shape.clone() }
    }

    /// The elements with every one resolved.
    pub fn resolve_elements(&self, elements: &PartialElements) -> PartialElements {
        if self.has_equalities() { elements.map(|dim| self.resolve(dim)) } else { elements.clone() }
    }

    /// What a symbol stands for. Iterative: chains of equalities may be as long as the graph.
    fn root(&self, symbol: Symbol) -> Dim {
        let mut symbol = symbol;
        let bound = loop {
            match self.bindings.get(&symbol) {
                None => return Dim::from(symbol),
                Some(dim) => match dim.as_symbol() {
                    Some(next) => symbol = next,
                    None => break dim,
                },
            }
        };
        if bound.is_known() {
            return bound.clone();
        }
        let mut done: FxHashMap<Symbol, Dim> = FxHashMap::default();
        let mut stack = vec![symbol];
        while let Some(&top) = stack.last() {
            let Some(bound) = self.bindings.get(&top).filter(|_| !done.contains_key(&top)) else {
                stack.pop();
                continue;
            };
            let waiting = stack.len();
            bound.symbols(&mut |inner| {
                if self.bindings.contains_key(&inner) && !done.contains_key(&inner) {
                    stack.push(inner);
                }
            });
            if stack.len() == waiting {
                let resolved = bound.try_substitute(&mut |inner| done.get(&inner).cloned());
                done.insert(top, resolved.unwrap_or_else(|_| Dim::from(top)));
                stack.pop();
            }
        }
        done.remove(&symbol).unwrap_or_else(|| Dim::from(symbol))
    }

    /// Whether two dimensions are equal: proven, disproven, or neither.
    pub fn same(&self, a: &Dim, b: &Dim) -> Option<bool> {
        self.resolve(a).same(&self.resolve(b))
    }

    /// Whether `a >= b`: proven from forms and recorded guards, disproven, or neither.
    pub fn prove_ge(&self, a: &Dim, b: &Dim) -> Option<bool> {
        self.decide(&Guard::Ge(self.resolve(a), self.resolve(b)))
    }

    /// Decides a guard on resolved dimensions.
    fn decide(&self, guard: &Guard) -> Option<bool> {
        if let Some(answer) = guard.decide() {
            return Some(answer);
        }
        if self.recorded.contains(guard) {
            return Some(true);
        }
        let Guard::Ge(a, b) = guard else { return None };
        if self.lower_bounds.is_empty() {
            return None;
        }
        let difference = a.plus(b, -1).ok()?;
        let bounds = self.bounds(&difference);
        if bounds.is_above(-1) || bounds.is_below(0) {
            return Some(bounds.is_above(-1));
        }
        let (term, least) = as_lower_bound(&difference)?;
        (*self.lower_bounds.get(&term)? >= least).then_some(true)
    }

    /// The interval a resolved dimension lies in, given what guards promise of its symbols.
    pub fn bounds(&self, dim: &Dim) -> Bounds {
        if self.lower_bounds.is_empty() {
            return dim.bounds();
        }
        dim.bounds_given(&|symbol| {
            let promised = self.lower_bounds.get(&Dim::from(symbol)).map(|least| i128::from(*least));
            let own = Bounds::of_kind(symbol.kind());
            Bounds { lower: own.lower.max(promised), upper: own.upper }
        })
    }

    /// Makes two dimensions equal, and returns what both are. A symbol is solved for where one can be; otherwise a
    /// guard is recorded.
    ///
    /// # Errors
    /// They are provably different, or a recorded guard contradicts their equality.
    pub fn merge(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        a.validate()?;
        b.validate()?;
        let (a, b) = (self.resolve_compressing(a), self.resolve_compressing(b));
        if a == b {
            return Ok(a);
        }
        let solution = match (a.as_symbol(), b.as_symbol(), a.plus(&b, -1)) {
            (None, None, Err(_)) => None,
            (_, _, difference) => {
                match solve::solve(&difference.unwrap_or_else(|_| Dim::too_large()), &a, &b) {
                    solve::Answer::Never => bail!("dimensions must be equal, got {a} and {b}"),
                    solve::Answer::Bind(symbol, dim) if !self.is_tied(symbol, &dim) => Some((symbol, dim)),
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
                let merged = if b.is_known() { b.clone() } else { a.clone() };
                self.record(Guard::Eq(a, b));
                Ok(merged)
            }
        }
    }

    /// Whether a symbol already has a value, or its value would mention itself through one.
    fn is_tied(&self, symbol: Symbol, dim: &Dim) -> bool {
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

    fn bind(&mut self, symbol: Symbol, dim: Dim, a: &Dim, b: &Dim) -> Result<()> {
        if symbol.kind() == SymbolKind::Size {
            match self.prove_ge(&dim, &Dim::known(0)) {
                Some(true) => {}
                Some(false) => bail!("a dimension must not be negative, got {dim} from {a} == {b}"),
                None => self.record(Guard::Ge(dim.clone(), Dim::known(0))),
            }
        }
        // What guards promise of the symbol is promised of the dimension now.
        let promised = self.lower_bounds.get(&Dim::from(symbol)).copied();
        let old = self.bindings.insert(symbol, dim.clone());
        self.remember(Undo::Binding(symbol, old));
        self.equalities.push(Equality { symbol, dim: dim.clone(), origin: self.origin });
        if let Some(least) = promised {
            self.promise(&Guard::Ge(dim, Dim::known(least)));
        }
        self.check_watchers(symbol)
    }

    /// Checks the guards that mention a symbol after it got a value.
    fn check_watchers(&mut self, symbol: Symbol) -> Result<()> {
        let Some(watching) = self.watchers.remove(&symbol) else { return Ok(()) };
        let mut outcome = Ok(());
        for &index in &watching {
            let Some(record) = self.guards.get(index as usize) else { continue };
            let now = record.guard.map(|dim| self.resolve(dim));
            match now.decide() {
                Some(false) => {
                    outcome = Err(ShapeError::new(format_args!("{} must hold, got {now}", record.guard)));
                    break;
                }
                Some(true) => {}
                None => {
                    self.watch(&now, index);
                    self.promise(&now);
                }
            }
        }
        self.watchers.insert(symbol, watching);
        outcome
    }

    fn watch(&mut self, guard: &Guard, index: u32) {
        for dim in guard.dims() {
            dim.symbols(&mut |symbol| {
                let watching = self.watchers.entry(symbol).or_default();
                if watching.last() != Some(&index) {
                    watching.push(index);
                }
            });
        }
    }

    /// Notes what a `>=` guard says of the term it compares.
    fn promise(&mut self, guard: &Guard) {
        if let Guard::Ge(a, b) = guard
            && let Ok(difference) = a.plus(b, -1)
            && let Some((term, least)) = as_lower_bound(&difference)
        {
            let old = self.lower_bounds.get(&term).copied();
            if old.is_none_or(|old| old < least) {
                self.lower_bounds.insert(term.clone(), least);
                self.remember(Undo::LowerBound(term, old));
            }
        }
    }

    fn record(&mut self, guard: Guard) {
        if !self.recorded.insert(guard.clone()) {
            return;
        }
        self.promise(&guard);
        self.watch(&guard, u32::try_from(self.guards.len()).unwrap_or(u32::MAX));
        self.guards.push(GuardRecord { guard, origin: self.origin });
    }

    /// Resolves, and shortens the chain of equalities walked.
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

    /// Merges two shapes axis by axis; an unranked one takes the other's dimensions.
    ///
    /// # Errors
    /// The ranks differ or an axis cannot be merged: the message names it.
    pub fn merge_shapes(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        let (Some(x), Some(y)) = (a.dims(), b.dims()) else {
            return Ok(self.resolve_shape(if a.rank().is_some() { a } else { b }));
        };
        if x.len() != y.len() {
            bail!("shapes must have the same rank, got {a} and {b}");
        }
        let mut merged = Vec::with_capacity(x.len());
        for (axis, (x, y)) in x.iter().zip(y).enumerate() {
            merged.push(self.merge(x, y).map_err(|error| {
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

    /// Requires a condition: proven, it is dropped; undecided, it is recorded once.
    ///
    /// # Errors
    /// It is disproven.
    pub fn require(&mut self, guard: Guard) -> Result<()> {
        let guard = if self.has_equalities() { guard.map(|dim| self.resolve(dim)) } else { guard };
        if self.recorded.contains(&guard) {
            return Ok(());
        }
        for dim in guard.dims() {
            dim.validate()?;
        }
        match (self.decide(&guard), &guard) {
            (Some(true), _) => Ok(()),
            (Some(false), Guard::Divides { divisor, dividend }) => {
                bail!("{dividend} must be a multiple of {divisor}")
            }
            (Some(false), Guard::OneOrEqual(a, b)) => bail!("{a} must be 1 or {b}"),
            (Some(false), Guard::Eq(a, b)) => bail!("dimensions must be equal, got {a} and {b}"),
            (Some(false), Guard::Ge(a, b)) => bail!("{a} must be at least {b}"),
            (None, Guard::Eq(a, b)) => self.merge(a, b).map(drop),
            (None, Guard::OneOrEqual(a, b)) if a.same(&Dim::known(1)) == Some(false) => {
                self.merge(a, b).map(drop)
            }
            (None, Guard::OneOrEqual(a, b)) if a.same(b) == Some(false) => {
                self.merge(a, &Dim::known(1)).map(drop)
            }
            // What divides as a term divides wherever it is not 0.
            (None, Guard::Divides { divisor, dividend })
                if dividend.modulo(divisor).is_ok_and(|rest| rest == 0)
                    && self.bounds(divisor).is_above(-1) =>
            {
                self.require(Guard::Ge(divisor.clone(), Dim::known(1)))
            }
            (None, _) => {
                self.record(guard);
                Ok(())
            }
        }
    }

    /// What must be checked when sizes are known, in the order it was required. Guards decided since stay listed.
    pub fn guards(&self) -> &[GuardRecord] {
        &self.guards
    }

    /// The equalities, in the order they were found.
    pub fn equalities(&self) -> &[Equality] {
        &self.equalities
    }

    /// Where the symbols of a dimension come from, and the equalities that tied them, in the order they were made.
    pub fn explain(&self, dim: &Dim) -> Vec<Provenance> {
        let mut involved: FxHashSet<Symbol> = FxHashSet::default();
        let mut pending = Vec::new();
        dim.symbols(&mut |symbol| pending.push(symbol));
        self.resolve(dim).symbols(&mut |symbol| pending.push(symbol));
        let mut ties: FxHashMap<Symbol, Vec<usize>> = FxHashMap::default();
        for (index, equality) in self.equalities.iter().enumerate() {
            ties.entry(equality.symbol).or_default().push(index);
            equality.dim.symbols(&mut |symbol| ties.entry(symbol).or_default().push(index));
        }
        let mut used: FxHashSet<usize> = FxHashSet::default();
        while let Some(symbol) = pending.pop() {
            if !involved.insert(symbol) {
                continue;
            }
            for &index in ties.get(&symbol).into_iter().flatten() {
                if used.insert(index)
                    && let Some(equality) = self.equalities.get(index)
                {
                    pending.push(equality.symbol);
                    equality.dim.symbols(&mut |other| pending.push(other));
                }
            }
        }
        let mut symbols: Vec<Symbol> = involved.into_iter().collect();
        symbols.sort_unstable();
        let mut used: Vec<usize> = used.into_iter().collect();
        used.sort_unstable();
        let introduced = symbols.into_iter().filter_map(|symbol| {
            let node = match symbol.table_index() {
                Some(index) => self.origins.get(index),
                None => self.introduced.get(&symbol),
            };
            node.map(|node| Provenance::Introduced(symbol, *node))
        });
        let equated =
            used.into_iter().filter_map(|index| self.equalities.get(index).cloned().map(Provenance::Equated));
        introduced.chain(equated).collect()
    }
}

/// `difference >= 0` as a term without constant or common factor, and the least value it may have.
fn as_lower_bound(difference: &Dim) -> Option<(Dim, i64)> {
    let (term, constant) = difference.without_constant()?;
    let content = term.content();
    let least = Dim::known(constant.checked_neg()?).ceil_div(&Dim::known(content)).ok()?.as_known()?;
    Some((term.exact_div(&Dim::known(content))?, least))
}
