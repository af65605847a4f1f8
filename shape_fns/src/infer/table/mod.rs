//! [`DimTable`]: what a graph knows about its dimensions.

mod equality;
mod provenance;
mod requirement;
mod transaction;
mod undo;

pub use equality::Equality;
pub use provenance::Provenance;
pub use requirement::GuardRecord;
pub use undo::Mark;

use rustc_hash::{FxHashMap, FxHashSet};
use undo::Undo;

use crate::Guard;
use crate::dim::symbol::{Symbol, SymbolKind};
use crate::{Dim, PartialElements, TensorShape};

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
    in_definition_order: bool,
}

impl DimTable {
    /// A table that knows nothing.
    pub fn new() -> DimTable {
        DimTable::default()
    }

    /// A table that replaces a symbol by symbols made before it, and by no others: what is known where a symbol is made
    /// suffices for everything that replaces it. An equality that could only be solved otherwise is a guard.
    ///
    /// A run reads sizes in the order in which they are defined, so that it needs this order. It costs knowledge: from
    /// `k == n*m`, where `k` is the oldest, nothing follows for other terms.
    pub fn in_definition_order() -> DimTable {
        DimTable { in_definition_order: true, ..DimTable::default() }
    }

    pub(crate) fn keeps_definition_order(&self) -> bool {
        self.in_definition_order
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
}
