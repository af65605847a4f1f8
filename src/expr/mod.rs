//! `Expr`: one element of a tensor as a scalar expression over loads.

mod display;
mod eval;
mod index;
mod intern;
mod interpret;
mod lower_cx;
pub mod math;
mod program;
mod rename;
mod scalar;
mod symbol;
mod verify;
mod walk;

use std::hash::{Hash, Hasher};
use std::ops;
use std::sync::Arc;

use shapeflow_shape_fns::{DType, Dim};

#[cfg(test)]
pub(crate) use eval::accumulator;
pub(crate) use eval::{eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary, fused_mul_add};
pub(crate) use index::Atom;
pub use index::{Axis, Index};
pub(crate) use intern::Interner;
pub(crate) use interpret::{Env, Evaluator, Fault};
pub use lower_cx::LowerCx;
pub(crate) use program::Program;
pub use scalar::Scalar;
pub(crate) use scalar::scalar_dtype;
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
    /// Largest integer not above; floats only.
    Floor,
    /// Smallest integer not below; floats only.
    Ceil,
    /// Toward zero; floats only.
    Trunc,
    /// To the nearest integer, ties to even; floats only.
    Round,
    /// Every bit inverted; integers and bool.
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
    /// Floats: IEEE quotient. Integers: toward zero; the least value by -1 wraps. A zero integer
    /// divisor fails the run.
    Div,
    /// Remainder of [`BinaryOp::Div`], with the sign of the dividend; floats as C's `fmod`.
    Rem,
    /// The smaller; NaN if either is NaN. `-0.0` and `0.0` compare equal: the first is taken.
    Min,
    /// The larger; NaN if either is NaN. `-0.0` and `0.0` compare equal: the first is taken.
    Max,
    /// Bitwise or logical and; integers and bool.
    And,
    /// Bitwise or logical or; integers and bool.
    Or,
    /// Bitwise or logical exclusive or; integers and bool.
    Xor,
    /// Bits moved up; the count is taken modulo the width. Integers only.
    Shl,
    /// Bits moved down, the sign kept for signed integers; the count is taken modulo the width.
    Shr,
    /// Equality as bool; NaN equals nothing.
    Eq,
    /// The opposite of [`BinaryOp::Eq`].
    Ne,
    /// Less, as bool; false for NaN.
    Lt,
    /// Less or equal, as bool; false for NaN.
    Le,
}

impl BinaryOp {
    /// Whether the result is a bool whatever the arguments are.
    pub(crate) fn is_comparison(self) -> bool {
        matches!(self, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le)
    }
}

/// How a reduction combines elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Sum, from 0.
    Sum,
    /// Product, from 1.
    Prod,
    /// Largest, from the lowest value (-inf for floats); NaN wins.
    Max,
    /// Smallest, from the highest value (+inf for floats); NaN wins.
    Min,
    /// Logical and, from true.
    All,
    /// Logical or, from false.
    Any,
}

/// `low <= index < high`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InRange {
    /// What is tested.
    pub index: Index,
    /// The first value inside.
    pub low: Dim,
    /// The first value after.
    pub high: Dim,
}

/// What an element is computed from. The dtype of the result stands beside it.
///
/// Equality and hash take parts by identity and indices by structure.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) enum ExprKind {
    Const(Scalar),
    /// A dimension as an `i64`.
    Size(Dim),
    /// An index as an `i64`.
    Iota(Box<Index>),
    /// An element of operand (in a template) or buffer (in a kernel) `source`.
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
    /// `a * b + c`: rounded once where the processor has it, else twice; floats only, and only
    /// inside math expansions.
    MulAdd(Expr, Expr, Expr),
    /// The second where the first holds, else the third; both are evaluated.
    Select(Expr, Expr, Expr),
    Cast(Expr),
    /// The same bits as another type of the same size.
    Bitcast(Expr),
    /// The first arm all of whose ranges hold, else the last expression; only that arm is evaluated.
    Case(Box<[(Box<[InRange]>, Expr)]>, Expr),
    Reduce {
        op: ReduceOp,
        axes: Box<[(Axis, Dim)]>,
        body: Expr,
    },
    /// The value (i32 or i64) as an i64, which must lie in `[0, limit)` or the run fails.
    CheckIndex {
        value: Expr,
        limit: Dim,
        axis: u32,
    },
}

struct Node {
    dtype: DType,
    kind: ExprKind,
}

/// Most nodes hold no index: those that do keep it apart, so that all are small.
const _: () = assert!(size_of::<Node>() <= 48);

/// One element of a result, as a scalar expression. Cheap to clone: the parts are shared.
///
/// Arithmetic operators build primitive operations on two expressions of the same dtype; a body
/// that mixes dtypes is refused when its op is added to a graph.
#[derive(Clone)]
pub struct Expr(Arc<Node>);

