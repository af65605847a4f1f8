//! `sparse_add`, `sparse_maximum` and `sparse_minimum`: two sparse tensors, element by element.

use std::cmp::Ordering;
use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype::{self, Class};
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::Combine;
use crate::tensor::{Tensor, TensorView};

use super::operand::{check_i64, parts, refuse, rows_of, store};

impl<'g> Value<'g> {
    /// Adds two sparse tensors of one shape. `self` has the indices of the first tensor. Returns indices, values and
    /// sizes.
    ///
    /// `[m, r], [m], [r]` of each `-> [k, r], [k], [r]`. The values are numbers, the indices and shapes are i64. The
    /// caller must sort the indices of both tensors, for example with [`Value::sparse_reorder`]. No run checks this.
    /// `threshold` is a scalar integer or float. If both tensors have an element at one index, the result omits a sum
    /// whose magnitude is less than the threshold. As TensorFlow's `SparseAdd`, which expects a threshold of
    /// the dtype of the values, or of the real part of complex values. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let shape = g.constant([4i64])?;
    /// let (a, b) = (g.constant([[0i64], [2]])?, g.constant([[2i64], [3]])?);
    /// let (x, y) = (g.constant([1.0f32, 2.0])?, g.constant([0.5f32, 4.0])?);
    /// let sum = a.sparse_add(x, shape, [b, y, shape], g.constant(0.0f32)?)?;
    /// let [indices, values, _] = g.compile(&sum[..])?.run(&[])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 2, 3]);
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.5, 4.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if the shapes differ.
    #[track_caller]
    pub fn sparse_add(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        other: [Value<'g>; 3],
        threshold: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 3]> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        // Magnitudes of complex numbers are real.
        let threshold = match parts[1].dtype().part() {
            Some(real) => threshold.into_operand_of(self.graph(), real, location),
            None => threshold.into_operand(parts[1], location),
        };
        let call = self.graph().op(&ADD).data_all(&parts);
        let call = call.data_all(&other).data(threshold);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[1], outputs[2]])
    }
}

macro_rules! extrema {
    ($($method:ident, $what:literal, $result:literal, $DEF:ident, $how:expr, $tf:literal;)*) => {
        impl<'g> Value<'g> {$(
            #[doc = concat!("Returns the ", $what, " element of two sparse tensors of one shape at each index, as indices \
                and values. `self` has the indices of the first tensor.")]
            ///
            /// `[m, r], [m], [r]` of each `-> [k, r], [k]`. The values are real numbers, the indices and shapes are
            /// i64. The caller must sort the indices of both tensors, for example with [`Value::sparse_reorder`]. No
            /// run checks this. An element that only one tensor has is compared with 0.
            #[doc = concat!("As TensorFlow's `", $tf, "`. Runs on the host.")]
            ///
            /// ```
            /// use shapeflow::Graph;
            ///
            /// let g = Graph::new();
            /// let shape = g.constant([4i64])?;
            /// let (a, b) = (g.constant([[0i64], [2]])?, g.constant([[2i64], [3]])?);
            /// let (x, y) = (g.constant([1, 2])?, g.constant([5, -4])?);
            #[doc = concat!("let [indices, values] = a.", stringify!($method), "(x, shape, [b, y, shape])?;")]
            /// let [indices, values] = g.compile([indices, values])?.run(&[])?;
            /// assert_eq!(indices.to_vec::<i64>()?, [0, 2, 3]);
            #[doc = concat!("assert_eq!(values.to_vec::<i32>()?, ", $result, ");")]
            /// # Ok::<(), shapeflow::Error>(())
            /// ```
            ///
            /// # Errors
            /// An operand has another dtype or rank. The run fails if the shapes differ.
            #[track_caller]
            pub fn $method(
                self,
                values: impl IntoOperand<'g>,
                shape: impl IntoOperand<'g>,
                other: [Value<'g>; 3],
            ) -> Result<[Value<'g>; 2]> {
                let location = Location::caller();
                let parts = parts(self, values, shape, location);
                let call = self.graph().op(&$DEF).data_all(&parts);
                let outputs =
                    call.data_all(&other).finish_all_at(location)?;
                Ok([outputs[0], outputs[1]])
            }
        )*}

        $(
            pub(crate) static $DEF: OpDef = OpDef::host(stringify!($method), |cx| extremum(cx, $how))
                .operands(&OPERANDS)
                .outputs(|_, _| 2)
                .shape_fn(shapeflow_shape_fns::sparse::elementwise)
                .dtype_rule(|dtypes, _| Ok(vec![DType::I64, value_dtype(dtypes, Class::Number)?]))
                .tensorflow(&[TfOp::new($tf)]);
        )*
    };
}

extrema! {
    sparse_maximum, "greater", "[1, 5, 0]", MAXIMUM, Combine::Max, "SparseSparseMaximum";
    sparse_minimum, "smaller", "[0, 2, -4]", MINIMUM, Combine::Min, "SparseSparseMinimum";
}

const OPERANDS: [Operand; 6] = [
    Operand::Data("a_indices"),
    Operand::Data("a_values"),
    Operand::Data("a_shape"),
    Operand::Data("b_indices"),
    Operand::Data("b_values"),
    Operand::Data("b_shape"),
];

pub(crate) static ADD: OpDef = OpDef::host("sparse_add", add)
    .operands(&[
        OPERANDS[0],
        OPERANDS[1],
        OPERANDS[2],
        OPERANDS[3],
        OPERANDS[4],
        OPERANDS[5],
        Operand::Data("thresh"),
    ])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::sparse::add)
    .dtype_rule(sum_dtypes)
    // The threshold is compared with sums that wrapped around or were rounded.
    .never_widened()
    // TensorFlow reads the bits of a threshold of another dtype as if they had the dtype of the values.
    .tensorflow(&[TfOp::new("SparseAdd").with_magnitudes(1, 6)]);

