//! `sparse_reduce_sum` and `sparse_reduce_max`: reductions of sparse tensors to dense or sparse ones.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, counted, normalize_axis};

use crate::dtype::{self, Class};
use crate::error::Result;
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_ints;
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::Combine;
use crate::tensor::{Tensor, TensorView, TensorViewMut};

use super::operand::{check_i64, out_of_range, parts, refuse, rows_of, store};

macro_rules! reductions {
    ($($method:ident, $sparse:ident, $what:literal, $result:literal, $DENSE:ident, $SPARSE:ident, $how:expr, $class:expr;
        $tf_dense:literal, $tf_sparse:literal)*) => {
        impl<'g> Value<'g> {$(
            #[doc = concat!("Returns the ", $what, " of the elements of a sparse tensor along `axes`, as a dense tensor. \
                `self` has the indices of the sparse tensor.")]
            ///
            /// `[count, r], values [count], shape [r] -> [..]`, which lacks `axes`, or has size 1 there with
            /// `keep_dims`. If `axes` is empty, nothing is reduced. The result is 0 where the sparse tensor has
            /// no elements. The indices and the shape are i64. A negative axis counts from the end; an axis may be
            /// given twice.
            #[doc = concat!("As TensorFlow's `", $tf_dense, "`. Runs on the host.")]
            ///
            /// ```
            /// use shapeflow::Graph;
            ///
            /// let g = Graph::new();
            /// let (indices, shape) = (g.constant([[0i64, 1], [0, 2], [2, 0]])?, g.constant([3i64, 3])?);
            /// let values = g.constant([1, 2, 4])?;
            #[doc = concat!("let rows = indices.", stringify!($method), "(values, shape, 1, false)?;")]
            /// let [rows] = g.compile(rows)?.run(&[])?;
            #[doc = concat!("assert_eq!(rows.to_vec::<i32>()?, ", $result, ");")]
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            /// An operand has another dtype or rank, or an axis is out of range. The run fails if an index is out of
            /// range.
            #[track_caller]
            pub fn $method(
                self,
                values: impl IntoOperand<'g>,
                shape: impl IntoOperand<'g>,
                axes: impl IntoParam<'g>,
                keep_dims: bool,
            ) -> Result<Value<'g>> {
                let location = Location::caller();
                let parts = parts(self, values, shape, location);
                let call = self.graph().op(&$DENSE).data_all(&parts);
                call.structure("reduction_axes", axes).attr("keep_dims", keep_dims).finish_at(location)
            }

            #[doc = concat!("Does the same as [`Value::", stringify!($method), "`], but returns a sparse tensor: indices in \
                row-major order, values and sizes.")]
            ///
            #[doc = concat!("`-> [m, s], [m], [s]`, for `m` elements and `s` remaining axes. As TensorFlow's `", $tf_sparse, "`. Runs on the host.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Value::", stringify!($method), "`].")]
            #[track_caller]
            pub fn $sparse(
                self,
                values: impl IntoOperand<'g>,
                shape: impl IntoOperand<'g>,
                axes: impl IntoParam<'g>,
                keep_dims: bool,
            ) -> Result<[Value<'g>; 3]> {
                let location = Location::caller();
                let parts = parts(self, values, shape, location);
                let call = self.graph().op(&$SPARSE).data_all(&parts);
                let call = call.structure("reduction_axes", axes).attr("keep_dims", keep_dims);
                let outputs = call.finish_all_at(location)?;
                Ok([outputs[0], outputs[1], outputs[2]])
            }
        )*}

        $(
            pub(crate) static $DENSE: OpDef = OpDef::host(stringify!($method), |cx| to_dense(cx, $how))
                .attrs(&[Attribute::bool_or("keep_dims", false)])
                .operands(OPERANDS)
                .shape_fn(shapeflow_shape_fns::sparse::reduce)
                .dtype_rule(|dtypes, _| Ok(vec![value_dtype(dtypes, $class)?]))
                .tensorflow(&[TfOp::new($tf_dense)]);

            pub(crate) static $SPARSE: OpDef = OpDef::host(stringify!($sparse), |cx| to_sparse(cx, $how))
                .attrs(&[Attribute::bool_or("keep_dims", false)])
                .operands(OPERANDS)
                .outputs(|_, _| 3)
                .shape_fn(shapeflow_shape_fns::sparse::reduce_sparse)
                .dtype_rule(|dtypes, _| Ok(vec![DType::I64, value_dtype(dtypes, $class)?, DType::I64]))
                .tensorflow(&[TfOp::new($tf_sparse)]);
        )*
    };
}

