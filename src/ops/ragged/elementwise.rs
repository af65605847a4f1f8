//! Elementwise ops on ragged values: the dense kernels run on the flat values.

use std::cmp::Ordering;
use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::broadcast::unequal;
use super::counts::with_size_of;
use crate::error::Result;
use crate::graph::{IntoOperand, RaggedValue, Value};
use crate::op::OpDef;
use crate::ops::operators::operators;
use crate::ops::{logical, math};

/// The other operand of an op on a ragged value: a ragged value, or anything that can be the other operand of a dense
/// value.
///
/// Axis 0 and uniform axes are repeated for the other operand if their size is known to be 1.
pub trait IntoRaggedOperand<'g> {
    #[doc(hidden)]
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>>;
}

/// The flat values of two operands that fit each other, and the rows of the result.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Beside<'g> {
    /// The flat values of the ragged operand.
    peer: Value<'g>,
    /// The flat values of the other operand.
    flat: Value<'g>,
    /// A value with the rows of the result.
    rows: RaggedValue<'g>,
}

impl<'g> IntoRaggedOperand<'g> for RaggedValue<'g> {
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>> {
        let [this, peer] = match self.shape().rank() == peer.shape().rank() {
            true => self.stretched(peer)?,
            false => [self, peer],
        };
        match this.ragged_rank().cmp(&peer.ragged_rank()) {
            Ordering::Equal => {
                let rows = peer.matched(this, location)?;
                let flat = with_size_of(this.flat_values(), rows.flat_values())?;
                Ok(Beside { peer: rows.flat_values(), flat, rows })
            }
            Ordering::Less => {
                let (rows, flat) = peer.spread_ragged(this, location)?;
                Ok(Beside { peer: rows.flat_values(), flat, rows })
            }
            Ordering::Greater => {
                let (rows, peer) = this.spread_ragged(peer, location)?;
                Ok(Beside { peer, flat: rows.flat_values(), rows })
            }
        }
    }
}

impl<'g, T: IntoOperand<'g>> IntoRaggedOperand<'g> for T {
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>> {
        let flat = peer.flat_values();
        let dense = self.into_operand(flat, location).ok()?;
        let (rows, dense) = peer.spread(dense)?;
        Ok(Beside { peer: rows.flat_values(), flat: dense, rows })
    }
}

impl<'g> Beside<'g> {
    /// Returns the ragged operand `peer`, guarded by the checks of both operands, and the flat values of the other
    /// operand, which must not have more partitions.
    pub(super) fn with_rows(
        self,
        peer: RaggedValue<'g>,
        location: &'static Location<'static>,
    ) -> Result<(RaggedValue<'g>, Value<'g>)> {
        let (rows, given) = (self.rows.partitions(), peer.partitions());
        // The rows of `peer` must not be repeated.
        let is_same = rows.len() == given.len() && rows.into_iter().zip(given).all(|(a, b)| a.is_same(b));
        match is_same {
            true => Ok((RaggedValue::new(self.peer, &self.rows.partitions()), self.flat)),
            false => Err(unequal(peer, self.rows, location)),
        }
    }

    /// Applies a function to the flat values of both operands.
    pub(super) fn apply(
        self,
        f: impl FnOnce(Value<'g>, Value<'g>) -> Result<Value<'g>>,
    ) -> Result<RaggedValue<'g>> {
        self.rows.with_flat_values(f(self.peer, self.flat)?)
    }
}

