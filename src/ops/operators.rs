//! Rust's operators on values: `x + y` is `x.add(y)`, but a failed call gives a poisoned value.
//!
//! An operator cannot return a `Result`. A *poisoned* value carries the error of the failed call to the next method
//! call, which returns it.

use std::iter::Sum;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};
use std::panic::Location;

use super::{logical, math};
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
        let other = other.into_operand(self, location);
        self.graph().op(def).data(self).data(other).finish_at(location)
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

macro_rules! operators {
    ($($Trait:ident $method:ident $DEF:path),* $(,)?) => {$(
        impl<'g, T: IntoOperand<'g>> $Trait<T> for Value<'g> {
            type Output = Value<'g>;
            #[track_caller]
            fn $method(self, other: T) -> Value<'g> {
                self.or_poison(self.binary(&$DEF, other, Location::caller()))
            }
        }
        operators!(@left f64 $Trait $method $DEF);
        operators!(@left i64 $Trait $method $DEF);
    )*};
    (@left $Scalar:ident $Trait:ident $method:ident $DEF:path) => {
        impl<'g> $Trait<Value<'g>> for $Scalar {
            type Output = Value<'g>;
            #[track_caller]
            fn $method(self, other: Value<'g>) -> Value<'g> {
                let location = Location::caller();
                let left = self.into_operand(other, location);
                other.or_poison(left.binary(&$DEF, other, location))
            }
        }
    };
}
operators!(
    Add add math::binary::ADD,
    Sub sub math::binary::SUB,
    Mul mul math::binary::MUL,
    Div div math::div::DEF,
    Rem rem math::binary::FLOORMOD,
    BitAnd bitand logical::bits::BITWISE_AND,
    BitOr bitor logical::bits::BITWISE_OR,
    BitXor bitxor logical::bits::BITWISE_XOR,
);

impl<'g> Neg for Value<'g> {
    type Output = Value<'g>;
    #[track_caller]
    fn neg(self) -> Value<'g> {
        self.or_poison(self.unary(&math::unary::NEG, Location::caller()))
    }
}

impl<'g> Not for Value<'g> {
    type Output = Value<'g>;
    #[track_caller]
    fn not(self) -> Value<'g> {
        self.or_poison(self.unary(&logical::negation::BITWISE_NOT, Location::caller()))
    }
}

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
