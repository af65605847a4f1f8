//! [`StorageForm`]: an expression of any dtype as expressions of the dtypes that kernels compute with.
//!
//! A complex number becomes two real expressions. An element of a dtype without arithmetic, such as a quantized dtype,
//! becomes an integer with the same bits.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::intern::rebuild;
use super::{Expr, ExprKind, Index, Interner, Part, ReduceOp, Scalar, post_order, scalar_dtype};

/// Returns whether an expression of this dtype is its own storage form. A string is its own storage form too, because
/// kernels only move strings.
pub(crate) fn is_own_storage_form(dtype: DType) -> bool {
    // `scalar_dtype` returns the dtype that stores the elements.
    dtype == DType::String || scalar_dtype(dtype) == Some(dtype)
}

/// The expression or expressions that replace an expression.
#[derive(Clone)]
pub(crate) enum StorageForm {
    /// An expression of the dtype that stores the elements.
    Whole(Expr),
    /// The parts of a complex number.
    Parts {
        parts: [Expr; 2],
        /// The bits of the number, a u64, if the expression only moves numbers of 8 bytes.
        bits: Option<Expr>,
    },
}

/// Derives the storage forms of expressions of one interner.
pub(crate) struct StorageForms<'a> {
    interner: &'a mut Interner,
    /// The storage forms made so far, by the address of their expression.
    forms: FxHashMap<usize, StorageForm>,
}

impl<'a> StorageForms<'a> {
    /// Makes a converter whose expressions come from `interner`.
    pub(crate) fn new(interner: &'a mut Interner) -> StorageForms<'a> {
        StorageForms { interner, forms: FxHashMap::default() }
    }

    /// Returns the storage form of `root`, which must live as long as the converter.
    ///
    /// A load of a part of a complex number has one index more than its source has axes. This last index is the part: 0
    /// or 1. The position of a row-major load counts parts, two for each number.
    pub(crate) fn of(&mut self, root: &Expr) -> StorageForm {
        for expr in post_order([root]) {
            if !self.forms.contains_key(&expr.address()) {
                let form = self.derive(expr);
                self.forms.insert(expr.address(), form);
            }
        }
        self.forms[&root.address()].clone()
    }

    fn derive(&mut self, expr: &Expr) -> StorageForm {
        if let ExprKind::Part(part, number) = expr.kind() {
            return StorageForm::Whole(self.parts(number)[*part as usize].clone());
        }
        match expr.dtype().part() {
            Some(part) => self.derive_complex(expr, part),
            None => StorageForm::Whole(self.derive_whole(expr)),
        }
    }

    fn form(&self, expr: &Expr) -> &StorageForm {
        self.forms.get(&expr.address()).expect("children come before their parents")
    }

    /// Returns the storage form of an expression whose dtype is not complex.
    fn whole(&self, expr: &Expr) -> Expr {
        match self.form(expr) {
            StorageForm::Whole(whole) => whole.clone(),
            StorageForm::Parts { .. } => {
                unreachable!(
                    "`verify` allows complex operands only where elements are moved or parts are taken"
                )
            }
        }
    }

    fn parts(&self, expr: &Expr) -> [Expr; 2] {
        match self.form(expr) {
            StorageForm::Parts { parts, .. } => parts.clone(),
            StorageForm::Whole(_) => unreachable!("`verify` requires a complex number here"),
        }
    }

    fn bits(&self, expr: &Expr) -> Option<Expr> {
        match self.form(expr) {
            StorageForm::Parts { bits, .. } => bits.clone(),
            StorageForm::Whole(_) => None,
        }
    }

    fn derive_whole(&mut self, expr: &Expr) -> Expr {
        let dtype = scalar_dtype(expr.dtype()).unwrap_or(expr.dtype());
        let mut is_same = dtype == expr.dtype();
        expr.for_each_child(&mut |child| is_same &= self.whole(child) == *child);
        if is_same {
            return expr.clone();
        }
        if let ExprKind::Bitcast(x) = expr.kind()
            && self.whole(x).dtype() == dtype
        {
            return self.whole(x);
        }
        let kind = rebuild(expr.kind(), &mut Index::axis, &mut |child| self.whole(child));
        self.interner.intern(dtype, kind)
    }

    fn derive_complex(&mut self, expr: &Expr, part: DType) -> StorageForm {
        // Two floats of 32 bits are moved as one word. There is no word of 16 bytes.
        let word = (part == DType::F32).then_some(DType::U64);
        match expr.kind() {
            ExprKind::Complex(real, imaginary) => {
                let parts = [self.whole(real), self.whole(imaginary)];
                let bits = match (parts[0].kind(), parts[1].kind(), word) {
                    (ExprKind::Const(real), ExprKind::Const(imaginary), Some(word)) => {
                        let mut bytes = [0; 8];
                        let (low, high) = bytes.split_at_mut(4);
                        real.write_bytes(low).and(imaginary.write_bytes(high)).expect("a part has 4 bytes");
                        Some(
                            self.interner
                                .intern(word, ExprKind::Const(Scalar::U64(u64::from_ne_bytes(bytes)))),
                        )
                    }
                    _ => None,
                };
                StorageForm::Parts { parts, bits }
            }
            ExprKind::Load { source, index } => {
                let mut whole = |child: &Expr| self.whole(child);
                let index: SmallVec<[Index; 4]> =
                    index.iter().map(|index| index.substitute(&mut Index::axis, &mut whole)).collect();
                let parts = [0, 1].map(|number| {
                    let index = index.iter().cloned().chain([Index::from(number)]).collect();
                    self.interner.intern(part, ExprKind::Load { source: *source, index })
                });
                let load = |word| {
                    self.interner
                        .intern(word, ExprKind::Load { source: *source, index: index.to_vec().into() })
                };
                StorageForm::Parts { parts, bits: word.map(load) }
            }
            ExprKind::LoadFlat { source, position } => {
                let position = position.substitute(&mut Index::axis, &mut |child| self.whole(child));
                let parts = [0, 1].map(|number| {
                    let position = Box::new(position.clone() * 2i64 + Index::from(number));
                    self.interner.intern(part, ExprKind::LoadFlat { source: *source, position })
                });
                let load = |word| {
                    self.interner
                        .intern(word, ExprKind::LoadFlat { source: *source, position: Box::new(position) })
                };
                StorageForm::Parts { parts, bits: word.map(load) }
            }
            ExprKind::Select(..) | ExprKind::Case(..) | ExprKind::Reduce { op: ReduceOp::Sum, .. } => {
                let is_reduce = matches!(expr.kind(), ExprKind::Reduce { .. });
                let parts = [Part::Real, Part::Imaginary].map(|which| {
                    let kind = rebuild(expr.kind(), &mut Index::axis, &mut |child| match self.form(child) {
                        StorageForm::Whole(whole) => whole.clone(),
                        StorageForm::Parts { parts, .. } => parts[which as usize].clone(),
                    });
                    self.interner.intern(part, kind)
                });
                let mut moves = !is_reduce;
                expr.for_each_child(&mut |child| {
                    moves &= matches!(self.form(child), StorageForm::Whole(_)) || self.bits(child).is_some();
                });
                let bits = word.filter(|_| moves).map(|word| {
                    let kind = rebuild(expr.kind(), &mut Index::axis, &mut |child| {
                        self.bits(child).unwrap_or_else(|| self.whole(child))
                    });
                    self.interner.intern(word, kind)
                });
                StorageForm::Parts { parts, bits }
            }
            _ => unreachable!("`verify` refuses other operations on complex numbers"),
        }
    }
}
