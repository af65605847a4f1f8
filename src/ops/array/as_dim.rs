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
    /// dimension, so one compilation serves all sizes. TensorFlow needs no such op, because its ops take sizes as
    /// tensors. Adds no op.
    ///
    /// An input may have a dimension of this name too, and several scalars may be given this name. Each run then checks
    /// that the sizes are equal. A run of an op that takes the name as a parameter needs every scalar of this name.
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
    .names_size()
    .shape_fn(name_size)
    .dtype_rule(dtype::unary::integer);

/// `value [] -> []`: the element of the result is the dimension `name`, which equals the element of `value`.
fn name_size(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    cx.scalars(&["value"])?;
    let size = cx.make_dim_for_scalar_input("value")?;
    let Some(name) = cx.param_scalar("name")? else { return Ok(()) };
    let named = cx.merge(&size, &name)?;
    cx.set_output_value(0, PartialElements::scalar(named));
    // A run reads the scalar even if something else determines the name, and compares them.
    cx.set_derived("value", [size]);
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    cx.operand(0, index)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use crate::error::{ErrorKind, Result};
    use crate::graph::Graph;
    use crate::tensor::Tensor;

    #[test]
    fn a_scalar_must_equal_the_size_that_has_its_name() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let count = g.input("count", DType::I64, shape![])?.as_dim("n")?;
        let filled = g.fill([&count], 1.0f32)?;
        let outputs = [(x + filled).ok()?, x.slice([0], [&count])?];
        for output in outputs {
            let exe = g.compile(output)?;
            let run =
                |count: i64| exe.run_all(&[Tensor::from([1.0f32, 2.0]).view(), Tensor::scalar(count).view()]);
            run(2)?;
            for wrong in [1, 3] {
                let error = run(wrong).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Guard, "{error}");
                assert!(error.to_string().contains("count"), "{error}");
            }
        }
        // A result that does not use the name does not need the scalar.
        assert!(!g.compile(x.neg()?)?.inputs()[1].needed);
        Ok(())
    }

    #[test]
    fn scalars_of_one_name_must_be_equal() -> Result<()> {
        let g = Graph::new();
        let [a, b] = ["a", "b"].map(|name| g.input(name, DType::I64, shape![]));
        let (a, b) = (a?.as_dim("n")?, b?.as_dim("n")?);
        for size in [a, b] {
            let exe = g.compile(g.fill([size], 1.0f32)?)?;
            let run = |a: i64, b: i64| exe.run_all(&[Tensor::scalar(a).view(), Tensor::scalar(b).view()]);
            assert_eq!(run(2, 2)?[0].sizes(), [2]);
            assert_eq!(run(2, 3).unwrap_err().kind(), ErrorKind::Guard);
        }
        Ok(())
    }

    /// The size of a mask is known only when the mask is computed, so a run computes it.
    #[test]
    fn a_size_that_depends_on_data_must_equal_the_size_that_has_its_name() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let positive = x.boolean_mask(x.greater(0.0)?, 0)?;
        let exe = g.compile(g.fill([positive.size_tensor()?.as_dim("n")?], 1.0f32)?)?;
        assert_eq!(exe.run_all(&[Tensor::from([1.0f32, 2.0]).view()])?[0].sizes(), [2]);
        let error = exe.run_all(&[Tensor::from([1.0f32, -2.0]).view()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Guard, "{error}");
        Ok(())
    }

    /// A loop body may give a name that an input outside the loop has.
    #[test]
    fn names_of_a_loop_body_are_names_of_the_graph() -> Result<()> {
        for has_other in [false, true] {
            let g = Graph::new();
            let x = g.input("x", DType::F32, shape!["n"])?;
            let other = g.input("other", DType::F32, if has_other { shape!["k"] } else { shape!["m"] })?;
            let sum = g.while_loop(
                &[g.constant(0i64)?, g.constant(0.0f32)?],
                |state| state[0].less(3i64),
                |state| {
                    let first = x.slice([0], [state[0].as_dim("k")?])?;
                    Ok([state[0].add(1i64)?, state[1].add(first.reduce_sum(0)?)?])
                },
            )?[1];
            let exe = g.compile([sum, other.reduce_sum(0)?])?;
            let results =
                exe.run_all(&[Tensor::from([1.0f32, 2.0, 4.0]).view(), Tensor::from([1.0f32, 1.0]).view()]);
            match has_other {
                false => assert_eq!(results?[0], Tensor::scalar(4.0f32)),
                true => assert_eq!(results.unwrap_err().kind(), ErrorKind::Guard),
            }
        }
        Ok(())
    }
}
