//! `as_dim`: names a dimension whose size is the value of an integer scalar.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Dim, InferenceContext, PartialElements, ShapeError, TensorShape};

use crate::dtype;
use crate::error::{Error, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfFunction};

impl<'g> Value<'g> {
    /// Returns the value of an integer scalar as the dimension `name`. Every shape, size and offset argument takes the
    /// dimension.
    ///
    /// `[]`, any integer dtype. Each run reads the scalar before it computes the values whose sizes depend on the
    /// dimension, so one compilation serves all sizes. If an input has a dimension of this name too, or another scalar
    /// was given this name, a run checks that the sizes are equal. TensorFlow needs no such op, because its ops take
    /// sizes as tensors. Adds no op.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let image = g.input("image", DType::F32, shape!["height", "width"])?;
    /// let size = g.input("size", DType::I32, shape![])?;
    /// let side = size.as_dim("side")?;
    /// let crop = image.slice([0, 0], [&side, &side])?;
    /// let flat = crop.reshape(&side * &side)?;
    /// assert_eq!(flat.shape().to_string(), "[side*side]");
    ///
    /// let exe = g.compile(flat)?;
    /// let image = Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let [one] = exe.run(&[image.view(), Tensor::scalar(1i32).view()])?;
    /// let [four] = exe.run(&[image.view(), Tensor::scalar(2i32).view()])?;
    /// assert_eq!((one, four), (Tensor::from([1.0f32]), Tensor::from([1.0f32, 2.0, 4.0, 5.0])));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is not an integer scalar, the scalar is known to be negative, or `name` is not the name of a
    /// dimension. A run fails if the scalar is negative.
    #[doc(alias = "item")]
    #[doc(alias = "get_shape")]
    #[track_caller]
    pub fn as_dim(self, name: &str) -> Result<Dim> {
        let location = Location::caller();
        let dim = Dim::symbol(name);
        let sized = self.graph().op(&DEF).size("value", self).size("name", dim.clone()).finish_at(location);
        sized.map(|_| dim)
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("as_dim", lower)
    .in_tensorflow(TfFunction::Composed(|_, values| {
        let Some(value) = values.first() else { return Err(Error::msg("as_dim needs a value")) };
        Ok(vec![value.checked(value.greater_equal(0)?, "a size must not be negative")?])
    }))
    .attrs(&[Attribute::elements("name").optional()])
    .operands(&[Operand::Size("value")])
    .shape_fn(name_size)
    .dtype_rule(dtype::unary::integer);

/// `value [] -> []`: the element of the result is the dimension `name`, which equals the element of `value`.
fn name_size(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    cx.scalars(&["value"])?;
    let size = cx.make_dim_for_scalar_input("value")?;
    let Some(name) = cx.param_scalar("name")? else { return Ok(()) };
    let size = cx.merge(&size, &name)?;
    cx.set_output_value(0, PartialElements::scalar(size.clone()));
    cx.set_derived("value", [size]);
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}