const OPERANDS: &[Operand] = &[
    Operand::Data("input_indices"),
    Operand::Data("input_values"),
    Operand::Data("input_shape"),
    Operand::Structure("reduction_axes"),
];

reductions! {
    sparse_reduce_sum, sparse_reduce_sum_sparse, "sum", "[3, 0, 4]", SUM, SUM_SPARSE, Combine::Add, Class::Numeric;
        "SparseReduceSum", "SparseReduceSumSparse"
    sparse_reduce_max, sparse_reduce_max_sparse, "maximum", "[2, 0, 4]", MAX, MAX_SPARSE, Combine::Max, Class::Number;
        "SparseReduceMax", "SparseReduceMaxSparse"
}

fn value_dtype(dtypes: &[DType], class: Class) -> Result<DType> {
    check_i64(dtypes, &[0, 2])?;
    dtype::common(dtypes, 1, 2, class)
}

/// For the elements of a sparse tensor, the elements of the result to which they belong.
struct SparseReduction {
    /// The sizes of the result.
    sizes: Vec<i64>,
    /// For each element of the sparse tensor, its index in the result.
    rows: Vec<Vec<i64>>,
}

impl SparseReduction {
    /// Reads the operands and the axes.
    ///
    /// # Errors
    /// An axis is out of range, or the operands do not fit each other.
    fn new(cx: &HostCx<'_>) -> Result<SparseReduction> {
        let (indices, shape) = (RowMajor::new(cx.input(0)?)?, ints(&cx.input(2)?));
        let (rows, rank) = rows_of(indices.view(), &shape)?;
        if shape.iter().any(|size| *size < 0) {
            return refuse(format!("the sizes must not be negative, got {shape:?}"));
        }
        if cx.input(1)?.len() != rows.len() {
            let message = "there must be a value for each index, got";
            return refuse(format!(
                "{message} {} for {}",
                counted(cx.input(1)?.len(), "value"),
                counted(rows.len(), "index")
            ));
        }
        let keeps = cx.attrs().bool("keep_dims");
        let mut is_reduced = vec![false; rank];
        for axis in param_ints(cx, "reduction_axes", 3)?.unwrap_or_default() {
            is_reduced[normalize_axis(axis, rank)?] = true;
        }
        // A reduced axis has index 0 and size 1, or is absent.
        let result = |row: &[i64], reduced: i64| -> Vec<i64> {
            let axes = row.iter().zip(&is_reduced).filter(|(_, is_reduced)| keeps || !**is_reduced);
            axes.map(|(index, is_reduced)| if *is_reduced { reduced } else { *index }).collect()
        };
        Ok(SparseReduction {
            sizes: result(&shape, 1),
            rows: rows.into_iter().map(|row| result(row, 0)).collect(),
        })
    }
}

/// Combines values at positions of a vector of zeros.
fn combined(
    target: &mut TensorViewMut<'_>,
    values: TensorView<'_>,
    positions: &[i64],
    how: Combine,
) -> Result<()> {
    if how != Combine::Add {
        // Each position first gets one of its values instead of the zero. A maximum does not change if this value is
        // combined again.
        store(target, values.clone(), positions, None)?;
    }
    store(target, values, positions, Some(how))
}

fn to_dense(cx: &mut HostCx<'_>, how: Combine) -> Result<()> {
    let SparseReduction { sizes, rows } = SparseReduction::new(cx)?;
    let values = RowMajor::new(cx.input(1)?)?;
    let result: Vec<usize> = sizes.iter().map(|size| size.unsigned_abs() as usize).collect();
    let Some(count) = result.iter().try_fold(1usize, |count, size| count.checked_mul(*size)) else {
        return refuse(format!("the number of elements must fit 64 bits, got sizes {sizes:?}"));
    };
    let mut total = Tensor::zeros(values.view().dtype(), &[count])?;
    let mut positions = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        if let Some(axis) = (0..sizes.len()).find(|axis| !(0..sizes[*axis]).contains(&row[*axis])) {
            return out_of_range(0, [number, axis], row[axis], sizes[axis]);
        }
        positions.push(row.iter().zip(&sizes).fold(0, |position, (index, size)| position * size + index));
    }
    combined(&mut total.view_mut()?, values.view(), &positions, how)?;
    cx.set_output(0, total.reshape(&result)?)
}

