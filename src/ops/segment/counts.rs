//! `bincount` and its relatives: count the occurrences of each number.

use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{Graph, IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::{param_ints, param_sizes};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;

use super::counting::{CountedRows, count, row_of};

impl<'g> Value<'g> {
    /// Counts the occurrences of each number below `size`: `out[v]` is the number of `i` with `self[i] == v`.
    ///
    /// `[..] -> i64[size]`; `self` is i32 or i64. Numbers of `size` or more are dropped; a negative number fails the
    /// run. As `bincount` of numpy and torch with `size` in place of `minlength`, and as TensorFlow's `Bincount`
    /// without weights. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let stars = g.constant([5, 3, 5, 4, 5])?;
    /// let [counts] = g.compile(stars.bincount(6)?)?.run(&[])?;
    /// assert_eq!(counts, Tensor::from([0i64, 0, 0, 1, 1, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `size` is negative, or the dtype is not i32 or i64.
    #[doc(alias = "value_counts")]
    #[track_caller]
    pub fn bincount(self, size: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().in_call("bincount", || self.bincount_weighted(size, no_weights(self.graph())?))
    }

    /// Adds up the weights of each number below `size`: `out[v] = Σ weights[i]` over `self[i] == v`.
    ///
    /// `[..], weights [..] -> [size]`; `self` is i32 or i64. `weights` is i32, i64, f32 or f64 with as many elements as
    /// `self`, or empty, which makes every weight 1. The result has the dtype of the weights. Numbers of `size` or more
    /// are dropped; a negative one fails the run. As TensorFlow's `Bincount`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (shops, sales) = (g.constant([1, 0, 1])?, g.constant([2.5f32, 4.0, 1.5])?);
    /// let [totals] = g.compile(shops.bincount_weighted(2, sales)?)?.run(&[])?;
    /// assert_eq!(totals, Tensor::from([4.0f32, 4.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `size` is negative, or a dtype is not supported.
    #[doc(alias = "bincount")]
    #[track_caller]
    pub fn bincount_weighted(
        self,
        size: impl IntoParam<'g>,
        weights: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let weights = weights.into_own_operand(self.graph(), std::panic::Location::caller());
        self.graph().op(&ALL_ELEMENTS).data(self).size("size", size).data(weights).finish()
    }

    /// Counts the occurrences of each number below `size` in every row, as [`Value::bincount`] does. If `binary`, every
    /// number that occurs has the count 1, which turns rows of indices into "multi-hot" rows.
    ///
    /// `[n] -> i64[size]` or `[b, n] -> i64[b, size]`. As TensorFlow's `DenseBincount` without weights. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let tags = g.constant([[0, 2, 2], [1, 1, 1]])?;
    /// let [hot] = g.compile(tags.dense_bincount(3, true)?)?.run(&[])?;
    /// assert_eq!(hot, Tensor::from([[1i64, 0, 1], [0, 1, 0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::bincount`]; also if the rank is more than 2.
    #[doc(alias = "multi_hot")]
    #[track_caller]
    pub fn dense_bincount(self, size: impl IntoParam<'g>, binary: bool) -> Result<Value<'g>> {
        self.graph().in_call("dense_bincount", || {
            let call = self.graph().op(&ROWS).data(self).size("size", size).data(no_weights(self.graph())?);
            call.attr("binary_output", binary).finish()
        })
    }

    /// Adds up the weights of each number below `size` in every row, as [`Value::bincount_weighted`] does.
    ///
    /// `[n], weights [n] -> [size]` or `[b, n], weights [b, n] -> [b, size]`. As TensorFlow's `DenseBincount`. Runs on
    /// the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (shops, sales) = (g.constant([[0, 1, 1], [2, 2, 2]])?, g.constant([[5, 1, 2], [1, 1, 4]])?);
    /// let [totals] = g.compile(shops.dense_bincount_weighted(3, sales)?)?.run(&[])?;
    /// assert_eq!(totals, Tensor::from([[5, 3, 0], [0, 0, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::bincount_weighted`]; also if the rank is more than 2.
    #[track_caller]
    pub fn dense_bincount_weighted(
        self,
        size: impl IntoParam<'g>,
        weights: impl IntoOperand<'g>,
    ) -> Result<Value<'g>> {
        let weights = weights.into_own_operand(self.graph(), std::panic::Location::caller());
        self.graph().op(&ROWS).data(self).size("size", size).data(weights).finish()
    }
}

/// Returns the empty weights, which make every weight 1 and the counts i64.
pub(crate) fn no_weights(graph: &Graph) -> Result<Value<'_>> {
    graph.constant(Tensor::zeros(DType::I64, &[0])?)
}

