//! `Expr`: the scalar language in which ops say how one output element is computed.
//!
//! **In**: an op's body builds an [`Expr`] for one output element. The body gets one [`Index`] per output
//! axis, asks a [`LowerCx`] for operand elements and reductions, and combines them with operators, with the methods of
//! [`Expr`], or with the functions of [`math`].
//!
//! **Out**: a DAG of typed nodes. The compiler checks their dtypes and fuses the expressions of several ops into one
//! kernel. Indices are linear in the loop axes and their coefficients are [`Dim`]s, so one expression holds for every
//! size. The interpreter and every kind of machine code compute the same bits, except for NaN payloads.
//!
//! **Who calls it**: the bodies of the ops, of this crate and of yours: see [`guide::own_ops`](crate::guide::own_ops).
//!
//! **Absent**: tensors, memory, layouts, vectors and loops. The only iteration is [`LowerCx::reduce`]. Nothing here
//! knows an op, a graph or a machine.

// The parts that only this crate uses:
// - `verify` checks the dtypes of every node.
// - `Interner` hash-conses nodes, folds constants, applies exact identities, and rewrites (substitutes axes, inlines
//   one expression into another).
// - `StorageForms` rewrites complex numbers as pairs of real expressions, and elements without arithmetic as their
//   bits.
// - `ExprProgram` flattens an expression, and `Evaluator` computes its elements one by one. This interpreter is the
//   reference: every emitter computes the same bits, except for NaN payloads.
// - `eval_unary`, `eval_binary`, `eval_cast` and the like define each primitive operation on `Scalar`s.
// - `fused_mul_add` is the only function that asks for the processor.
//
// `ops` write the bodies; `eval` verifies them and interprets them on the host; `lower` fuses them into kernels;
// `codegen` emits machine code for them.

mod broadcast;
mod complex;
mod conversion;
mod display;
mod eval;
mod index;
mod intern;
mod interpret;
mod kept_checks;
mod lower_cx;
pub mod math;
mod operators;
mod program;
mod rename;
mod scalar;
mod storage_form;
mod symbol;
mod verify;
mod walk;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim};

pub(crate) use broadcast::{Indices, broadcast_dims};
#[cfg(test)]
pub(crate) use eval::accumulator;
pub(crate) use eval::{eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary, fused_mul_add};
pub(crate) use index::Atom;
pub use index::{Axis, Index};
pub(crate) use intern::Interner;
pub(crate) use interpret::{ElementRead, Env, Evaluator, Fault};
pub(crate) use kept_checks::keep_checks;
pub use lower_cx::LowerCx;
pub(crate) use program::ExprProgram;
pub use scalar::Scalar;
pub(crate) use scalar::scalar_dtype;
pub(crate) use storage_form::{StorageForm, StorageForms, is_own_storage_form};
pub(crate) use verify::verify;
pub(crate) use walk::post_order;

/// A primitive operation of one argument; the result has the argument's dtype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UnaryOp {
    /// `-x`; integers wrap.
    Neg,
    /// `|x|`; integers wrap.
    Abs,
    /// Correctly rounded square root; floats only.
    Sqrt,
    /// The largest integer `<= x`; floats only.
    Floor,
    /// The smallest integer `>= x`; floats only.
    Ceil,
    /// `x` rounded toward zero to an integer; floats only.
    Trunc,
    /// `x` rounded to the nearest integer, ties to even; floats only.
    Round,
    /// Bitwise complement of integers; logical negation of bools.
    Not,
}

/// A primitive operation of two arguments of one dtype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BinaryOp {
    /// Sum; integers wrap.
    Add,
    /// Difference; integers wrap.
    Sub,
    /// Product; integers wrap.
    Mul,
    /// Floats: IEEE quotient. Integers: the quotient rounded toward zero; `MIN / -1` wraps to `MIN`, and a zero
    /// divisor fails the run.
    Div,
    /// Remainder of [`BinaryOp::Div`], with the sign of the dividend; floats as C's `fmod`.
    Rem,
    /// The smaller argument; NaN if either is NaN. `-0.0` and `0.0` compare equal: the result is the first argument.
    Min,
    /// The larger argument; NaN if either is NaN. `-0.0` and `0.0` compare equal: the result is the first argument.
    Max,
    /// Bitwise `and` of integers; logical `and` of bools.
    And,
    /// Bitwise `or` of integers; logical `or` of bools.
    Or,
    /// Bitwise exclusive `or` of integers; logical exclusive `or` of bools.
    Xor,
    /// Left shift; the count is taken modulo the bit width. Integers only.
    Shl,
    /// Right shift, arithmetic for signed integers; the count is taken modulo the bit width. Integers only.
    Shr,
    /// Equality as bool; NaN equals nothing.
    Eq,
    /// The opposite of [`BinaryOp::Eq`].
    Ne,
    /// Less, as bool; false for NaN.
    Lt,
    /// Less or equal, as bool; false for NaN.
    Le,
    /// `f(y)` if `|y|` is at least 2^20, else `x`; f64 only. `f(y)` is precise, and NaN if `y` is infinite. `x` is what
    /// an expression made of `y` that is precise for smaller `|y|`.
    LargeAngle(AngleFunction),
}

