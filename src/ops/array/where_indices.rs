//! `where_indices`: returns the indices of nonzero elements.

use std::ops::BitAnd;

use shapeflow_shape_fns::DType;

use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Element, TensorView};

use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Returns the indices of all elements that are true or nonzero, in row-major order.
    ///
    /// `[d0, …, dn] -> i64[?, n + 1]`, one row per such element; bool, numbers and quantized types. The number of rows
    /// depends on the data. A NaN is nonzero. As TensorFlow's `Where` (`tf.where` with one argument). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[true, false], [true, true]])?.where_indices()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[0i64, 0], [1, 0], [1, 1]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not bool, a number or a quantized type.
    #[doc(alias = "nonzero")]
    #[doc(alias = "argwhere")]
    #[doc(alias = "where")]
    #[track_caller]
    pub fn where_indices(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("where_indices", run)
    .operands(&[Operand::Data("condition")])
    .shape_fn(shapeflow_shape_fns::array::where_indices)
    .dtype_rule(|dtypes, attrs| dtype::unary::equatable(dtypes, attrs).map(|_| vec![DType::I64]))
    .tensorflow(&[TfOp::new("Where")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = &x.view();
    match x.dtype() {
        DType::Bool => indices(cx, x, x.as_slice::<bool>()?, |flag| flag),
        DType::C64 => of_parts::<f32>(cx, x),
        DType::C128 => of_parts::<f64>(cx, x),
        DType::QI8 | DType::QU8 | DType::I8 | DType::U8 => not_zero(cx, x, u8::MAX),
        DType::QI16 | DType::QU16 | DType::I16 | DType::U16 => not_zero(cx, x, u16::MAX),
        DType::QI32 | DType::I32 | DType::U32 => not_zero(cx, x, u32::MAX),
        DType::I64 | DType::U64 => not_zero(cx, x, u64::MAX),
        // A float is nonzero if any bit except the sign is set.
        DType::F16 | DType::BF16 => not_zero(cx, x, u16::MAX >> 1),
        DType::F32 => not_zero(cx, x, u32::MAX >> 1),
        _ => not_zero(cx, x, u64::MAX >> 1),
    }
}

/// Selects the elements that have any bit of `mask`.
fn not_zero<T: Element + BitAnd<Output = T>>(cx: &mut HostCx<'_>, x: &TensorView<'_>, mask: T) -> Result<()> {
    indices(cx, x, x.as_unsigned::<T>()?, |bits| bits & mask != T::default())
}

fn of_parts<T: Element>(cx: &mut HostCx<'_>, x: &TensorView<'_>) -> Result<()> {
    let (numbers, _) = x.as_bits::<T>()?.as_chunks::<2>();
    indices(cx, x, numbers, |number| number != [T::default(); 2])
}

/// Writes the index of each element for which `is_selected` is true.
fn indices<T: Copy>(
    cx: &mut HostCx<'_>,
    x: &TensorView<'_>,
    elements: &[T],
    is_selected: impl Fn(T) -> bool,
) -> Result<()> {
    let bit = |(place, element): (usize, &T)| u64::from(is_selected(*element)) << place;
    let words =
        elements.chunks(64).map(|block| block.iter().enumerate().map(bit).fold(0, |word, bit| word | bit));
    write_indices(cx, x.sizes(), &words.collect::<Vec<u64>>())
}

/// Writes the index of each element of a tensor of these sizes whose bit in `words` is set.
fn write_indices(cx: &mut HostCx<'_>, sizes: &[usize], words: &[u64]) -> Result<()> {
    let rank = sizes.len();
    let count = words.iter().map(|word| word.count_ones() as usize).sum();
    let mut output = cx.unfilled_output(0, &[count, rank])?;
    let Some((&length, outer)) = sizes.split_last().filter(|_| count > 0) else { return Ok(()) };
    let mut index = vec![0i64; outer.len()];
    // The elements of the line at `index` begin at `start`.
    let mut start = 0;
    let mut rows = output.as_mut_slice::<i64>()?.chunks_exact_mut(rank);
    for (number, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            let element = number * 64 + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            while element - start >= length {
                start += length;
                for (slot, &size) in index.iter_mut().zip(outer).rev() {
                    *slot += 1;
                    if *slot < size as i64 {
                        break;
                    }
                    *slot = 0;
                }
            }
            let Some((last, before)) = rows.next().and_then(<[i64]>::split_last_mut) else { return Ok(()) };
            *last = (element - start) as i64;
            match (before, &index[..]) {
                ([], []) => {}
                ([slot], [row]) => *slot = *row,
                (before, index) => before.copy_from_slice(index),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "bool[n, 3]" => "i64[?, 2]",
        "?" => "i64[?, ?]",
        "string[n]" => error "the element type must be bool, an integer, a float, a complex number or quantized",
    }

    #[test]
    fn indices_are_in_row_major_order() {
        let x = tensor(&[2, 1, 3], &[0.0, f32::NAN, -0.0, 2.0, 0.0, -1.0]);
        let y = run_one(&DEF, &Attrs::new(), &[x]);
        assert_eq!((y.sizes(), y.to_vec::<i64>().unwrap()), (&[3, 3][..], vec![0, 0, 1, 1, 0, 0, 1, 0, 2]));
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[], &[true])]);
        assert_eq!((y.sizes(), y.len()), (&[1, 0][..], 0));
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[0, 2], &[0u8; 0])]);
        assert_eq!(y.sizes(), [0, 2]);
        let x = Tensor::from_bits(DType::BF16, &[3], &[0x8000, 1, 0u16]).unwrap();
        assert_eq!(run_one(&DEF, &Attrs::new(), &[x]).to_vec::<i64>().unwrap(), [1]);
    }

    #[test]
    fn indices_are_correct_across_blocks() {
        let x: Vec<i32> = (0..400).map(|i| i32::from(i % 3 == 0)).collect();
        let y = run_one(&DEF, &Attrs::new(), &[tensor(&[2, 200], &x)]).to_vec::<i64>().unwrap();
        let expected: Vec<i64> = (0..400).filter(|i| i % 3 == 0).flat_map(|i| [i / 200, i % 200]).collect();
        assert_eq!(y, expected);
    }
}
