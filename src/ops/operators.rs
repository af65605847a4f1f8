//! Rust's operators on values: `x + y` is `x.add(y)`, but a failed call gives a poisoned value.
//!
//! An operator cannot return a `Result`. A *poisoned* value carries the error of the failed call to the next method
//! call. That call returns the error.

use std::iter::Sum;
use std::panic::Location;

use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::OpDef;

impl<'g> Value<'g> {
    /// Adds a node of two operands. A Rust number as the second operand takes the dtype of the first.
    pub(crate) fn binary<T: IntoOperand<'g>>(
        self,
        def: &'static OpDef,
        other: T,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let other = other.into_operand(self, location).refused_by(def.name(), location);
        self.graph().op(def).data(self).data(other).finish_at(location)
    }

    /// Adds a node of the operands `left` and `self`. A Rust number takes the dtype of `self`.
    pub(crate) fn binary_after(
        self,
        left: impl IntoOperand<'g>,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        left.into_operand(self, location).refused_by(def.name(), location).binary(def, self, location)
    }

    /// Adds a node of one operand.
    pub(crate) fn unary(
        self,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        self.graph().op(def).data(self).finish_at(location)
    }
}

/// Implements Rust's operators for a type of values. A failed call gives a poisoned value.
macro_rules! operators {
    ($Value:ident, $IntoOperand:ident) => {
        $crate::ops::operators::operators! { @binary $Value $IntoOperand
            Add add $crate::ops::math::binary::ADD,
            Sub sub $crate::ops::math::binary::SUB,
            Mul mul $crate::ops::math::binary::MUL,
            Div div $crate::ops::math::div::DEF,
            Rem rem $crate::ops::math::binary::FLOORMOD,
            BitAnd bitand $crate::ops::logical::bits::BITWISE_AND,
            BitOr bitor $crate::ops::logical::bits::BITWISE_OR,
            BitXor bitxor $crate::ops::logical::bits::BITWISE_XOR,
        }
        $crate::ops::operators::operators! { @unary $Value
            Neg neg $crate::ops::math::unary::NEG,
            Not not $crate::ops::logical::negation::BITWISE_NOT,
        }
    };
    (@binary $Value:ident $IntoOperand:ident $($Trait:ident $method:ident $DEF:path,)*) => {$(
        impl<'g, T: $IntoOperand<'g>> std::ops::$Trait<T> for $Value<'g> {
            type Output = $Value<'g>;
            #[track_caller]
            fn $method(self, other: T) -> $Value<'g> {
                self.or_poison(self.binary(&$DEF, other, std::panic::Location::caller()))
            }
        }
        $crate::ops::operators::operators!(@left f64 $Value $Trait $method $DEF);
        $crate::ops::operators::operators!(@left i64 $Value $Trait $method $DEF);
    )*};
    (@left $Scalar:ident $Value:ident $Trait:ident $method:ident $DEF:path) => {
        impl<'g> std::ops::$Trait<$Value<'g>> for $Scalar {
            type Output = $Value<'g>;
            #[track_caller]
            fn $method(self, other: $Value<'g>) -> $Value<'g> {
                other.or_poison(other.binary_after(self, &$DEF, std::panic::Location::caller()))
            }
        }
    };
    (@unary $Value:ident $($Trait:ident $method:ident $DEF:path,)*) => {$(
        impl<'g> std::ops::$Trait for $Value<'g> {
            type Output = $Value<'g>;
            #[track_caller]
            fn $method(self) -> $Value<'g> {
                self.or_poison(self.unary(&$DEF, std::panic::Location::caller()))
            }
        }
    )*};
}
pub(super) use operators;

operators!(Value, IntoOperand);

/// Adds up at least one value.
///
/// # Panics
/// The iterator is empty: a zero would need a graph.
impl<'g> Sum for Value<'g> {
    #[track_caller]
    fn sum<I: Iterator<Item = Value<'g>>>(mut values: I) -> Value<'g> {
        let first = values.next().expect("a sum needs at least one value, whose graph gets the result");
        values.fold(first, |sum, value| sum + value)
    }
}