/// A function of an angle: sine, cosine or tangent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AngleFunction {
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The tangent.
    Tan,
}

impl AngleFunction {
    /// Every function, in the order of their numbers.
    pub(crate) const ALL: [AngleFunction; 3] = [AngleFunction::Sin, AngleFunction::Cos, AngleFunction::Tan];

    /// Returns the number of the function.
    pub(crate) fn number(self) -> usize {
        self as usize
    }
}

impl BinaryOp {
    /// Returns whether the result is a bool for arguments of every dtype.
    pub(crate) fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le)
    }
}

/// The operation with which a reduction combines elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Sum; 0 if empty.
    Sum,
    /// Product; 1 if empty.
    Prod,
    /// Maximum; NaN if any element is NaN; the dtype's lowest value (-inf for floats) if empty. `-0.0` and `0.0`
    /// compare equal: the result is either.
    Max,
    /// Minimum; NaN if any element is NaN; the dtype's highest value (+inf for floats) if empty. `-0.0` and `0.0`
    /// compare equal: the result is either.
    Min,
    /// Logical and; true if empty.
    All,
    /// Logical or; false if empty.
    Any,
}

/// A part of a complex number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    Real,
    Imaginary,
}

/// The condition `low <= index < high`, which guards an arm of [`Expr::case`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InRange {
    /// The index under test.
    pub index: Index,
    /// The lower bound, inclusive.
    pub low: Dim,
    /// The upper bound, exclusive.
    pub high: Dim,
}

/// The operation of a node and its children. The node also holds the dtype of the result.
///
/// Equality and hash compare children by identity and indices by structure.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) enum ExprKind {
    Const(Scalar),
    /// A dimension as an `i64`.
    Size(Dim),
    /// An index as an `i64`.
    Iota(Box<Index>),
    /// An element of `source`, the number of an operand (in an op's body) or of a buffer (in a kernel).
    Load {
        source: u32,
        index: Box<[Index]>,
    },
    /// The element of `source` at a row-major position.
    LoadFlat {
        source: u32,
        position: Box<Index>,
    },
    Unary(UnaryOp, Expr),
    Binary(BinaryOp, Expr, Expr),
    /// `a * b + c`, floats only. The operation rounds once if the processor has a fused multiply-add, else twice; only
    /// the functions of [`math`] may use it, because their stated errors allow for both roundings.
    MulAdd(Expr, Expr, Expr),
    /// `Select(condition, yes, no)`; both choices are evaluated.
    Select(Expr, Expr, Expr),
    Cast(Expr),
    /// The bits of the child, read as another dtype of the same size.
    Bitcast(Expr),
    /// `Case(arms, otherwise)`: the value of the first arm whose ranges all hold, else `otherwise`. Only the chosen
    /// expression is evaluated.
    Case(Box<[(Box<[InRange]>, Expr)]>, Expr),
    Reduce {
        op: ReduceOp,
        axes: Box<[(Axis, Dim)]>,
        body: Expr,
    },
    /// `Complex(real, imaginary)`: a complex number.
    Complex(Expr, Expr),
    /// A part of a complex number.
    Part(Part, Expr),
    /// `value` (i32 or i64) as an i64. The run fails unless `0 <= value < limit`. The value is an index into `axis`, an
    /// exponent if `axis` is [`EXPONENT`], or a size if `axis` is [`SIZE`].
    CheckIndex {
        value: Expr,
        limit: Dim,
        axis: u32,
    },
}

/// Stands for an axis in a check of an exponent.
pub(crate) const EXPONENT: u32 = u32::MAX;

/// Stands for an axis in a check of a size that must fit i32.
pub(crate) const SIZE: u32 = u32::MAX - 1;

struct ExprNode {
    dtype: DType,
    kind: ExprKind,
}

/// Nodes stay small because indices are boxed: most nodes hold none.
const _: () = assert!(size_of::<ExprNode>() <= 48);

/// One element of a result, as a scalar expression. A clone is cheap: it shares the node.
///
/// Arithmetic operators build primitive operations on two expressions of the same dtype; a body that mixes dtypes is
/// refused when its op is added to a graph. Operators on complex numbers build the operations on their parts.
///
/// The functions of [`expr::math`](crate::expr::math) build the other functions: `exp`, `log`, `tanh`, ….
#[derive(Clone)]
pub struct Expr(Arc<ExprNode>);

impl Expr {
    pub(crate) fn new(dtype: DType, kind: ExprKind) -> Expr {
        Expr(Arc::new(ExprNode { dtype, kind }))
    }

    pub(crate) fn kind(&self) -> &ExprKind {
        &self.0.kind
    }

    /// Returns the address of the shared node, which is its identity.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Returns the dtype of the element.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Makes a constant. Its dtype is the dtype of `value`.
    pub fn constant(value: impl Into<Scalar>) -> Expr {
        let value = value.into();
        Expr::new(value.dtype(), ExprKind::Const(value))
    }

