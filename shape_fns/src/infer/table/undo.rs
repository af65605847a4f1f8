//! [`Undo`]: the record that undoes one change of a [transaction](crate::DimTable::begin).

use crate::Dim;
use crate::dim::symbol::Symbol;

/// The state of the table at the start of a transaction: the lengths of its lists, and the current node.
#[derive(Debug)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Mark {
    pub(super) symbols: usize,
    pub(super) equalities: usize,
    pub(super) broadcasts: usize,
    pub(super) guards: usize,
    pub(super) trail: usize,
    pub(super) origin: u32,
}

/// A change of one map entry: the key and the value that the change replaced.
#[derive(Debug)]
pub(super) enum Undo {
    Binding(Symbol, Option<Dim>),
    LowerBound(Dim, Option<i64>),
    Introduced(Symbol),
}