pub(crate) static ALL_ELEMENTS: OpDef = OpDef::host("bincount", |cx| {
    let (x, size) = (RowMajor::new(cx.input(0)?)?, size_param(cx, 1)?);
    count(cx, 0, &x.view(), &size, &CountedRows::Blocks(x.view().len()))
})
.attrs(&[Attribute::bool_or("binary_output", false)])
.operands(&[Operand::Data("arr"), Operand::Size("size"), Operand::Data("weights")])
.shape_fn(shapeflow_shape_fns::segment::bincount)
.dtype_rule(|operands, _| dtypes(operands, 1))
.tensorflow(&[TfOp::new("Bincount")]);

pub(crate) static ROWS: OpDef = OpDef::host("dense_bincount", |cx| {
    let (x, size) = (RowMajor::new(cx.input(0)?)?, size_param(cx, 1)?);
    let x = x.view();
    match x.sizes() {
        [rows, columns] => count(cx, 0, &x, &[&[*rows], &size[..]].concat(), &CountedRows::Blocks(*columns)),
        _ => count(cx, 0, &x, &size, &CountedRows::Blocks(x.len())),
    }
})
.attrs(&[Attribute::bool_or("binary_output", false)])
.operands(&[Operand::Data("input"), Operand::Size("size"), Operand::Data("weights")])
.shape_fn(shapeflow_shape_fns::segment::dense_bincount)
.dtype_rule(|operands, _| dtypes(operands, 1))
.tensorflow(&[TfOp::new("DenseBincount")]);

/// An op for import only. Counts the numbers in every row of a sparse tensor.
pub(crate) static SPARSE: OpDef = OpDef::host("sparse_bincount", run_sparse)
    .attrs(&[Attribute::bool_or("binary_output", false)])
    .operands(&[
        Operand::Data("indices"),
        Operand::Data("values"),
        Operand::Size("dense_shape"),
        Operand::Size("size"),
        Operand::Data("weights"),
    ])
    .shape_fn(shapeflow_shape_fns::segment::sparse_bincount)
    .dtype_rule(|operands, _| dtypes(operands, 2))
    .tensorflow(&[TfOp::new("SparseBincount")]);

/// An op for import only. Counts the numbers in every row of a ragged tensor.
pub(crate) static RAGGED: OpDef = OpDef::host("ragged_bincount", run_ragged)
    .attrs(&[Attribute::bool_or("binary_output", false)])
    .operands(&[
        Operand::Data("splits"),
        Operand::Data("values"),
        Operand::Size("size"),
        Operand::Data("weights"),
    ])
    .shape_fn(shapeflow_shape_fns::segment::ragged_bincount)
    .dtype_rule(|operands, _| dtypes(operands, 2))
    .tensorflow(&[TfOp::new("RaggedBincount")]);

/// The dtype rule. The last operand holds the weights, and the result has their dtype. All operands before the weights
/// are integers; there are at least `data` of them.
fn dtypes(operands: &[DType], data: usize) -> Result<Vec<DType>> {
    let Some((weights, numbers)) = operands.split_last().filter(|(_, numbers)| numbers.len() >= data) else {
        return dtype::refuse(format!(
            "a count must have numbers and weights, got {}",
            dtype::names(operands)
        ));
    };
    dtype::check_indices(numbers, 0)?;
    match weights {
        DType::I32 | DType::I64 | DType::F32 | DType::F64 => Ok(vec![*weights]),
        other => dtype::refuse(format!("weights must be i32, i64, f32 or f64, got {other}")),
    }
}

