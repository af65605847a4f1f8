//! `sparse_add_grad` and `sparse_slice_grad`: the gradients of the values of sums and slices of sparse tensors.

use std::cmp::Ordering;

use shapeflow_shape_fns::{DType, counted};

use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::pick_rows::pick_rows;
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;

/// An op for import only: `backprop_val_grad [k], a_indices i64[n, r], b_indices i64[m, r], sum_indices i64[k, r] ->
/// [n], [m]`, the gradients of the values of both summands of a sparse sum. An element that the sum does not have gets
/// 0. All indices are in ascending order. As TensorFlow's `SparseAddGrad`. Runs on the host.
pub(crate) static ADD: OpDef = OpDef::host("sparse_add_grad", run_add)
    .operands(&[
        Operand::Data("backprop_val_grad"),
        Operand::Data("a_indices"),
        Operand::Data("b_indices"),
        Operand::Data("sum_indices"),
    ])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::sparse::add_grad)
    .dtype_rule(|dtypes, _| gradient_dtype(dtypes).map(|dtype| vec![dtype, dtype]))
    .tensorflow(&[TfOp::new("SparseAddGrad")]);

/// An op for import only: `backprop_val_grad [k], input_indices i64[n, r], input_start i64[r], output_indices i64[k, r]
/// -> [n]`. The gradient of the values of a sparse tensor, for a slice that begins at `input_start` and has the indices
/// `output_indices`. An element outside the slice gets 0. As TensorFlow's `SparseSliceGrad`. Runs on the host.
pub(crate) static SLICE: OpDef = OpDef::host("sparse_slice_grad", run_slice)
    .operands(&[
        Operand::Data("backprop_val_grad"),
        Operand::Data("input_indices"),
        Operand::Data("input_start"),
        Operand::Data("output_indices"),
    ])
    .shape_fn(shapeflow_shape_fns::sparse::slice_grad)
    .dtype_rule(|dtypes, _| gradient_dtype(dtypes).map(|dtype| vec![dtype]))
    .tensorflow(&[TfOp::new("SparseSliceGrad")]);

fn gradient_dtype(dtypes: &[DType]) -> Result<DType> {
    let gradient = dtype::common(dtypes, 0, 1, dtype::Class::Numeric)?;
    match dtypes.iter().skip(1).find(|dtype| **dtype != DType::I64) {
        Some(other) => dtype::refuse(format!("indices must be i64, got {other}")),
        None => Ok(gradient),
    }
}

/// The indices of a sparse tensor.
struct Indices {
    numbers: Vec<i64>,
    count: usize,
    rank: usize,
}

impl Indices {
    /// Reads operand `operand`, a matrix.
    fn read(cx: &HostCx<'_>, operand: usize) -> Result<Indices> {
        let x = cx.input(operand)?;
        let &[count, rank] = x.sizes() else {
            return Err(Error::msg("the shape function checks the rank of indices"));
        };
        Ok(Indices { numbers: x.to_vec::<i64>()?, count, rank })
    }

    fn row(&self, number: usize) -> &[i64] {
        &self.numbers[number * self.rank..(number + 1) * self.rank]
    }
}

fn refuse<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Run, message))
}

/// Returns the number of gradients.
///
/// # Errors
/// It is not `count`, the number of indices, or two indices have different ranks.
fn check(cx: &HostCx<'_>, count: usize, ranks: &[usize]) -> Result<usize> {
    if ranks.windows(2).any(|pair| pair[0] != pair[1]) {
        return refuse(
            ErrorKind::Shape,
            format!("all indices must have the same number of columns, got {ranks:?}"),
        );
    }
    match cx.input(0)?.len() {
        gradients if gradients == count => Ok(gradients),
        gradients => refuse(
            ErrorKind::Shape,
            format!(
                "there must be one gradient for each index, got {gradients} and {count}",
                gradients = counted(gradients, "gradient"),
                count = counted(count, "index")
            ),
        ),
    }
}

/// Sets output `output`: entry `i` is gradient `sources[i]`, or 0.
fn set_gradients(cx: &mut HostCx<'_>, output: usize, sources: &[Option<usize>]) -> Result<()> {
    let gradients = RowMajor::new(cx.input(0)?)?;
    let gradients = gradients.view();
    let zero = Tensor::zeros(gradients.dtype(), &[])?;
    pick_rows(cx, output, gradients.clone(), zero.view(), sources, &[sources.len()])
}

