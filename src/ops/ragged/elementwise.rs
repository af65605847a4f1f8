//! Elementwise ops on ragged values: the dense kernels run on the flat values.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::partition::refuse;
use super::splits::SAME;
use crate::error::{ErrorKind, Result};
use crate::graph::{IntoOperand, RaggedValue, Value};
use crate::op::OpDef;
use crate::ops::operators::operators;
use crate::ops::{logical, math};

/// An operand beside a ragged value: another ragged value, or what can be an operand beside a dense value.
pub trait IntoRaggedOperand<'g> {
    #[doc(hidden)]
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>>;
}

/// Flat values that fit the flat values of a ragged operand, and that operand's flat values.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Beside<'g> {
    peer: Value<'g>,
    flat: Value<'g>,
}

impl<'g> IntoRaggedOperand<'g> for RaggedValue<'g> {
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>> {
        let flat = peer.matched(self, location)?;
        Ok(Beside { peer: flat, flat: aligned(flat, self.flat_values())? })
    }
}

impl<'g, T: IntoOperand<'g>> IntoRaggedOperand<'g> for T {
    fn beside(self, peer: RaggedValue<'g>, location: &'static Location<'static>) -> Result<Beside<'g>> {
        let flat = peer.flat_values();
        let dense = self.into_operand(flat, location).ok()?;
        Ok(Beside { peer: flat, flat: peer.spread(dense)? })
    }
}

impl<'g> Beside<'g> {
    /// Returns the flat values of the ragged operand, and the flat values of the other operand.
    pub(super) fn flats(self) -> (Value<'g>, Value<'g>) {
        (self.peer, self.flat)
    }
}

/// Returns `flat` with the size of axis 0 of `peer`. Both belong to equal partitions, so that one value never stands for many.
pub(super) fn aligned<'g>(peer: Value<'g>, flat: Value<'g>) -> Result<Value<'g>> {
    let (wanted, got) = (peer.dim(0)?, flat.dim(0)?);
    if peer.graph().same_dim(&wanted, &got) == Some(true) {
        return Ok(flat);
    }
    let shape = flat.shape();
    let inner = shape.dims().unwrap_or_default().iter().skip(1).cloned();
    flat.reshape(TensorShape::new(std::iter::once(wanted).chain(inner)))
}

