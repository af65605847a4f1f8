//! `tensor_scatter_nd_update`, `_add`, `_sub`, `_min` and `_max`: update slices of a tensor by multi-dimensional index.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, InferenceContext};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::positions::{Positions, check_policy};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine, put};
use crate::tensor::TensorView;

macro_rules! scatters {
    ($($(#[$doc:meta])* $method:ident, $DEF:ident, $($op:literal)+, $run:expr, $dtypes:ident;)*) => {
        impl<'g> Value<'g> {$(
            $(#[$doc])*
            ///
            /// `[d0, …, dn], indices [i.., k], updates [i.., dk, …, dn] -> [d0, …, dn]`; `indices` is i32 or i64. An
            /// index outside its axis, also a negative one, fails the run; an imported graph may ask that updates out
            /// of range are ignored. Runs on the host.
            ///
            /// # Errors
            /// The leading axes of `updates` differ from the leading axes of `indices`, the trailing axes of `updates`
            /// differ from the trailing axes of `self`, or a dtype is not supported.
            #[track_caller]
            pub fn $method(
                self,
                indices: impl IntoOperand<'g>,
                updates: impl IntoOperand<'g>,
            ) -> Result<Value<'g>> {
                let location = Location::caller();
                let (indices, updates) = (indices.into_own_operand(self.graph(), location), updates.into_operand(self, location));
                self.graph().op(&$DEF).data(self).data(indices).data(updates).finish()
            }
        )*}

        $(pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), $run)
            .attrs(&[Attribute::str_or("bad_indices_policy", "")])
            .operands(&[Operand::Data("tensor"), Operand::Data("indices"), Operand::Data("updates")])
            .shape_fn(shape)
            .dtype_rule($dtypes)
            .takes_handles(StringHandles::Any)
            .tensorflow(&[$(TfOp::new($op)),+]);)*
    };
}
scatters! {
    /// Replaces slices of `self`: `out[indices[i, 0], …, indices[i, k-1], ..] = updates[i, ..]`; the last write wins.
    /// Any dtype. As TensorFlow's `TensorScatterUpdate`.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 2, 3])?;
    /// let y = x.tensor_scatter_nd_update(g.constant([[2], [0]])?, g.constant([30, 10])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<i32>()?, [10, 2, 30]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "index_put")]
    tensor_scatter_nd_update, UPDATE, "TensorScatterUpdate", |cx| scatter(cx, None), update_dtypes;
    /// Adds to slices of `self`: `out[indices[i, 0], …, indices[i, k-1], ..] += updates[i, ..]`, in the order of the
    /// updates. Integers (which wrap), floats, complex numbers, and bools, which are added as a logical or; f16 and
    /// bf16 are added as f32 and rounded once. As TensorFlow's `TensorScatterAdd`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 1, 1])?;
    /// let y = x.tensor_scatter_nd_add(g.constant([[0], [2], [2]])?, g.constant([5, 6, 7])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([6, 1, 14]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "index_add")]
    #[doc(alias = "scatter_add")]
    tensor_scatter_nd_add, ADD, "TensorScatterAdd" "ScatterNdNonAliasingAdd", |cx| scatter(cx, Some(Combine::Add)), add_dtypes;
    /// Subtracts from slices of `self`: `out[indices[i, 0], …, indices[i, k-1], ..] -= updates[i, ..]`, in the order of
    /// the updates. Integers (which wrap), floats and complex numbers; f16 and bf16 are subtracted as f32 and rounded
    /// once. As TensorFlow's `TensorScatterSub`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 1, 1])?;
    /// let y = x.tensor_scatter_nd_sub(g.constant([[0], [2], [2]])?, g.constant([5, 6, 7])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([-4, 1, -12]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    tensor_scatter_nd_sub, SUB, "TensorScatterSub", |cx| scatter(cx, Some(Combine::Sub)), sub_dtypes;
    /// Takes the element-wise minimum of slices of `self` and `updates`: `s = min(s, updates[i, ..])` for the slice
    /// `s = out[indices[i, 0], …, indices[i, k-1], ..]`; NaN if either is NaN. Integers and floats. As TensorFlow's
    /// `TensorScatterMin`, which may ignore a NaN in `updates`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 5, 9])?;
    /// let y = x.tensor_scatter_nd_min(g.constant([[0], [2]])?, g.constant([5, 6])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1, 5, 6]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    tensor_scatter_nd_min, MIN, "TensorScatterMin", |cx| scatter(cx, Some(Combine::Min)), extremum_dtypes;
    /// Takes the element-wise maximum of slices of `self` and `updates`: `s = max(s, updates[i, ..])` for the slice
    /// `s = out[indices[i, 0], …, indices[i, k-1], ..]`; NaN if either is NaN. Integers and floats. As TensorFlow's
    /// `TensorScatterMax`, which may ignore a NaN in `updates`.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 5, 9])?;
    /// let y = x.tensor_scatter_nd_max(g.constant([[0], [2]])?, g.constant([5, 6])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([5, 5, 9]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    tensor_scatter_nd_max, MAX, "TensorScatterMax", |cx| scatter(cx, Some(Combine::Max)), extremum_dtypes;
}

