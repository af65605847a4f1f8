//! [`DimTable`]: the knowledge of a graph about its dimensions.

mod equality;
mod lower_bounds;
mod provenance;
mod reliable;
mod requirement;
mod transaction;
mod undo;

pub use equality::{DimBroadcast, Equality};
pub use provenance::Provenance;
pub use requirement::GuardRecord;
pub use undo::Mark;

use lower_bounds::ReliableBounds;
use rustc_hash::{FxHashMap, FxHashSet};
use undo::Undo;

use crate::Guard;
use crate::dim::symbol::{MAX_COUNT, Symbol, SymbolKind, TableNumber};
use crate::{Dim, PartialElements, TensorShape};

/// The knowledge of a graph about its dimensions: its anonymous symbols, the equalities between dimensions, and the
/// guards. Each entry is stored with the node that introduced the entry.
///
/// Knowledge only grows; only the rollback of a [transaction](DimTable::begin) removes knowledge. After an error the
/// table may hold a part of what the refused call added, so the caller must roll back.
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
    /// The node that introduced each anonymous symbol, by the index of the symbol, or [`RETIRED`].
    origins: Vec<u32>,
    /// The number of the table, which each of its anonymous symbols has. The first symbol gives the table its number.
    number: Option<TableNumber>,
    /// The first use of each named symbol.
    introduced: FxHashMap<Symbol, Introduction>,
    /// The dimension that each replaced symbol equals. The symbols of this dimension may be replaced too.
    bindings: FxHashMap<Symbol, Dim>,
    equalities: Vec<Equality>,
    /// Pairs of symbols that were broadcast with each other.
    broadcasts: Vec<DimBroadcast>,
    guards: Vec<GuardRecord>,
    /// The guards of `guards`, for look-up.
    recorded: FxHashSet<Guard>,
    /// Indices into `guards` by the symbols that the guards mention. A rollback leaves stale indices, which only cost a
    /// look-up.
    watchers: FxHashMap<Symbol, Vec<u32>>,
    /// For each sum, the greatest lower bound that a guard implies. The sum has no constant term, and its coefficients
    /// have no common factor.
    lower_bounds: FxHashMap<Dim, i64>,
    /// The bounds that may simplify the dims of the current node.
    reliable: ReliableBounds,
    /// The changes to undo if an open transaction is rolled back.
    trail: Vec<Undo>,
    /// The number of open transactions.
    open_transactions: usize,
    /// The node for which new knowledge is recorded.
    origin: u32,
    /// The guard of an earlier node that the latest equality of the node contradicts, if there is one. A rollback keeps
    /// the guard for the error of the node.
    broken: Option<GuardRecord>,
    /// Whether symbols are replaced only by older symbols: see [`DimTable::in_definition_order`].
    in_definition_order: bool,
}

/// The origin of a symbol that a rollback took away.
const RETIRED: u32 = u32::MAX;

/// The first use of a named symbol in a table.
#[derive(Clone, Copy, Debug)]
struct Introduction {
    /// The node that used the symbol.
    node: u32,
    /// The number of names that the table knew before.
    order: usize,
}