fn run_sparse(cx: &mut HostCx<'_>) -> Result<()> {
    let (indices, values) = (ints(&cx.input(0)?), RowMajor::new(cx.input(1)?)?);
    let shape = param_ints(cx, "dense_shape", 2)?.unwrap_or_default();
    let size = size_param(cx, 3)?;
    let row = |element: usize| row_of(&indices, &shape, element);
    let rows = if shape.len() > 1 { vec![usize::try_from(shape[0]).unwrap_or(0)] } else { Vec::new() };
    let of_values = (0..values.view().len()).map(row).collect::<Result<Vec<usize>>>()?;
    count(cx, 1, &values.view(), &[&rows[..], &size[..]].concat(), &CountedRows::Each(of_values))
}

fn run_ragged(cx: &mut HostCx<'_>) -> Result<()> {
    let (splits, values) = (ints(&cx.input(0)?), RowMajor::new(cx.input(1)?)?);
    let (size, values) = (size_param(cx, 2)?, values.view());
    let is_valid = splits.first() == Some(&0)
        && splits.is_sorted()
        && splits.last().and_then(|last| usize::try_from(*last).ok()) == Some(values.len());
    if !is_valid {
        let message = format!("splits must ascend from 0 to {}, got {splits:?}", values.len());
        return Err(Error::new(ErrorKind::Index, Phase::Run, message));
    }
    let rows = splits.windows(2).enumerate();
    let rows = rows.flat_map(|(row, pair)| std::iter::repeat_n(row, (pair[1] - pair[0]) as usize));
    count(cx, 1, &values, &[&[splits.len() - 1], &size[..]].concat(), &CountedRows::Each(rows.collect()))
}

