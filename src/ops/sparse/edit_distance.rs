//! `edit_distance`: the number of changes that turn the sequences of one sparse tensor into the sequences of another.

use std::collections::BTreeMap;
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};
use crate::ops::integers::ints;
use crate::ops::row_major::RowMajor;
use crate::tensor::TensorView;

use super::operand::{check_i64, out_of_range, refuse, rows_of};

impl<'g> Value<'g> {
    /// Returns the least number of insertions, deletions and replacements that turn each sequence of the sparse tensor
    /// `self, values, shape` into the sequence of `truth` at the same index. The last axis of a sparse tensor holds a
    /// sequence. With `normalize`, the number is divided by the length of the true sequence.
    ///
    /// `[m, r], [m], [r]` and `[n, r], [n], [r] -> f32` of rank `r - 1`. Each size of the result is the larger size of
    /// both shapes along that axis. The values are bools, integers, floats, complex numbers or strings of one dtype,
    /// the indices and shapes are i64. A normalized distance to an empty sequence is infinite, or 0 if both are empty.
    /// As TensorFlow's `EditDistance`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let shape = g.constant([1i64, 3])?;
    /// let (a, b) = (g.constant([[0i64, 0], [0, 1]])?, g.constant([[0i64, 0], [0, 1], [0, 2]])?);
    /// let truth = [b, g.constant(["c", "a", "r"])?, shape];
    /// let y = a.edit_distance(g.constant(["c", "t"])?, shape, truth, false)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if an index is out of range of the result.
    #[doc(alias = "levenshtein")]
    #[track_caller]
    pub fn edit_distance(
        self,
        values: Value<'g>,
        shape: Value<'g>,
        truth: [Value<'g>; 3],
        normalize: bool,
    ) -> Result<Value<'g>> {
        let call = self.graph().op(&DEF).data(self).data(values).data(shape);
        let call = truth.into_iter().fold(call, |call, part| call.data(part));
        call.attr("normalize", normalize).finish_at(Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("edit_distance", run)
    .takes_handles(StringHandles::Equality)
    .attrs(&[Attribute::bool_or("normalize", true)])
    .operands(&[
        Operand::Data("hypothesis_indices"),
        Operand::Data("hypothesis_values"),
        Operand::Data("hypothesis_shape"),
        Operand::Data("truth_indices"),
        Operand::Data("truth_values"),
        Operand::Data("truth_shape"),
    ])
    .shape_fn(shapeflow_shape_fns::array::edit_distance)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 2, 3, 5])?;
        let comparable = |operand: usize| match dtypes.get(operand) {
            Some(complex) if complex.is_complex() => Ok(*complex),
            _ => dtype::common(dtypes, operand, operand + 1, dtype::Class::ScalarOrString),
        };
        let (a, b) = (comparable(1)?, comparable(4)?);
        if a != b {
            return dtype::refuse(format!("both sparse tensors must have one dtype, got {a} and {b}"));
        }
        Ok(vec![DType::F32])
    })
    .tensorflow(&[TfOp::new("EditDistance")]);

/// The positions of the elements of each sequence, by its index.
type Sequences<'a> = BTreeMap<&'a [i64], Vec<usize>>;

