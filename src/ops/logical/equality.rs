//! `equal` and `not_equal`: whether elements are equal.

use shapeflow_shape_fns::Attribute;

use std::panic::Location;

use crate::dtype;
use crate::error::Result;
use crate::expr::BinaryOp;
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::lower_equality;
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Computes `self == other`. NaN equals nothing.
    ///
    /// `[..], [..] -> broadcast`, bool, numbers, quantized types and strings of one dtype; the result is bool. As
    /// TensorFlow's `Equal`. An imported graph may set `incompatible_shape_error` to false; then operands that do not
    /// broadcast give a scalar `false`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["a", "b"])?.equal(g.constant(["a", "c"])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are floats of 8 bits or integers of 4 bits, or the shapes do not broadcast.
    #[doc(alias = "eq")]
    #[track_caller]
    pub fn equal(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&EQUAL, other, Location::caller())
    }

    /// Computes `self != other`. NaN differs from everything.
    ///
    /// `[..], [..] -> broadcast`, bool, numbers, quantized types and strings of one dtype; the result is bool. As
    /// TensorFlow's `NotEqual`. An imported graph may set `incompatible_shape_error` to false; then operands that do
    /// not broadcast give a scalar `true`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3])?.not_equal(2)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([true, false, true]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are floats of 8 bits or integers of 4 bits, or the shapes do not broadcast.
    #[doc(alias = "ne")]
    #[track_caller]
    pub fn not_equal(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        self.binary(&NOT_EQUAL, other, Location::caller())
    }
}

pub(crate) static EQUAL: OpDef =
    OpDef::compute("equal", |cx, _output, index| lower_equality(cx, index, BinaryOp::Eq))
        .attrs(&[Attribute::bool_or("incompatible_shape_error", true)])
        .operands(&[Operand::Data("x"), Operand::Data("y")])
        .shape_fn(shape_fns::common::broadcast)
        .dtype_rule(dtype::comparison::equatable_or_string)
        .tensorflow(&[TfOp::new("Equal").own_shape_fn()]);

pub(crate) static NOT_EQUAL: OpDef =
    OpDef::compute("not_equal", |cx, _output, index| lower_equality(cx, index, BinaryOp::Ne))
        .attrs(&[Attribute::bool_or("incompatible_shape_error", true)])
        .operands(&[Operand::Data("x"), Operand::Data("y")])
        .shape_fn(shape_fns::common::broadcast)
        .dtype_rule(dtype::comparison::equatable_or_string)
        .tensorflow(&[TfOp::new("NotEqual").own_shape_fn()]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&EQUAL, &NOT_EQUAL];