impl<'g> RaggedValue<'g> {
    /// Returns the flat values of `self`. The run of their users fails unless `other` has the same partitions, if this is not
    /// known now.
    pub(super) fn matched(
        self,
        other: RaggedValue<'g>,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let (ours, theirs) = (self.partitions(), other.partitions());
        if ours.len() != theirs.len() {
            return Err(refuse(
                self.graph(),
                ErrorKind::Shape,
                format!(
                    "ragged operands must have the same partitions, got {} and {}",
                    self.shape_text(),
                    other.shape_text()
                ),
            )
            .at(location));
        }
        let mut flat = self.flat_values();
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            if !ours.is_same(theirs) {
                let call = flat.graph().op(&SAME).data(flat);
                flat = call.data(ours.row_splits()).data(theirs.row_splits()).finish_at(location)?;
            }
        }
        Ok(flat)
    }

    /// Spreads a dense operand over the flat values: it has one element along each ragged axis, and broadcasts along the other
    /// axes.
    pub(super) fn spread(self, dense: Value<'g>) -> Result<Value<'g>> {
        let (flat_rank, rank) = (self.flat_values().shape().rank(), dense.shape().rank());
        if rank == Some(0) {
            return Ok(dense);
        }
        let (Some(flat_rank), Some(rank)) = (flat_rank, rank) else {
            return Err(refuse(
                self.graph(),
                ErrorKind::Shape,
                format!("operands of a ragged op must have known ranks, got {}", dense.shape()),
            ));
        };
        if rank < flat_rank {
            return Ok(dense);
        }
        let ragged_rank = self.ragged_rank();
        let shape = dense.shape();
        let sizes: Vec<Dim> = shape.dims().unwrap_or_default().to_vec();
        let Some(missing) = (ragged_rank + flat_rank).checked_sub(rank) else {
            return Err(refuse(
                self.graph(),
                ErrorKind::Shape,
                format!(
                    "a dense operand must have at most the rank of the ragged one, got {shape} beside {}",
                    self.shape_text()
                ),
            ));
        };
        // The sizes along axis 0 and the partitioned axes.
        let (outer, inner) = sizes.split_at(ragged_rank + 1 - missing);
        let is_one = |dim: &Dim| dim.as_known() == Some(1);
        let rows = if missing == 0 { outer.first().cloned() } else { None };
        let ragged = &outer[usize::from(missing == 0)..];
        if !ragged.iter().all(is_one) {
            return Err(refuse(
                self.graph(),
                ErrorKind::Shape,
                format!(
                    "a dense operand must have size 1 along each partitioned axis, got {shape} beside {}",
                    self.shape_text()
                ),
            )
            .with_help("make a ragged operand from it with from_tensor or the same row splits"));
        }
        match rows.filter(|rows| !is_one(rows)) {
            None => dense.reshape(TensorShape::new(inner.iter().cloned())),
            Some(_) => {
                let target = [&[self.nrows()], inner].concat();
                let squeezed = [&outer[..1], inner].concat();
                let by_row =
                    dense.reshape(TensorShape::new(squeezed))?.broadcast_to(TensorShape::new(target))?;
                by_row.gather(self.outer_rowids()?, 0)
            }
        }
    }

    /// Returns the row along axis 0 of each flat value.
    pub(super) fn outer_rowids(self) -> Result<Value<'g>> {
        let partitions = self.partitions();
        let mut rowids: Option<Value<'g>> = None;
        for level in 0..partitions.len() {
            let inner = RaggedValue::new(self.flat_values(), &partitions[level..]).value_rowids()?;
            rowids = Some(match rowids {
                None => inner,
                Some(outer) => outer.gather(inner, 0)?,
            });
        }
        Ok(rowids.expect("a ragged value has at least one partition"))
    }

    /// Applies an op of two operands.
    pub(crate) fn binary(
        self,
        def: &'static OpDef,
        other: impl IntoRaggedOperand<'g>,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call_at(location);
        let beside = other.beside(self, location)?;
        let flat = beside.peer.graph().op(def).data(beside.peer).data(beside.flat).finish_at(location)?;
        self.with_flat_values(flat)
    }

    /// Applies an op to the dense operand `left` and to `self`.
    fn binary_after(
        self,
        left: impl IntoOperand<'g>,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call_at(location);
        let flat = self.flat_values();
        let left = self.spread(left.into_operand(flat, location).ok()?)?;
        self.with_flat_values(flat.graph().op(def).data(left).data(flat).finish_at(location)?)
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

    /// Computes `self != other`, value by value, as [`Value::not_equal`](crate::Value::not_equal) does. Fuses into kernels.
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
        let _call = self.graph().open_call();
        self.map_flat_values(Value::abs)
    }

    /// Converts the elements to another dtype. Fuses into kernels.
    ///
    /// As [`Value::cast`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::cast`](crate::Value::cast).
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        self.map_flat_values(|flat| flat.cast(dtype))
    }

    /// Returns a ragged value of the same rows whose elements are all 0. Fuses into kernels.
    ///
    /// As [`Value::zeros_like`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::zeros_like`](crate::Value::zeros_like).
    #[track_caller]
    pub fn zeros_like(self) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        self.map_flat_values(Value::zeros_like)
    }

    /// Returns a ragged value of the same rows whose elements are all 1. Fuses into kernels.
    ///
    /// As [`Value::ones_like`] on the flat values.
    ///
    /// # Errors
    /// As [`Value::ones_like`](crate::Value::ones_like).
    #[track_caller]
    pub fn ones_like(self) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        self.map_flat_values(Value::ones_like)
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
        let _call = self.graph().open_call();
        self.map_flat_values(|flat| flat.clip_by_value(low, high))
    }

    /// Takes elements of `yes` where `self` is true, and of `no` elsewhere. `no` is ragged, a scalar, or a dense value that
    /// broadcasts. Fuses into kernels.
    ///
    /// As [`Value::select`] on the flat values.
    ///
    /// # Errors
    /// `self` is not bool; else as [`Value::select`](crate::Value::select); also if the partitions cannot be equal.
    #[doc(alias = "where")]
    #[track_caller]
    pub fn select(self, yes: RaggedValue<'g>, no: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        let location = Location::caller();
        let condition = self.matched(yes, location)?;
        let Beside { peer, flat } = no.beside(yes, location)?;
        // A dense `no` may lack the axis of the flat values.
        let has_axis = flat.shape().rank() == peer.shape().rank()
            && condition.graph().same_dim(&peer.dim(0)?, &flat.dim(0)?) == Some(true);
        let flat = if has_axis { aligned(condition, flat)? } else { flat };
        self.with_flat_values(condition.select(aligned(condition, peer)?, flat)?)
    }
}

operators!(RaggedValue, IntoRaggedOperand);

/// Implements operators of a dense operand beside a ragged one.
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