    /// Makes the zero of a dtype: 0, `false` or the empty string.
    pub fn zero(dtype: DType) -> Expr {
        match dtype {
            DType::String => Expr::new(dtype, ExprKind::Const(scalar::EMPTY_STRING)),
            _ => Expr::number(dtype, 0.0),
        }
    }

    /// Makes the value of a dimension, an `i64` that is known when the kernel runs.
    pub fn size(dim: Dim) -> Expr {
        Expr::new(DType::I64, ExprKind::Size(dim))
    }

    /// Converts a size, an `i64`, to `dtype`, i32 or i64. The run fails if the size does not fit.
    pub(crate) fn size_as(self, dtype: DType) -> Expr {
        let is_known = match self.kind() {
            ExprKind::Size(dim) => dim.as_known().is_some_and(|size| i32::try_from(size).is_ok()),
            _ => false,
        };
        if dtype != DType::I32 || is_known {
            return self.cast(dtype);
        }
        let limit = Dim::known(i64::from(i32::MAX) + 1);
        Expr::new(DType::I64, ExprKind::CheckIndex { value: self, limit, axis: SIZE }).cast(dtype)
    }

    /// Makes the product of dimensions, an `i64`. If one [`Dim`] cannot hold the product, the kernel multiplies several
    /// factors at run time.
    pub fn size_product(dims: impl IntoIterator<Item = Dim>) -> Expr {
        let mut factors = vec![Dim::known(1)];
        for dim in dims {
            match factors.last().and_then(|last| last.checked_mul(&dim).ok()) {
                Some(product) => *factors.last_mut().expect("there is always a factor") = product,
                None => factors.push(dim),
            }
        }
        let product = factors.into_iter().map(Expr::size).reduce(|a, b| a * b);
        product.expect("there is always a factor")
    }

    /// Makes the value of an index, an `i64`.
    pub fn iota(index: Index) -> Expr {
        Expr::new(DType::I64, ExprKind::Iota(Box::new(index)))
    }

    /// Applies a primitive operation of one argument.
    pub fn unary(self, op: UnaryOp) -> Expr {
        if self.dtype().is_complex()
            && let Some(built) = complex::unary(op, &self)
        {
            return built;
        }
        Expr::new(self.dtype(), ExprKind::Unary(op, self))
    }

    /// Applies a primitive operation of two arguments, `self op other`.
    pub fn binary(self, op: BinaryOp, other: Expr) -> Expr {
        if self.dtype().is_complex()
            && self.dtype() == other.dtype()
            && let Some(built) = complex::binary(op, &self, &other)
        {
            return built;
        }
        let dtype = if op.is_comparison() { DType::Bool } else { self.dtype() };
        Expr::new(dtype, ExprKind::Binary(op, self, other))
    }

    /// Makes `self * b + c`, rounded once if the processor has a fused multiply-add, else twice.
    pub fn mul_add(self, b: Expr, c: Expr) -> Expr {
        Expr::new(self.dtype(), ExprKind::MulAdd(self, b, c))
    }

    /// Makes `yes` if `self` (a bool) is true, else `no`. Both choices are evaluated.
    pub fn select(self, yes: Expr, no: Expr) -> Expr {
        Expr::new(yes.dtype(), ExprKind::Select(self, yes, no))
    }

    /// Makes the value of the first of `arms` whose ranges all hold, else `otherwise`. Only the chosen value is
    /// evaluated.
    pub fn case(arms: Vec<(Vec<InRange>, Expr)>, otherwise: Expr) -> Expr {
        let arms = arms.into_iter().map(|(ranges, value)| (ranges.into(), value)).collect();
        Expr::new(otherwise.dtype(), ExprKind::Case(arms, otherwise))
    }

    /// Reduces `self` over `axes`, each given with its extent.
    pub(crate) fn reduce(self, op: ReduceOp, axes: Box<[(Axis, Dim)]>) -> Expr {
        Expr::new(self.dtype(), ExprKind::Reduce { op, axes, body: self })
    }

    /// Takes the larger of `self` and `other`, see [`BinaryOp::Max`].
    pub fn maximum(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Max, other)
    }

    /// Takes the smaller of `self` and `other`, see [`BinaryOp::Min`].
    pub fn minimum(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Min, other)
    }

    /// Makes `self < other`.
    pub fn less(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Lt, other)
    }

    /// Makes `self <= other`.
    pub fn less_equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Le, other)
    }

    /// Makes `self == other`.
    pub fn equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Eq, other)
    }

    /// Makes `self != other`.
    pub fn not_equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Ne, other)
    }

    /// Takes the square root, correctly rounded; floats only.
    pub fn sqrt(self) -> Expr {
        self.unary(UnaryOp::Sqrt)
    }

    /// Takes the absolute value; integers wrap.
    pub fn abs(self) -> Expr {
        self.unary(UnaryOp::Abs)
    }

    /// Takes the largest integer `<= self`; floats only.
    pub fn floor(self) -> Expr {
        self.unary(UnaryOp::Floor)
    }
}

/// Compares identity, not structure: two expressions are equal only if they share one node.
impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}