/// Returns the parameter `size`: the numbers from 0 to `size - 1` are counted. If the parameter is an operand and not
/// an attribute, its number is `operand`.
///
/// # Errors
/// The parameter does not have one element.
fn size_param(cx: &HostCx<'_>, operand: usize) -> Result<[usize; 1]> {
    let sizes = param_sizes(cx, "size", operand)?;
    <[usize; 1]>::try_from(sizes).map_err(|sizes| {
        let message = format!("size must have one element, got {}", sizes.len());
        Error::new(ErrorKind::Shape, Phase::Run, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { ALL_ELEMENTS, {"size": 4},
        "i32[m, n]; [0]" => "[4]",
        "[n]; [0]" => error "the element type must be i32 or i64",
        "i32[n]; f16[0]" => error "weights must be i32, i64, f32 or f64",
    }
    shape_table! { rows: ROWS, {},
        "i64[b, n]; size=i32[]; i32[0]" => "i32[b, ?]",
        "i64[n]; size=i32[]; i32[0]" => "i32[?]",
    }
    shape_table! { sparse: SPARSE, {"dense_shape": [3, 5], "size": 4},
        "i64[n, 2]; i32[n]; [0]" => "[3, 4]",
    }
    shape_table! { ragged: RAGGED, {"size": 4},
        "i64[3]; i32[n]; [0]" => "[2, 4]",
    }

    #[test]
    fn weights_add_up_and_large_numbers_are_dropped() {
        let x = tensor(&[2, 3], &[1, 1, 0, 5, 2, 1i64]);
        let attrs = Attrs::new().with("size", 3);
        let weights = tensor(&[2, 3], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0f32]);
        let none = tensor::<i32>(&[0], &[]);
        let all = run_one(&ALL_ELEMENTS, &attrs, &[x.clone(), weights.clone()]);
        assert_eq!(all.to_vec::<f32>().unwrap(), [4.0, 35.0, 16.0]);
        let rows = run_one(&ROWS, &attrs, &[x.clone(), none.clone()]);
        assert_eq!(rows.to_vec::<i32>().unwrap(), [1, 2, 0, 0, 1, 1]);
        let binary = run_one(&ROWS, &attrs.clone().with("binary_output", true), &[x, weights]);
        assert_eq!(binary.to_vec::<f32>().unwrap(), [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
        let error = run(&ALL_ELEMENTS, &attrs, &[tensor(&[1], &[-1i32]), none]).unwrap_err();
        assert_eq!(error.message(), "a counted number must not be negative, got -1 at [0] in operand 0");
    }

    #[test]
    fn many_numbers_are_counted_in_tables() {
        let (size, block) = (5usize, 403);
        let numbers: Vec<i32> = (0..2 * block).map(|at| at * at % 7).collect();
        let x = tensor(&[2, block as usize], &numbers);
        for none in [tensor::<i32>(&[0], &[]), tensor::<f64>(&[0], &[])] {
            let y = run_one(&ROWS, &Attrs::new().with("size", size as i64), &[x.clone(), none]);
            let expected = numbers.chunks(block as usize).flat_map(|row| {
                (0..size as i32)
                    .map(|count| row.iter().filter(|number| **number == count).count().to_string())
            });
            let got = y.to_vec::<i32>().map(|counts| counts.iter().map(i32::to_string).collect::<Vec<_>>());
            let got = got.unwrap_or_else(|_| y.to_vec::<f64>().unwrap().iter().map(f64::to_string).collect());
            assert_eq!(got, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn counts_without_weights_are_i64() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::I32, crate::shape!["b", "n"])?;
        let ragged = g.ragged_constant(&crate::ragged![[1, 1, 0], [], [2]])?;
        let counts = [
            x.bincount(3)?,
            x.dense_bincount(3, false)?,
            x.dense_bincount(3, true)?,
            ragged.bincount(3, true)?,
        ];
        let types: Vec<String> =
            counts.iter().map(|value| format!("{}{}", value.dtype(), value.shape())).collect();
        assert_eq!(types, ["i64[3]", "i64[b, 3]", "i64[b, 3]", "i64[3, 3]"]);
        let sums = x.dense_bincount_weighted(3, x.cast(DType::F64)?)?;
        let exe = g.compile([counts[0], counts[1], counts[2], counts[3], sums])?;
        let x = Tensor::from([[1, 1, 0], [2, 7, 2]]);
        let [all, rows, hot, ragged, sums] = exe.run(&[x.view()])?;
        assert_eq!(all, Tensor::from([1i64, 2, 2]));
        assert_eq!(rows, Tensor::from([[1i64, 2, 0], [0, 0, 2]]));
        assert_eq!(hot, Tensor::from([[1i64, 1, 0], [0, 0, 1]]));
        assert_eq!(ragged, Tensor::from([[1i64, 1, 0], [0, 0, 0], [0, 0, 1]]));
        assert_eq!(sums, Tensor::from([[0.0, 2.0, 0.0], [0.0, 0.0, 4.0]]));
        let empty = exe.run_all(&[Tensor::zeros(DType::I32, &[0, 4])?.view()])?;
        assert_eq!((empty[0].to_vec::<i64>()?, empty[1].sizes()), (vec![0; 3], &[0, 3][..]));
        Ok(())
    }

    #[test]
    fn rows_may_be_sparse_or_ragged() {
        let (values, none) = (tensor(&[3], &[1, 1, 2i32]), tensor::<f64>(&[0], &[]));
        let attrs = Attrs::new().with("size", 3);
        let indices = tensor(&[3, 2], &[0, 0, 0, 2, 1, 1i64]);
        let sparse = attrs.clone().with("dense_shape", [2, 3]);
        let expected = [0.0, 2.0, 0.0, 0.0, 0.0, 1.0];
        let y = run_one(&SPARSE, &sparse, &[indices.clone(), values.clone(), none.clone()]);
        assert_eq!(y.to_vec::<f64>().unwrap(), expected);
        let splits = tensor(&[3], &[0, 2, 3i64]);
        let y = run_one(&RAGGED, &attrs, &[splits, values.clone(), none.clone()]);
        assert_eq!(y.to_vec::<f64>().unwrap(), expected);
        let short = attrs.clone().with("dense_shape", [1, 3]);
        assert!(run(&SPARSE, &short, &[indices, values.clone(), none.clone()]).is_err());
        assert!(run(&RAGGED, &attrs, &[tensor(&[2], &[0, 2i64]), values, none]).is_err());
    }
}
