//! `shape`: returns the sizes of a tensor as a tensor.

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns the sizes of all axes at run time, as an i64 vector.
    ///
    /// `[d0, …, dn] -> i64[n + 1]`, any dtype. Inference tracks the elements through slices, gathers and arithmetic, so
    /// `x.reshape(y.shape_tensor()?)` keeps symbols. [`Value::shape`] gives the shape as far as it is known now. As
    /// TensorFlow's `Shape`, whose default is i32: see [`Value::shape_tensor_as`]. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 3])?;
    /// let exe = g.compile(x.shape_tensor()?)?;
    /// let [sizes] = exe.run(&[Tensor::from([[1.0f32, 2.0, 3.0]]).view()])?;
    /// assert_eq!(sizes, Tensor::from([1i64, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The value is [poisoned](Value).
    #[doc(alias = "shape")]
    #[track_caller]
    pub fn shape_tensor(self) -> Result<Value<'g>> {
        self.shape_tensor_as(DType::I64)
    }

    /// Returns the sizes of all axes at run time, as a vector of `dtype`, i32 or i64.
    ///
    /// `[d0, …, dn] -> dtype[n + 1]`; else as [`Value::shape_tensor`].
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 2, 3]])?.shape_tensor_as(DType::I32)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1i32, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `dtype` is neither i32 nor i64. The run fails if it must compute a size that does not fit `dtype`.
    #[track_caller]
    pub fn shape_tensor_as(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("out_type", dtype).finish()
    }
}

/// The dtype rule of ops whose results are sizes: the result has the dtype of attribute `out_type`, i32 or i64.
pub(super) fn size_dtype(_: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    match attrs.dtype("out_type") {
        dtype @ (DType::I32 | DType::I64) => Ok(vec![dtype]),
        other => dtype::refuse_with_help(
            format!("sizes must be i32 or i64, got {other}"),
            format!("request DType::I64, then cast with .cast({})", dtype::spelled(other)),
        ),
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("shape", lower)
    .attrs(&[Attribute::dtype_or("out_type", DType::I64)])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::shape)
    .dtype_rule(size_dtype)
    .tensorflow(&[TfOp::new("Shape")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    size_of_axis(cx, output, index)
}

/// Returns the size of the axis of operand `number` at `index` of output `number`.
pub(super) fn size_of_axis(cx: &mut dyn LowerCx, number: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(number);
    let position = &index[0];
    let mut arms: Vec<(Vec<InRange>, Expr)> = cx
        .dims(number)
        .into_iter()
        .enumerate()
        .map(|(axis, dim)| {
            let low = Dim::known(axis as i64);
            let range = InRange { index: position.clone(), high: &low + 1, low };
            (vec![range], Expr::size(dim).size_as(dtype))
        })
        .collect();
    match arms.pop() {
        Some((_, last)) => Expr::case(arms, last),
        // The sizes of a scalar are an empty vector, so this element is never read.
        None => Expr::constant(0i64).cast(dtype),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::shape_table;
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "[n, 3]" => "i64[2]",
        "[]" => "i64[0]",
        "?" => "i64[?]",
    }
    shape_table! { refused: DEF, {"out_type": DType::F32},
        "[n]" => error "sizes must be i32 or i64, got f32",
    }

    #[test]
    fn a_size_that_does_not_fit_fails_the_run() {
        let g = Graph::new();
        let x = g.input("x", DType::I8, shape!["n", "m"]).unwrap();
        let [narrow, wide] = [DType::I32, DType::I64].map(|dtype| x.shape_tensor_as(dtype).unwrap());
        let [narrow_count, wide_count] =
            [DType::I32, DType::I64].map(|dtype| x.size_tensor_as(dtype).unwrap());
        let run = |value, sizes: [usize; 2]| {
            let x = Tensor::zeros(DType::I8, &sizes).unwrap();
            g.compile(value).unwrap().run::<1>(&[x.view()]).map(|[y]| y)
        };
        let large = [1 << 31, 0];
        assert_eq!(run(wide, large).unwrap(), Tensor::from([1i64 << 31, 0]));
        assert_eq!(run(wide_count, large).unwrap(), Tensor::from(0i64));
        assert_eq!(run(narrow_count, large).unwrap(), Tensor::from(0i32));
        assert_eq!(run(narrow, [i32::MAX as usize, 0]).unwrap(), Tensor::from([i32::MAX, 0]));
        let error = run(narrow, large).unwrap_err();
        assert!(error.message().contains("every size must fit i32, got 2147483648"), "{error}");
    }

    #[test]
    fn reshape_keeps_the_symbols_of_shape_tensors() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"]).unwrap();
        let sizes = x.shape_tensor().unwrap();
        assert_eq!(x.reshape(sizes.reverse([0]).unwrap()).unwrap().shape().rank(), Some(2));
        assert_eq!(x.reshape(sizes).unwrap().shape().to_string(), "[n, m]");
    }
}