fn to_sparse(cx: &mut HostCx<'_>, how: Combine) -> Result<()> {
    let SparseReduction { sizes, rows } = SparseReduction::new(cx)?;
    let values = RowMajor::new(cx.input(1)?)?;
    let mut distinct: Vec<&[i64]> = rows.iter().map(Vec::as_slice).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let position = |row: &Vec<i64>| {
        distinct.binary_search(&row.as_slice()).expect("the distinct rows include every row") as i64
    };
    let positions: Vec<i64> = rows.iter().map(position).collect();
    let mut total = Tensor::zeros(values.view().dtype(), &[distinct.len()])?;
    combined(&mut total.view_mut()?, values.view(), &positions, how)?;
    cx.set_output(0, Tensor::from_slice(&[distinct.len(), sizes.len()], &distinct.concat())?)?;
    cx.set_output(1, total)?;
    cx.set_output(2, Tensor::from_slice(&[sizes.len()], &sizes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { SUM, {"reduction_axes": [-1]},
        "i64[n, 2]; c64[n]; i64[2]" => "c64[?]",
        "i64[n, 2]; bool[n]; i64[2]" => error "the element type must be",
        "i32[n, 2]; f32[n]; i64[2]" => error "indices and shapes must be i64",
    }
    shape_table! { sparse: MAX_SPARSE, {"reduction_axes": [0], "keep_dims": true},
        "i64[n, 2]; f32[n]; i64[2]" => "i64[?, 2]; f32[?]; i64[2]",
        "i64[n, 2]; c64[n]; i64[2]" => error "the element type must be",
    }
    shape_table! { fed: SUM, {},
        "i64[n, 2]; f32[n]; i64[2]; reduction_axes=i32[1]" => "f32[?]",
        "i64[n, 2]; f32[n]; i64[2]; reduction_axes=i32[?]" => "f32?",
    }

    fn operands() -> Vec<Tensor> {
        let indices = tensor(&[4, 2], &[2i64, 0, 0, 2, 0, 0, 1, 1]);
        vec![indices, tensor(&[4], &[-4.0f32, -2.0, -1.0, f32::NAN]), tensor(&[2], &[3i64, 4])]
    }

    #[test]
    fn elements_without_values_are_zero_and_nan_spreads() {
        let attrs = Attrs::new().with("reduction_axes", [1]);
        let sums = run(&SUM, &attrs, &operands()).unwrap()[0].to_vec::<f32>().unwrap();
        assert!(sums[0] == -3.0 && sums[1].is_nan() && sums[2] == -4.0);
        let attrs = Attrs::new().with("reduction_axes", [0]).with("keep_dims", true);
        let greatest = run(&MAX, &attrs, &operands()).unwrap();
        assert_eq!(greatest[0].sizes(), [1, 4]);
        let greatest = greatest[0].to_vec::<f32>().unwrap();
        assert!(greatest[0] == -1.0 && greatest[1].is_nan() && greatest[2..] == [-2.0, 0.0]);
    }

    #[test]
    fn a_dense_result_has_no_place_for_indices_out_of_range() {
        let mut operands = operands();
        operands[2] = tensor(&[2], &[2i64, 1]);
        let attrs = Attrs::new().with("reduction_axes", [1]);
        let error = run(&SUM, &attrs, &operands).unwrap_err();
        assert!(error.message().contains("an index must lie in [0, 2), got 2"), "{error}");
        let sums = run(&SUM_SPARSE, &attrs, &operands).unwrap();
        assert_eq!(sums[0].to_vec::<i64>().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn sizes_that_no_tensor_has_are_refused() {
        let error = |sizes: [i64; 2]| {
            let operands = [tensor::<i64>(&[0, 2], &[]), tensor::<f32>(&[0], &[]), tensor(&[2], &sizes)];
            run(&SUM, &Attrs::new().with("reduction_axes", [0i64; 0]), &operands).unwrap_err()
        };
        assert!(error([-3, 2]).message().contains("must not be negative, got [-3, 2]"));
        assert!(error([1 << 40, 1 << 40]).message().contains("must fit 64 bits"));
        assert_eq!(error([1 << 50, 1]).kind(), crate::ErrorKind::Memory);
    }
}
