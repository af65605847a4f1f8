//! [`Root`]: a value that a kernel stores.

use super::kernel::BufferIx;
use crate::expr::{Expr, Index, Interner, StorageForm, StorageForms};

/// A value that the kernel stores, with the buffer and the index of the store.
#[derive(Clone)]
pub(crate) struct Root {
    pub expr: Expr,
    /// The imaginary part, if `expr` is the real part of a complex number.
    pub imaginary: Option<Expr>,
    pub buffer: BufferIx,
    pub index: Vec<Index>,
}

impl Root {
    /// Returns the expressions that the kernel stores.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.expr].into_iter().chain(&self.imaginary)
    }
}

/// Returns the roots in their storage form. A computed complex number becomes two parts; a complex number that only
/// moves becomes its bits.
pub(super) fn storage_roots(interner: &mut Interner, roots: &[Root]) -> Vec<Root> {
    let mut forms = StorageForms::new(interner);
    let stored = roots.iter().map(|root| {
        let (expr, imaginary) = match forms.of(&root.expr) {
            StorageForm::Whole(expr) | StorageForm::Parts { bits: Some(expr), .. } => (expr, None),
            StorageForm::Parts { parts: [real, imaginary], bits: None } => (real, Some(imaginary)),
        };
        Root { expr, imaginary, ..root.clone() }
    });
    stored.collect()
}
