//! `sparse_reshape`: the indices of a sparse tensor after a reshape.

use std::panic::Location;

use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::Tensor;
use shapeflow_shape_fns::{DType, Dim};

use super::operand::{check_i64, index_matrix, refuse};

impl<'g> Value<'g> {
    /// Reshapes a sparse tensor of sizes `shape` to `new_shape`. `self` has the indices of the sparse tensor. Returns
    /// the new indices and the new sizes.
    ///
    /// `[count, r], shape [r], new_shape [s] -> [count, s], [s]`, all i64. One new size may be -1. This size becomes
    /// the product of `shape` divided by the other new sizes. As TensorFlow's `SparseReshape`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 2], [1, 0]])?, g.constant([2i64, 3])?);
    /// let [indices, sizes] = indices.sparse_reshape(shape, g.constant([3i64, -1])?)?;
    /// let [indices, sizes] = g.compile([indices, sizes])?.run(&[])?;
    /// assert_eq!((indices.to_vec::<i64>()?, sizes.to_vec::<i64>()?), (vec![1, 0, 1, 1], vec![3, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank. The run fails if the products of the sizes differ, or if the sizes change
    /// and one of them is 0 although there are elements.
    #[track_caller]
    pub fn sparse_reshape(
        self,
        shape: impl IntoOperand<'g>,
        new_shape: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let (shape, new_shape) = (shape.into_operand(self, location), new_shape.into_operand(self, location));
        let call = self.graph().op(&DEF).data(self).data(shape).data(new_shape);
        let outputs = call.finish_all_at(location)?;
        Ok([outputs[0], outputs[1]])
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_reshape", run)
    .operands(&[Operand::Data("input_indices"), Operand::Data("input_shape"), Operand::Data("new_shape")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::sparse::reshape)
    .dtype_rule(|dtypes, _| {
        check_i64(dtypes, &[0, 1, 2])?;
        Ok(vec![DType::I64; 2])
    })
    .forwards(|operands, table| {
        let [Some(old), Some(new)] = [1, 2].map(|operand: usize| operands[operand].value) else {
            return false;
        };
        let [old, new] = [old, new].map(|sizes| table.resolve_elements(sizes));
        let (old, new) = (old.elements(), new.elements());
        let mut open = 0;
        let mut stays = |(old, new): (&Dim, &Dim)| {
            let is_inferred = *new == -1;
            open += usize::from(is_inferred);
            is_inferred || (old == new && table.prove_ge(old, &Dim::known(0)) == Some(true))
        };
        old.len() == new.len() && old.iter().zip(new).all(&mut stays) && open <= 1
    })
    .tensorflow(&[TfOp::new("SparseReshape")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let [indices, shape, new] =
        [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?, RowMajor::new(cx.input(2)?)?];
    let shape = shape.view().as_slice::<i64>()?;
    let (elements, [count, _]) = index_matrix(indices.view(), shape)?;
    let new = new_sizes(shape, new.view().as_slice::<i64>()?)?;
    let width = new.len();
    let mut output = cx.unfilled_output(0, &[count, width])?;
    let moved = output.as_mut_slice::<i64>()?;
    move_indices(elements, shape, &new, moved)?;
    cx.set_output(1, Tensor::from_slice(&[width], &new)?)
}

/// Moves the indices `elements` of a sparse tensor of sizes `shape` to the sizes `new`, which have the same product.
///
/// # Errors
/// There are elements, and a size is 0.
pub(crate) fn move_indices(elements: &[i64], shape: &[i64], new: &[i64], moved: &mut [i64]) -> Result<()> {
    if new == shape {
        moved.copy_from_slice(elements);
        return Ok(());
    }
    if !moved.is_empty() && (shape.contains(&0) || new.contains(&0)) {
        return refuse(format!("no size must be 0 if there are elements, got {shape:?} and {new:?}"));
    }
    let rank = shape.len();
    for (row, to) in moved.chunks_exact_mut(new.len().max(1)).enumerate() {
        let linear = elements[row * rank..(row + 1) * rank]
            .iter()
            .zip(shape)
            .fold(0i64, |linear, (index, size)| linear.wrapping_mul(*size).wrapping_add(*index));
        let mut rest = linear;
        let Some((first, others)) = to.split_first_mut() else { continue };
        for (to, size) in others.iter_mut().zip(&new[1..]).rev() {
            (*to, rest) = (rest % *size, rest / *size);
        }
        // An index outside the sizes stays outside, as in TensorFlow.
        *first = rest;
    }
    Ok(())
}

/// Returns the new sizes. A size of -1 becomes the product of `shape` divided by the other new sizes.
///
/// # Errors
/// The products of the sizes differ, do not fit i64, or do not determine the size of -1; or a size is negative.
fn new_sizes(shape: &[i64], new: &[i64]) -> Result<Vec<i64>> {
    let product = |sizes: &[i64]| {
        sizes.iter().try_fold(1i64, |product, &size| if size < 0 { None } else { product.checked_mul(size) })
    };
    let inferred: Vec<usize> = (0..new.len()).filter(|axis| new[*axis] == -1).collect();
    let known: Vec<i64> = new.iter().copied().filter(|size| *size != -1).collect();
    let (Some(total), Some(known)) = (product(shape), product(&known)) else {
        return refuse(format!("sizes must be at least 0 with an i64 product, got {shape:?} and {new:?}"));
    };
    let mut sizes = new.to_vec();
    match *inferred {
        [] => {}
        // If every other size is unchanged, -1 keeps the old size, even if a size is 0.
        [axis]
            if shape.len() == new.len()
                && (0..new.len()).all(|other| other == axis || new[other] == shape[other]) =>
        {
            sizes[axis] = shape[axis];
        }
        [_] if known == 0 => {
            return refuse(format!("no size must be 0 if another is -1, got {new:?}"));
        }
        [axis] => sizes[axis] = total / known,
        _ => return refuse(format!("at most one size must be -1, got {new:?}")),
    }
    if sizes.iter().product::<i64>() != total {
        return refuse(format!("the new sizes must have the product {total}, got {new:?}"));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use shapeflow_shape_fns::Attrs;

    shape_table! { DEF, {},
        "i64[n, 2]; i64[2]; i64[3]" => "[d0_0, 3]; [3]",
        "i64[n, 2]; i64[3]; i64[3]" => error "the number of columns of the indices and the number of sizes must agree",
        "i32[n, 2]; i64[2]; i64[3]" => error "indices and shapes must be i64, got i32 in operand 0",
    }

    #[test]
    fn indices_keep_their_row_major_positions() {
        let reshaped = |shape: &[i64], new: &[i64]| {
            let indices = tensor(&[3, 2], &[0i64, 1, 1, 2, 3, 0]);
            run(&DEF, &Attrs::new(), &[indices, tensor(&[shape.len()], shape), tensor(&[new.len()], new)])
        };
        let outputs = reshaped(&[4, 3], &[2, -1, 3]).unwrap();
        assert_eq!(outputs[0], tensor(&[3, 3], &[0i64, 0, 1, 0, 1, 2, 1, 1, 0]));
        assert_eq!(outputs[1].to_vec::<i64>().unwrap(), [2, 2, 3]);
        for (new, message) in [
            (&[5, -1][..], "the new sizes must have the product 12, got [5, -1]"),
            (&[-1, -1], "at most one size must be -1"),
            (&[0, -1], "no size must be 0 if another is -1"),
            (&[7, 2], "the new sizes must have the product 12"),
        ] {
            let error = reshaped(&[4, 3], new).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        // Every other size is unchanged.
        let none = run(
            &DEF,
            &Attrs::new(),
            &[tensor(&[0, 2], &[0i64; 0]), tensor(&[2], &[0i64, 7]), tensor(&[2], &[0i64, -1])],
        );
        assert_eq!(none.unwrap()[1].to_vec::<i64>().unwrap(), [0, 7]);
        assert!(
            reshaped(&[0, 3], &[3, 0])
                .unwrap_err()
                .message()
                .contains("no size must be 0 if there are elements")
        );
        assert!(reshaped(&[4, 3], &[i64::MAX, 3]).is_err() && reshaped(&[4, 3], &[-2, 6]).is_err());
    }

    #[test]
    fn an_index_outside_the_sizes_stays_outside() {
        let moved = |index: [i64; 2], new: &[i64]| {
            let operands = [tensor(&[1, 2], &index), tensor(&[2], &[2i64, 2]), tensor(&[new.len()], new)];
            run(&DEF, &Attrs::new(), &operands).unwrap()[0].to_vec::<i64>().unwrap()
        };
        assert_eq!(moved([5, 0], &[4]), [10]);
        assert_eq!(moved([5, 1], &[2, 1, 2]), [5, 0, 1]);
        assert_eq!(moved([1, 1], &[1, 4]), [0, 3]);
    }
}