fn value_dtype(dtypes: &[DType], class: Class) -> Result<DType> {
    check_i64(dtypes, &[0, 2, 3, 5])?;
    let (a, b) = (dtype::common(dtypes, 1, 2, class)?, dtype::common(dtypes, 4, 5, class)?);
    if a != b {
        return dtype::refuse(format!("both sparse tensors must have one dtype, got {a} and {b}"));
    }
    Ok(a)
}

fn sum_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let values = value_dtype(dtypes, Class::Numeric)?;
    // A threshold of another dtype is compared by its value.
    dtype::common(dtypes, 6, 7, Class::Number)?;
    Ok(vec![DType::I64, values, DType::I64])
}

/// The union of the elements of two sparse tensors.
struct Union {
    sizes: Vec<i64>,
    indices: Vec<i64>,
    len: usize,
    /// For each element of the first tensor and of the second tensor, its position in the union.
    positions: [Vec<i64>; 2],
}

impl Union {
    /// Merges the ascending indices of two tensors.
    ///
    /// # Errors
    /// The shapes differ, or the operands do not fit each other.
    fn new(cx: &HostCx<'_>) -> Result<Union> {
        let (a, b) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(3)?)?);
        let (sizes, other) = (ints(&cx.input(2)?), ints(&cx.input(5)?));
        if sizes != other {
            return refuse(format!("both sparse tensors must have one shape, got {sizes:?} and {other:?}"));
        }
        let (a, b) = (rows_of(a.view(), &sizes)?.0, rows_of(b.view(), &sizes)?.0);
        let (mut indices, mut positions) = (Vec::new(), [Vec::new(), Vec::new()]);
        let (mut i, mut j, mut len) = (0, 0, 0);
        while i < a.len() || j < b.len() {
            let order = match (a.get(i), b.get(j)) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            indices.extend_from_slice(if order.is_le() { a[i] } else { b[j] });
            if order.is_le() {
                positions[0].push(len as i64);
                i += 1;
            }
            if order.is_ge() {
                positions[1].push(len as i64);
                j += 1;
            }
            len += 1;
        }
        Ok(Union { sizes, indices, len, positions })
    }

    /// Makes a vector of the values of tensor `operand`, with zeros for elements of the other tensor.
    fn spread(&self, values: TensorView<'_>, operand: usize) -> Result<Tensor> {
        let mut spread = Tensor::zeros(values.dtype(), &[self.len])?;
        store(&mut spread.view_mut()?, values, &self.positions[operand], None)?;
        Ok(spread)
    }
}

fn extremum(cx: &mut HostCx<'_>, how: Combine) -> Result<()> {
    let union = Union::new(cx)?;
    let (a, b) = (RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(4)?)?);
    let (mut total, b) = (union.spread(a.view(), 0)?, union.spread(b.view(), 1)?);
    let all: Vec<i64> = (0..union.len as i64).collect();
    store(&mut total.view_mut()?, b.view(), &all, Some(how))?;
    cx.set_output(0, Tensor::from_slice(&[union.len, union.sizes.len()], &union.indices)?)?;
    cx.set_output(1, total)
}

