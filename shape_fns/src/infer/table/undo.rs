//! [`Undo`]: how a [transaction](crate::DimTable::begin) takes one change of a table back.

use crate::Dim;
use crate::dim::symbol::Symbol;

/// Where a transaction began.
#[derive(Debug)]
#[must_use = "a transaction ends by commit or rollback"]
pub struct Mark {
    pub(super) symbols: usize,
    pub(super) equalities: usize,
    pub(super) guards: usize,
    pub(super) trail: usize,
    pub(super) origin: u32,
}

/// One change of a table, as the value it replaced.
#[derive(Debug)]
pub(super) enum Undo {
    Binding(Symbol, Option<Dim>),
    LowerBound(Dim, Option<i64>),
    Introduced(Symbol),
}