/// The place of a symbol in the order of definitions: a class, a number within the class, and a name.
type Age = (u8, u64, &'static str);

impl DimTable {
    /// Makes an empty table.
    pub fn new() -> DimTable {
        DimTable::default()
    }

    /// Makes a table that replaces a symbol only by older symbols. So when a run defines a symbol, it already knows
    /// every size in the dimension that replaces the symbol. An equality without such a solution becomes a guard.
    ///
    /// A run needs this order, because it reads sizes in the order of their definitions. In this order the table learns
    /// less: if `k` is older than `n` and `m`, then `k == n*m` is a guard, and `n*m` is not replaced elsewhere.
    pub fn in_definition_order() -> DimTable {
        DimTable { in_definition_order: true, ..DimTable::default() }
    }

    /// Makes a table for the inference of one call on sizes that a run knows. The attributes of the call may still hold
    /// anonymous symbols of the graph. No symbol of this table equals a symbol of a table that was made otherwise.
    pub fn of_run() -> DimTable {
        DimTable { number: Some(TableNumber::OF_RUN), ..DimTable::default() }
    }

    pub(crate) fn keeps_definition_order(&self) -> bool {
        self.in_definition_order
    }

    /// Makes a new anonymous symbol. The result is invalid if the table has 2^29 symbols already.
    pub fn fresh(&mut self, kind: SymbolKind) -> Dim {
        if self.origins.len() >= MAX_COUNT {
            return Dim::too_large();
        }
        let number = *self.number.get_or_insert_with(TableNumber::next);
        let symbol = Symbol::of_table(number, self.next_symbol(), kind);
        self.origins.push(self.origin);
        Dim::from(symbol)
    }

    /// Returns the index of the next anonymous symbol.
    pub(crate) fn next_symbol(&self) -> usize {
        self.origins.len()
    }

    /// Returns the index of an anonymous symbol of this table; `None` for any other symbol.
    pub(crate) fn index_of(&self, symbol: Symbol) -> Option<usize> {
        let (table, index) = symbol.in_table()?;
        (Some(table) == self.number).then_some(index)
    }

    /// Rolls back to a mark, and gives no later symbol the index of a symbol that was made since. So a dimension that
    /// somebody kept does not become another one: see [`DimTable::is_foreign`].
    pub fn rollback_and_retire(&mut self, mark: Mark) {
        let symbols = self.origins.len();
        self.rollback(mark);
        self.origins.resize(symbols, RETIRED);
    }

    /// Returns whether a symbol is an anonymous symbol of another table, or one that
    /// [`DimTable::rollback_and_retire`] took away. It means nothing in this table.
    ///
    /// ```
    /// use shapeflow_shape_fns::{Dim, DimTable, SymbolKind};
    ///
    /// let (mut ours, mut theirs) = (DimTable::new(), DimTable::new());
    /// let [own, other] = [&mut ours, &mut theirs].map(|table| table.fresh(SymbolKind::Size));
    /// let is_foreign = |dim: &Dim| dim.as_symbol().is_some_and(|symbol| ours.is_foreign(symbol));
    /// assert!(own != other && !is_foreign(&own) && is_foreign(&other) && !is_foreign(&Dim::symbol("n")));
    /// ```
    pub fn is_foreign(&self, symbol: Symbol) -> bool {
        match self.index_of(symbol) {
            Some(index) => self.origins.get(index).is_none_or(|origin| *origin == RETIRED),
            None => symbol.in_table().is_some(),
        }
    }

    /// Converts a shape that belongs to no table to a shape of this table. The free symbols of the shape
    /// become new anonymous symbols of the table. The named symbols of the shape are recorded as
    /// introduced by the current node if they are new.
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
                    let order = self.introduced.len();
                    self.introduced.insert(symbol, Introduction { node: self.origin, order });
                    self.remember(Undo::Introduced(symbol));
                }
                None
            })
        }))
    }

    /// Returns the place of a symbol in the order of definitions. A name that an input introduced is older than every
    /// anonymous symbol. An equality gives any other name its value, so such a name is the newest. The order does not
    /// depend on the ids of interned names: these depend on the other names in the process.
    fn age(&self, symbol: Symbol) -> Age {
        match (symbol.age(), self.introduced.get(&symbol)) {
            (Some(age), _) => (1, age, ""),
            (None, Some(introduction)) => (0, introduction.order as u64, ""),
            (None, None) => (2, 0, symbol.name().unwrap_or_default()),
        }
    }

    /// Sets the node for which all further knowledge is recorded.
    pub fn set_origin(&mut self, node: u32) {
        self.origin = node;
        self.broken = None;
        self.reliable = ReliableBounds::default();
    }

    /// Returns whether any symbol was replaced by an equal dimension.
    pub(crate) fn has_equalities(&self) -> bool {
        !self.bindings.is_empty()
    }

    /// Returns whether any of `dims` mentions a symbol that was replaced by an equal dimension.
    pub(crate) fn is_stale(&self, dims: &[Dim]) -> bool {
        let mut stale = false;
        for dim in dims {
            dim.symbols(&mut |symbol| stale |= self.bindings.contains_key(&symbol));
        }
        stale
    }

    /// Returns the dimension with all replaced symbols substituted.
    #[inline]
    pub fn resolve(&self, dim: &Dim) -> Dim {
        if dim.is_known() || self.bindings.is_empty() { dim.clone() } else { self.resolve_bound(dim) }
    }

    fn resolve_bound(&self, dim: &Dim) -> Dim {
        if let Some(symbol) = dim.as_symbol() {
            return self.root(symbol);
        }
        if !self.is_stale(std::slice::from_ref(dim)) {
            return dim.clone();
        }
        // A result that is too large to represent keeps the old form. That loses precision but stays correct.
        dim.try_substitute(&mut |symbol| Some(self.root(symbol))).unwrap_or_else(|_| dim.clone())
    }

    /// Returns the shape with every dimension resolved.
    pub fn resolve_shape(&self, shape: &TensorShape) -> TensorShape {
        if self.has_equalities() { shape.map(|dim| self.resolve(dim)) } else { shape.clone() }
    }

    /// Returns the elements, each resolved.
    pub fn resolve_elements(&self, elements: &PartialElements) -> PartialElements {
        if self.has_equalities() { elements.map(|dim| self.resolve(dim)) } else { elements.clone() }
    }

    /// Returns the resolved dimension of a symbol. The algorithm is iterative, because a chain of equalities may be as
    /// long as the graph.
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
            let len_before = stack.len();
            bound.symbols(&mut |inner| {
                if self.bindings.contains_key(&inner) && !done.contains_key(&inner) {
                    stack.push(inner);
                }
            });
            if stack.len() == len_before {
                let resolved = bound.try_substitute(&mut |inner| done.get(&inner).cloned());
                done.insert(top, resolved.unwrap_or_else(|_| Dim::from(top)));
                stack.pop();
            }
        }
        done.remove(&symbol).unwrap_or_else(|| Dim::from(symbol))
    }

    /// Returns whether two dimensions are equal under the equalities of the table; see [`Dim::same`].
    pub fn same(&self, a: &Dim, b: &Dim) -> Option<bool> {
        self.resolve(a).same(&self.resolve(b))
    }
}