fn add(cx: &mut HostCx<'_>) -> Result<()> {
    let union = Union::new(cx)?;
    let (a, b) = (RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(4)?)?);
    let mut total = union.spread(a.view(), 0)?;
    store(&mut total.view_mut()?, b.view(), &union.positions[1], Some(Combine::Add))?;
    // Only sums of two elements are compared with the threshold.
    let threshold = real_or_abs(&cx.input(6)?, 0);
    let mut is_kept = vec![true; union.len];
    let (mut first, view) = (union.positions[0].iter().peekable(), total.view());
    for second in &union.positions[1] {
        while first.next_if(|first| *first < second).is_some() {}
        if first.peek() == Some(&second) {
            let position = *second as usize;
            is_kept[position] = threshold <= real_or_abs(&view, position).abs();
        }
    }
    let kept: Vec<usize> = (0..union.len).filter(|position| is_kept[*position]).collect();
    let rank = union.sizes.len();
    let indices: Vec<i64> =
        kept.iter().flat_map(|k| &union.indices[k * rank..(k + 1) * rank]).copied().collect();
    cx.set_output(0, Tensor::from_slice(&[kept.len(), rank], &indices)?)?;
    let sums = crate::ops::take::take(&view, &[kept.len()], 1, kept.into_iter())?;
    cx.set_output(1, sums)?;
    cx.set_output(2, Tensor::from_slice(&[rank], &union.sizes)?)
}

/// Returns a real element with its sign, or the absolute value of a complex element, rounded to the dtype of its parts.
fn real_or_abs(x: &TensorView<'_>, position: usize) -> f64 {
    let bytes = x.element(position).unwrap_or_default();
    let real = |dtype: DType, bytes: &[u8]| Scalar::from_bytes(dtype, bytes).map_or(f64::NAN, Scalar::to_f64);
    let part = match x.dtype() {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => return real(other, bytes),
    };
    let (re, im) = bytes.split_at(bytes.len() / 2);
    let magnitude = real(part, re).hypot(real(part, im));
    if part == DType::F32 { f64::from(magnitude as f32) } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { ADD, {},
        "i64[n, 2]; c64[n]; i64[2]; i64[m, 2]; c64[m]; i64[2]; f32[]" => "i64[?, 2]; c64[?]; i64[2]",
        "i64[n, 2]; i8[n]; i64[2]; i64[m, 2]; i8[m]; i64[2]; f32[]" => "i64[?, 2]; i8[?]; i64[2]",
        "i64[n, 2]; i8[n]; i64[2]; i64[m, 2]; i8[m]; i64[2]; bool[]" => error "must be an integer or a float, got bool",
        "i64[n, 2]; f64[n]; i64[2]; i64[m, 2]; f32[m]; i64[2]; f32[]" => error "both sparse tensors must have one dtype",
    }
    shape_table! { extrema: MAXIMUM, {},
        "i64[n, 2]; u8[n]; i64[2]; i64[m, 2]; u8[m]; i64[2]" => "i64[?, 2]; u8[?]",
        "i64[n, 2]; c64[n]; i64[2]; i64[m, 2]; c64[m]; i64[2]" => error "the element type must be",
    }

    #[test]
    fn a_rust_number_is_the_threshold_of_magnitudes() -> Result<()> {
        let g = crate::Graph::new();
        let (indices, shape) = (g.constant([[0i64], [1]])?, g.constant([2i64])?);
        let values = g.constant([0.25f32, 3.0])?;
        let values = values.complex(values)?;
        let sum = indices.sparse_add(values, shape, [indices, values, shape], 0.75)?;
        let [indices] = g.compile(sum[0])?.run(&[])?;
        assert_eq!(indices.to_vec::<i64>()?, [1]);
        Ok(())
    }

    #[test]
    fn sums_below_the_threshold_have_no_element() {
        let shape = || tensor(&[1], &[9i64]);
        let (a, b) = (tensor(&[3, 1], &[0i64, 3, 5]), tensor(&[3, 1], &[3i64, 5, 8]));
        let operands = |values: [i8; 3]| {
            let x = [a.clone(), tensor(&[3], &[1i8, 2, 3]), shape()];
            let y = [b.clone(), tensor(&[3], &values), shape()];
            x.into_iter().chain(y).collect::<Vec<_>>()
        };
        let mut given = operands([-4, -3, 1]);
        given.push(tensor(&[], &[2i8]));
        let outputs = run(&ADD, &Attrs::new(), &given).unwrap();
        assert_eq!(outputs[0].to_vec::<i64>().unwrap(), [0, 3, 8]);
        assert_eq!(outputs[1].to_vec::<i8>().unwrap(), [1, -2, 1]);
        let greater = run(&MAXIMUM, &Attrs::new(), &operands([-4, 7, -1])).unwrap();
        assert_eq!(greater[0].to_vec::<i64>().unwrap(), [0, 3, 5, 8]);
        assert_eq!(greater[1].to_vec::<i8>().unwrap(), [1, 2, 7, 0]);
        let smaller = run(&MINIMUM, &Attrs::new(), &operands([-4, 7, -1])).unwrap();
        assert_eq!(smaller[1].to_vec::<i8>().unwrap(), [0, -4, 3, -1]);
    }
}