/// Reads the sequences of a sparse tensor, whose indices are operand `operand`. `shape` has the larger size of both
/// tensors on each axis.
///
/// # Errors
/// An index of a sequence lies outside `shape`, or a row of the indices has not one entry for each axis of `shape`.
fn sequences<'a>(operand: usize, indices: TensorView<'a>, shape: &[i64]) -> Result<Sequences<'a>> {
    let mut sequences = Sequences::new();
    for (number, row) in rows_of(indices, shape)?.0.into_iter().enumerate() {
        let leading = row.len() - 1;
        if let Some(axis) = (0..leading).find(|axis| !(0..shape[*axis]).contains(&row[*axis])) {
            return out_of_range(operand, [number, axis], row[axis], shape[axis]);
        }
        let (_, leading) = row.split_last().expect("there is an axis, because the shape is not empty");
        sequences.entry(leading).or_default().push(number);
    }
    Ok(sequences)
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let shapes = [ints(&cx.input(2)?), ints(&cx.input(5)?)];
    if shapes[0].len() != shapes[1].len() || shapes[0].is_empty() {
        return refuse(format!("both sparse tensors must have one rank of at least 1, got {shapes:?}"));
    }
    let (a, b) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(3)?)?);
    let shape: Vec<i64> = shapes[0].iter().zip(&shapes[1]).map(|(a, b)| (*a.max(b)).max(0)).collect();
    let (a, b) = (sequences(0, a.view(), &shape)?, sequences(3, b.view(), &shape)?);
    let (x, y) = (cx.input(1)?, cx.input(4)?);
    let is_normalized = cx.attrs().bool("normalize");
    let sizes: Vec<usize> = shape.iter().map(|size| size.unsigned_abs() as usize).collect();
    let sizes = &sizes[..sizes.len() - 1];
    let mut output = cx.output(0, sizes)?;
    let output = output.as_mut_slice::<f32>()?;
    let none = Vec::new();
    for group in a.keys().chain(b.keys().filter(|group| !a.contains_key(*group))) {
        let (a, b) = (a.get(group).unwrap_or(&none), b.get(group).unwrap_or(&none));
        let distance = distance(a.len(), b.len(), |i, j| are_equal(&x, a[i], &y, b[j])) as f32;
        let position =
            group.iter().zip(sizes).fold(0, |position, (index, size)| position * size + *index as usize);
        output[position] = if is_normalized { distance / b.len() as f32 } else { distance };
    }
    Ok(())
}

/// Returns whether two elements of one dtype are equal. NaN equals nothing. A string operand arrives as i64 handles:
/// integers that stand for the strings ([`StringHandles`]).
fn are_equal(x: &TensorView<'_>, i: usize, y: &TensorView<'_>, j: usize) -> bool {
    let (a, b) = (x.element(i), y.element(j));
    // A complex number is two floats.
    let part = x.dtype().part().unwrap_or(x.dtype());
    let (true, Some(size)) = (part.is_float(), part.size_bytes()) else { return a == b };
    let parts = |bytes: Option<&[u8]>| -> Option<Vec<f64>> {
        bytes?.chunks(size).map(|bytes| Scalar::from_bytes(part, bytes).map(Scalar::to_f64)).collect()
    };
    parts(a) == parts(b)
}

/// Returns the edit distance of two sequences of these lengths.
fn distance(a: usize, b: usize, are_equal: impl Fn(usize, usize) -> bool) -> usize {
    // The distances of a prefix of the first sequence to all prefixes of the second.
    let mut row: Vec<usize> = (0..=b).collect();
    for i in 0..a {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b {
            let replaced = diagonal + usize::from(!are_equal(i, j));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 3]; string[n]; i64[3]; i64[m, 3]; string[m]; i64[3]" => "f32[?, ?]",
        "i64[n, 2]; i8[n]; i64[2]; i64[m, 2]; i16[m]; i64[2]" => error "both sparse tensors must have one dtype",
    }

    #[test]
    fn distances_are_symmetric_and_empty_sequences_are_far() {
        let sequence = |values: &[f32]| {
            let indices: Vec<i64> = (0..values.len() as i64).flat_map(|i| [0, i]).collect();
            [tensor(&[values.len(), 2], &indices), tensor(&[values.len()], values), tensor(&[2], &[1i64, 9])]
        };
        let distance = |a: &[f32], b: &[f32], normalize: bool| {
            let operands = [sequence(a), sequence(b)].concat();
            run_one(&DEF, &Attrs::new().with("normalize", normalize), &operands).item::<f32>().unwrap()
        };
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [2.0, 3.5, 4.0]);
        assert_eq!(
            (distance(&a, &b, false), distance(&b, &a, false), distance(&a, &b, true)),
            (2.0, 2.0, 2.0 / 3.0)
        );
        assert_eq!((distance(&[], &a, false), distance(&a, &[], true)), (4.0, f32::INFINITY));
        assert_eq!((distance(&[0.0], &[-0.0], false), distance(&[f32::NAN], &[f32::NAN], false)), (0.0, 1.0));
        assert_eq!(distance(&[], &[], true), 0.0);
    }
}