/// Infers the shape as TensorFlow does, but refuses a scalar as `updates`. TensorFlow's shape function accepts the
/// scalar, and its kernels refuse it.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    check_policy(cx)?;
    cx.with_rank_at_least(2, 1)?;
    shapeflow_shape_fns::array::tensor_scatter(cx)
}

/// The dtype rule: `indices` are i32 or i64, and the tensor and `updates` have one dtype of the class.
fn of_class(operands: &[DType], class: dtype::Class) -> Result<Vec<DType>> {
    let [x, indices, updates] = match operands {
        [x, indices, updates, ..] => [*x, *indices, *updates],
        _ => return dtype::common(operands, 0, 1, class).map(|x| vec![x]),
    };
    dtype::check_indices(&[x, indices], 1)?;
    if x != updates {
        return dtype::refuse_with_help(
            format!("updates must have the dtype of the tensor, got {updates} for {x}"),
            format!("cast them with .cast({})", dtype::spelled(x)),
        );
    }
    Ok(vec![dtype::common(operands, 0, 1, class)?])
}

fn update_dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    of_class(operands, dtype::Class::Any)
}

fn add_dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    match operands.first() {
        Some(DType::Bool) => of_class(operands, dtype::Class::Bool),
        _ => sub_dtypes(operands, attrs),
    }
}

fn sub_dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    of_class(operands, dtype::Class::Numeric)
}

fn extremum_dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    of_class(operands, dtype::Class::Number)
}

/// Splits `sizes` at the length of the last axis of `indices`: returns the sizes of the indexed axes and the number of
/// elements of a slice.
pub(super) fn split_sizes<'s>(indices: TensorView<'_>, sizes: &'s [usize]) -> (&'s [usize], usize) {
    let depth = indices.sizes().last().copied().unwrap_or(0);
    let (outer, inner) = sizes.split_at(depth.min(sizes.len()));
    (outer, inner.iter().product())
}

/// Copies the tensor, then combines it with the updates by `how`, or replaces slices if `how` is `None`.
fn scatter(cx: &mut HostCx<'_>, how: Option<Combine>) -> Result<()> {
    let (x, indices, updates) = (cx.input(0)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?);
    let (outer, row) = split_sizes(indices.view(), x.sizes());
    let positions = Positions::new(indices.view(), Some(1), outer)?.with_policy(cx.attrs());
    let mut output = cx.unfilled_output(0, x.sizes())?;
    output.copy_from(&x)?;
    match how {
        Some(how) => combine(&mut output, updates.view(), row, how, &positions),
        None => put(&mut output, updates.view(), row, &positions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ops::testing::{recorded, run, run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { UPDATE, {},
        "[n, 3]; i32[i, 1]; [i, ?]" => "[n, 3]",
        "string[n]; i64[i, 1]; string[i]" => "string[n]",
        "[n]; i32[i, 1]; []" => error "updates must have rank at least 1",
        "[n]; i32[i, 1]; f64[i]" => error "updates must have the dtype of the tensor, got f64 for f32",
    }
    shape_table! { added: ADD, {},
        "c64[n, 3]; i32[i, 2]; c64[i]" => "c64[n, 3]",
        "bool[n]; i32[i, 1]; bool[i]" => "bool[n]",
        "string[n]; i32[i, 1]; string[i]" => error "must be an integer, a float or a complex number",
    }
    shape_table! { subtracted: SUB, {},
        "bool[n]; i32[i, 1]; bool[i]" => error "must be an integer, a float or a complex number",
    }

    shape_table! { unknown_policy: MAX, {"bad_indices_policy": "DROP"},
        "[n]; i32[i, 1]; [i]" => error "bad_indices_policy must be",
    }

    #[test]
    fn values_are_those_recorded() {
        for def in [&UPDATE, &ADD, &SUB, &MIN, &MAX] {
            recorded(def);
        }
    }

    #[test]
    fn minimum_and_maximum_propagate_nan() {
        let x = tensor(&[2], &[1.0f32, f32::NAN]);
        let operands = [x, tensor(&[2, 1], &[0, 1]), tensor(&[2], &[f32::NAN, 2.0])];
        for def in [&MIN, &MAX] {
            let y = run_one(def, &Attrs::new(), &operands).to_vec::<f32>().unwrap();
            assert!(y.iter().all(|y| y.is_nan()), "{y:?}");
        }
    }

    #[test]
    fn strings_are_scattered_and_an_index_out_of_range_is_an_error() {
        let x = Tensor::from_strings(&[2, 2], &["a", "b", "c", "d"]).unwrap();
        let y = Tensor::from_strings(&[1, 2], &["e", "f"]).unwrap();
        let put = run_one(&UPDATE, &Attrs::new(), &[x.clone(), tensor(&[1, 1], &[1]), y.clone()]);
        assert_eq!(put, Tensor::from_strings(&[2, 2], &["a", "b", "e", "f"]).unwrap());
        let error = run(&UPDATE, &Attrs::new(), &[x, tensor(&[1, 1], &[-1]), y]).unwrap_err();
        assert_eq!(error.message(), "an index into axis 0 must lie in [0, 2), got -1 at [0, 0] in operand 1");
        assert_eq!(error.kind(), ErrorKind::Index);
    }
}