fn run_add(cx: &mut HostCx<'_>) -> Result<()> {
    let [a, b, sum] = [Indices::read(cx, 1)?, Indices::read(cx, 2)?, Indices::read(cx, 3)?];
    check(cx, sum.count, &[a.rank, b.rank, sum.rank])?;
    for (output, summand) in [a, b].iter().enumerate() {
        let mut place = 0;
        let source = |number: usize| {
            while place < sum.count {
                match summand.row(number).cmp(sum.row(place)) {
                    Ordering::Less => return None,
                    Ordering::Equal => return Some(place),
                    Ordering::Greater => place += 1,
                }
            }
            None
        };
        let sources: Vec<Option<usize>> = (0..summand.count).map(source).collect();
        set_gradients(cx, output, &sources)?;
    }
    Ok(())
}

fn run_slice(cx: &mut HostCx<'_>) -> Result<()> {
    let (input, slice) = (Indices::read(cx, 1)?, Indices::read(cx, 3)?);
    let start = cx.input(2)?.to_vec::<i64>()?;
    let count = check(cx, slice.count, &[input.rank, slice.rank, start.len()])?;
    let mut place = 0;
    let source = |number: usize| {
        let shifted = || slice.row(place).iter().zip(&start).map(|(index, start)| index.wrapping_add(*start));
        if place < count && input.row(number).iter().copied().eq(shifted()) {
            place += 1;
            return Some(place - 1);
        }
        None
    };
    let sources: Vec<Option<usize>> = (0..input.count).map(source).collect();
    if place < count {
        let index = slice.row(place);
        let message = format!(
            "every index of the slice, plus input_start, must be an index of the operand, in the same order, got \
             {index:?} at row {place} and the start {start:?}"
        );
        return refuse(ErrorKind::Index, message);
    }
    set_gradients(cx, 0, &sources)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { ADD, {},
        "[k]; i64[n, r]; i64[m, r]; i64[k, r]" => "[n]; [m]",
        "c64[k]; i64[n, r]; i64[m, r]; i64[k, r]" => "c64[n]; c64[m]",
        "bool[k]; i64[n, r]; i64[m, r]; i64[k, r]" => error "the element type must be an integer, a float or a complex",
        "[k]; i64[n, r]; i32[m, r]; i64[k, r]" => error "indices must be i64, got i32",
    }
    shape_table! { slice: SLICE, {},
        "u8[k]; i64[n, r]; i64[r]; i64[k, r]" => "u8[n]",
        "[k]; i64[n, r]; i32[r]; i64[k, r]" => error "indices must be i64, got i32",
    }

    /// The elements of a matrix of 5 rows and 4 columns that a number's bits choose.
    fn indices(bits: u32) -> Vec<[i64; 2]> {
        (0..20).filter(|place| bits >> place & 1 == 1).map(|place| [place / 4, place % 4]).collect()
    }

    #[test]
    fn summands_get_the_gradients_of_their_elements() {
        for seed in 0..50u32 {
            let [a, b, without] =
                [1, 3, 7].map(|odd| indices(seed.wrapping_mul(2_654_435_761u32.wrapping_mul(odd)) >> 7));
            let mut sum: Vec<[i64; 2]> =
                a.iter().chain(&b).copied().filter(|i| !without.contains(i)).collect();
            sum.sort_unstable();
            sum.dedup();
            let gradients: Vec<f32> = (1..=sum.len()).map(|x| x as f32).collect();
            let matrix = |rows: &[[i64; 2]]| tensor(&[rows.len(), 2], rows.as_flattened());
            let operands = [tensor(&[sum.len()], &gradients), matrix(&a), matrix(&b), matrix(&sum)];
            let outputs = run(&ADD, &Attrs::new(), &operands).unwrap();
            for (rows, output) in [&a, &b].into_iter().zip(&outputs) {
                let expected: Vec<f32> = rows
                    .iter()
                    .map(|row| {
                        sum.iter().position(|other| other == row).map_or(0.0, |place| gradients[place])
                    })
                    .collect();
                assert_eq!(output.to_vec::<f32>().unwrap(), expected, "{seed}");
            }
        }
    }

    #[test]
    fn elements_of_a_slice_get_its_gradients() {
        let operands = [
            tensor(&[2], &[5i32, 7]),
            tensor(&[4, 2], &[0i64, 0, 1, 1, 1, 3, 2, 2]),
            tensor(&[2], &[1i64, 1]),
            tensor(&[2, 2], &[0i64, 0, 1, 1]),
        ];
        let y = run(&SLICE, &Attrs::new(), &operands).unwrap();
        assert_eq!(y[0].to_vec::<i32>().unwrap(), [0, 5, 0, 7]);
        let mut other = operands.clone();
        other[2] = tensor(&[2], &[0i64, 1]);
        let error = run(&SLICE, &Attrs::new(), &other).unwrap_err();
        assert!(error.message().contains("got [0, 0] at row 0 and the start [0, 1]"), "{error}");
        other[0] = tensor(&[1], &[5i32]);
        let error = run(&SLICE, &Attrs::new(), &other).unwrap_err();
        assert!(error.message().contains("got 1 gradient and 2 indices"), "{error}");
    }
}