impl Expr {
    pub(crate) fn new(dtype: DType, kind: ExprKind) -> Expr {
        Expr(Arc::new(Node { dtype, kind }))
    }

    pub(crate) fn kind(&self) -> &ExprKind {
        &self.0.kind
    }

    /// The identity of the shared node.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// A constant of the value's own dtype.
    pub fn constant(value: impl Into<Scalar>) -> Expr {
        let value = value.into();
        Expr::new(value.dtype(), ExprKind::Const(value))
    }

    /// `value` converted to the dtype of `self`, as a constant.
    pub fn like(&self, value: f64) -> Expr {
        Expr::constant(eval_cast(Scalar::F64(value), self.dtype()))
    }

    /// A dimension as an `i64`, known when the kernel runs.
    pub fn size(dim: Dim) -> Expr {
        Expr::new(DType::I64, ExprKind::Size(dim))
    }

    /// The product of dimensions as an `i64`. What is too large for one dimension is multiplied when the kernel runs.
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

    /// The value of an index as an `i64`.
    pub fn iota(index: Index) -> Expr {
        Expr::new(DType::I64, ExprKind::Iota(Box::new(index)))
    }

    /// A primitive operation of one argument.
    pub fn unary(self, op: UnaryOp) -> Expr {
        Expr::new(self.dtype(), ExprKind::Unary(op, self))
    }

    /// A primitive operation of two arguments.
    pub fn binary(self, op: BinaryOp, other: Expr) -> Expr {
        let dtype = if op.is_comparison() { DType::Bool } else { self.dtype() };
        Expr::new(dtype, ExprKind::Binary(op, self, other))
    }

    /// `self * b + c`, fused where the processor can.
    pub fn mul_add(self, b: Expr, c: Expr) -> Expr {
        Expr::new(self.dtype(), ExprKind::MulAdd(self, b, c))
    }

    /// `yes` where `self` (a bool) holds, else `no`.
    pub fn select(self, yes: Expr, no: Expr) -> Expr {
        Expr::new(yes.dtype(), ExprKind::Select(self, yes, no))
    }

    /// Converted: float to integer saturates toward zero and takes NaN to 0, integer to integer
    /// wraps, anything to bool is `!= 0`.
    pub fn cast(self, dtype: DType) -> Expr {
        if self.dtype() == dtype { self } else { Expr::new(dtype, ExprKind::Cast(self)) }
    }

    /// The same bits as another type of the same size.
    pub fn bitcast(self, dtype: DType) -> Expr {
        if self.dtype() == dtype { self } else { Expr::new(dtype, ExprKind::Bitcast(self)) }
    }

    /// The first of `arms` whose ranges all hold, else `otherwise`. Only that one is evaluated.
    pub fn case(arms: Vec<(Vec<InRange>, Expr)>, otherwise: Expr) -> Expr {
        let arms = arms.into_iter().map(|(ranges, value)| (ranges.into(), value)).collect();
        Expr::new(otherwise.dtype(), ExprKind::Case(arms, otherwise))
    }

    /// `self` reduced over `axes`.
    pub(crate) fn reduce(self, op: ReduceOp, axes: Box<[(Axis, Dim)]>) -> Expr {
        Expr::new(self.dtype(), ExprKind::Reduce { op, axes, body: self })
    }

    /// The larger of two.
    pub fn maximum(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Max, other)
    }

    /// The smaller of two.
    pub fn minimum(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Min, other)
    }

    /// `self < other`.
    pub fn less(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Lt, other)
    }

    /// `self <= other`.
    pub fn less_equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Le, other)
    }

    /// `self == other`.
    pub fn equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Eq, other)
    }

    /// `self != other`.
    pub fn not_equal(self, other: Expr) -> Expr {
        self.binary(BinaryOp::Ne, other)
    }

    /// Correctly rounded square root.
    pub fn sqrt(self) -> Expr {
        self.unary(UnaryOp::Sqrt)
    }

    /// Absolute value.
    pub fn abs(self) -> Expr {
        self.unary(UnaryOp::Abs)
    }

    /// Largest integer not above.
    pub fn floor(self) -> Expr {
        self.unary(UnaryOp::Floor)
    }
}

/// Identity, not structure: equal only if the same shared node.
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

macro_rules! operators {
    ($($Trait:ident $method:ident $Op:ident),*) => {$(
        impl ops::$Trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.binary(BinaryOp::$Op, other)
            }
        }

        impl ops::$Trait<&Expr> for Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                self.binary(BinaryOp::$Op, other.clone())
            }
        }

        impl ops::$Trait<Expr> for &Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.clone().binary(BinaryOp::$Op, other)
            }
        }

        impl ops::$Trait for &Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                self.clone().binary(BinaryOp::$Op, other.clone())
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

impl ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.unary(UnaryOp::Neg)
    }
}

impl ops::Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        self.unary(UnaryOp::Not)
    }
}