impl<'g> RaggedValue<'g> {
    /// Applies an op of two operands.
    pub(crate) fn binary(
        self,
        def: &'static OpDef,
        other: impl IntoRaggedOperand<'g>,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        self.in_call_at(def.name(), location, || {
            other
                .beside(self, location)?
                .apply(|flat, other| flat.graph().op(def).data(flat).data(other).finish_at(location))
        })
    }

    /// Applies an op to the dense operand `left` and to `self`.
    fn binary_after(
        self,
        left: impl IntoOperand<'g>,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        self.in_call_at(def.name(), location, || {
            let flat = self.flat_values();
            let (rows, left) = self.spread(left.into_operand(flat, location).ok()?)?;
            let call = flat.graph().op(def).data(left).data(rows.flat_values());
            rows.with_flat_values(call.finish_at(location)?)
        })
    }

    /// Applies an op of one operand.
    pub(crate) fn unary(
        self,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        self.with_flat_values(self.flat_values().unary(def, location)?)
    }

    fn or_poison(self, result: Result<RaggedValue<'g>>) -> RaggedValue<'g> {
        result.unwrap_or_else(|error| {
            RaggedValue::new(Value::poisoned(self.graph(), error, self.dtype()), &self.partitions())
        })
    }

    /// Returns the value itself, unless its flat values are poisoned.
    ///
    /// The shape and the dtype stay. Adds no op. As [`Value::ok`]; TensorFlow has no such op, because it raises
    /// errors at once.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2], [3]])?;
    /// let doubled = (rt * 2).ok()?;
    /// let doubled = g.compile(doubled)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(doubled, ragged![[2, 4], [6]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The located error of the operator that was refused.
    pub fn ok(self) -> Result<RaggedValue<'g>> {
        self.flat_values().ok().map(|_| self)
    }

    /// Divides as [`Value::div`](crate::Value::div) does, value by value. Fuses into kernels.
    ///
    /// # Errors
    /// As [`Value::div`](crate::Value::div); also if the partitions cannot be equal.
    #[expect(clippy::should_implement_trait, reason = "the operator cannot return a `Result`")]
    #[track_caller]
    pub fn div(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        self.binary(&math::div::DEF, other, Location::caller())
    }

    /// Computes `self == other`, value by value, as [`Value::equal`](crate::Value::equal) does. Fuses into kernels.
    ///
    /// # Errors
    /// As [`Value::equal`](crate::Value::equal); also if the partitions cannot be equal.
    #[track_caller]
    pub fn equal(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        self.binary(&logical::equality::EQUAL, other, Location::caller())
    }

    /// Computes `self != other`, value by value, as [`Value::not_equal`](crate::Value::not_equal) does. Fuses into
    /// kernels.
    ///
    /// # Errors
    /// As [`Value::not_equal`](crate::Value::not_equal); also if the partitions cannot be equal.
    #[track_caller]
    pub fn not_equal(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        self.binary(&logical::equality::NOT_EQUAL, other, Location::caller())
    }

    /// Computes the absolute value of every element. Fuses into kernels.
    ///
    /// As [`Value::abs`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::abs`](crate::Value::abs).
    #[track_caller]
    pub fn abs(self) -> Result<RaggedValue<'g>> {
        self.in_call("abs", || self.map_flat_values(Value::abs))
    }

    /// Converts the elements to another dtype. Fuses into kernels.
    ///
    /// As [`Value::cast`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::cast`](crate::Value::cast).
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Result<RaggedValue<'g>> {
        self.in_call("cast", || self.map_flat_values(|flat| flat.cast(dtype)))
    }

    /// Returns a ragged value of the same rows whose elements are all 0. Fuses into kernels.
    ///
    /// As [`Value::zeros_like`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::zeros_like`](crate::Value::zeros_like).
    #[track_caller]
    pub fn zeros_like(self) -> Result<RaggedValue<'g>> {
        self.in_call("zeros_like", || self.map_flat_values(Value::zeros_like))
    }

    /// Returns a ragged value of the same rows whose elements are all 1. Fuses into kernels.
    ///
    /// As [`Value::ones_like`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::ones_like`](crate::Value::ones_like).
    #[track_caller]
    pub fn ones_like(self) -> Result<RaggedValue<'g>> {
        self.in_call("ones_like", || self.map_flat_values(Value::ones_like))
    }

    /// Clamps every element to `[low, high]`. Fuses into kernels.
    ///
    /// As [`Value::clip_by_value`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::clip_by_value`](crate::Value::clip_by_value).
    #[track_caller]
    pub fn clip_by_value(
        self,
        low: impl IntoOperand<'g>,
        high: impl IntoOperand<'g>,
    ) -> Result<RaggedValue<'g>> {
        self.in_call("clip_by_value", || self.map_flat_values(|flat| flat.clip_by_value(low, high)))
    }

    /// Takes elements of `yes` where `self` is true, and of `no` elsewhere. `no` is ragged, a scalar, or a dense value
    /// that broadcasts. Fuses into kernels.
    ///
    /// As [`Value::select`] on the flat values.
    ///
    /// # Errors
    /// `self` is not bool; otherwise as [`Value::select`](crate::Value::select); also if the partitions cannot be
    /// equal.
    #[doc(alias = "where")]
    #[track_caller]
    pub fn select(self, yes: RaggedValue<'g>, no: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("select", || {
            let (yes, flat) = no.beside(yes, location)?.with_rows(yes, location)?;
            let matched = self.matched(yes, location)?;
            // Partitions that are known to be equal need the checks of the other operands.
            let is_same = self.partitions().into_iter().zip(yes.partitions()).all(|(a, b)| a.is_same(b));
            let rows =
                if is_same { RaggedValue::new(self.flat_values(), &yes.partitions()) } else { matched };
            let (condition, peer) = (rows.flat_values(), yes.flat_values());
            // A dense `no` may lack the axis of the flat values.
            let has_axis = flat.shape().rank() == peer.shape().rank()
                && condition.graph().same_dim(&peer.dim(0)?, &flat.dim(0)?) == Some(true);
            let flat = if has_axis { with_size_of(flat, condition)? } else { flat };
            rows.with_flat_values(condition.select(with_size_of(peer, condition)?, flat)?)
        })
    }
}

operators!(RaggedValue, IntoRaggedOperand);

/// Implements operators of a dense and a ragged operand.
macro_rules! dense_beside_ragged {
    ($($Trait:ident $method:ident $DEF:path;)*) => {$(
        impl<'g> std::ops::$Trait<RaggedValue<'g>> for Value<'g> {
            type Output = RaggedValue<'g>;
            #[track_caller]
            fn $method(self, other: RaggedValue<'g>) -> RaggedValue<'g> {
                other.or_poison(other.binary_after(self, &$DEF, Location::caller()))
            }
        }
    )*};
}
dense_beside_ragged! {
    Add add math::binary::ADD;
    Sub sub math::binary::SUB;
    Mul mul math::binary::MUL;
    Div div math::div::DEF;
    Rem rem math::binary::FLOORMOD;
    BitAnd bitand logical::bits::BITWISE_AND;
    BitOr bitor logical::bits::BITWISE_OR;
    BitXor bitxor logical::bits::BITWISE_XOR;
}
